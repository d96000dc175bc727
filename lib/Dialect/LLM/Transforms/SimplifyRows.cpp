//===- SimplifyRows.cpp - rows that nobody asks for are not computed ------===//
//
// llm.select_rows keeps the rows whose logits are wanted: a few of a prompt's many. What is
// computed row by row and read through the selection alone can be computed behind it. That ends
// where a row needs its position or its state (attention), or where something observes all
// rows. In the last layer it needs a function of its own, for it gives fewer rows than it takes.
//
//===----------------------------------------------------------------------===//
#include "Simplifier.h"

#include "llmc/Dialect/LLM/IR/Elements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace llmc::llm;

static constexpr StringRef name = "early-selection";

static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }

/// Rows that differ from token to token.
static bool isRows(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() >= 2 && type.isDynamicDim(0) && !weightBehind(value);
}

/// Each row of the result is made of the same rows of the operands, whatever the others are, and
/// there are kernels for rows that were chosen: those of experts group all tokens of a step,
/// those of products by head read rows of tokens.
static bool isRowwise(Operation *op) {
  return isa<LinearOp, RMSNormOp, LayerNormOp, ResidualAddOp, ScaleOp, OffsetOp, ClampOp, SoftcapOp,
             ActivationOp, GateOp, BinaryOp, SoftmaxOp, RowStatOp, SliceOp, ConcatOp, TransposeOp,
             TakeOp, PutOp, MixOp, SplitHeadsOp, MergeHeadsOp>(op) &&
         isRows(op->getResult(0));
}

namespace {
/// The operations of a block that only chosen rows need.
struct Behind {
  /// In reverse order of the block.
  llvm::SetVector<Operation *> ops;
  /// Values from in front, which the selection moves to.
  llvm::SetVector<Value> inputs;

  int64_t products() const { return llvm::count_if(ops, llvm::IsaPred<LinearOp>); }
  /// Multiplications that each row takes.
  int64_t operations() const {
    int64_t sum = 0;
    for (Operation *op : ops)
      if (auto linear = dyn_cast<LinearOp>(op)) {
        ArrayRef<int64_t> shape = cast<WeightType>(linear.getWeight().getType()).getShape();
        sum += shape[0] * shape[1];
      }
    return sum;
  }
};
} // namespace

/// What is read by way of `end` alone, of the operations in front of its owner.
static Behind findBehind(OpOperand &end) {
  Behind behind;
  auto isBehind = [&](OpOperand &use) {
    return &use == &end || behind.ops.contains(use.getOwner());
  };
  for (Operation *op = end.getOwner()->getPrevNode(); op; op = op->getPrevNode())
    if (isRowwise(op) && !op->use_empty() && llvm::all_of(op->getUses(), isBehind))
      behind.ops.insert(op);
  for (Operation *op : behind.ops)
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      // There are as many rows of a weight as of tokens, unless they stand beside chosen ones.
      bool isChosen = weightBehind(value) ? !fitsAnyRows(operand) : isRows(value);
      if (isChosen && !behind.ops.contains(value.getDefiningOp()))
        behind.inputs.insert(value);
    }
  return behind;
}

/// The operations of `behind` take the rows that `batch` lists.
static void selectInputs(const Behind &behind, Value batch) {
  for (Value input : behind.inputs) {
    Operation *first = nullptr;
    for (Operation *user : input.getUsers())
      if (behind.ops.contains(user) && (!first || user->isBeforeInBlock(first)))
        first = user;
    OpBuilder builder(first);
    Value chosen = SelectRowsOp::create(builder, first->getLoc(), input.getType(), input, batch);
    input.replaceUsesWithIf(
        chosen, [&](OpOperand &use) { return behind.ops.contains(use.getOwner()); });
  }
}

//===----------------------------------------------------------------------===//
// Refusals
//===----------------------------------------------------------------------===//

/// Says why what `end` reads by way of `behind` does not begin in front of what makes `value`.
static void reportEnd(Simplifier &simplifier, Value value, const Behind &behind,
                      const OpOperand &end) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<RepeatOp>(op) || weightBehind(value))
    return;
  if (!isRowwise(op)) {
    (void)simplifier.missed(name, op, "row-wise", nameOf(op) + " is computed for all tokens");
    return;
  }
  for (OpOperand &use : op->getUses()) {
    Operation *user = use.getOwner();
    if (auto observe = dyn_cast<ObserveOp>(user)) {
      (void)simplifier.missed(name, op, "observed",
                              "all rows are observed as '" + observe.getName() +
                                  "' (--observe=logits)");
      return;
    }
    if (&use != &end && !behind.ops.contains(user))
      (void)simplifier.missed(name, op, "single-use", nameOf(user) + " reads all rows");
  }
}

//===----------------------------------------------------------------------===//
// Within a block
//===----------------------------------------------------------------------===//

/// Moves a selection in front of all that it can pass; the selections that stand there then.
static void moveSelection(Simplifier &simplifier, SelectRowsOp select) {
  Behind behind = findBehind(select.getInputMutable());
  if (behind.ops.empty()) {
    if (!simplifier.permits(name, select))
      return;
    return reportEnd(simplifier, select.getInput(), behind, select.getInputMutable());
  }
  if (!simplifier.permits(name, select))
    return;
  simplifier.passed(name, select, "the selection stands before operations that compute row by row",
                    {{"ops", int64_t(behind.ops.size())},
                     {"products", behind.products()},
                     {"operations_per_row", behind.operations()}});
  for (Value input : behind.inputs)
    reportEnd(simplifier, input, behind, select.getInputMutable());
  selectInputs(behind, select.getBatch());
  select.replaceAllUsesWith(select.getInput());
  simplifier.notifyOperationErased(select);
  select.erase();
}

//===----------------------------------------------------------------------===//
// Into the last layer
//===----------------------------------------------------------------------===//

namespace {
/// The last layer's function, and which of the values that it carries is chosen from.
struct LastLayer {
  RepeatOp repeat;
  func::FuncOp function;
  unsigned carried;
};
} // namespace

static std::optional<LastLayer> lastLayerOf(SelectRowsOp select, ModuleOp module) {
  auto repeat = select.getInput().getDefiningOp<RepeatOp>();
  if (!repeat || !select.getInput().hasOneUse())
    return std::nullopt;
  auto callee = cast<FlatSymbolRefAttr>(repeat.getCallees().getValue().back());
  auto function = module.lookupSymbol<func::FuncOp>(callee.getAttr());
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return std::nullopt;
  return LastLayer{repeat, function, cast<OpResult>(select.getInput()).getResultNumber()};
}

static Value batchOf(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (isa<BatchType>(argument.getType()))
      return argument;
  return {};
}

/// A copy of the function for the last layer alone; the repeat leaves that layer to one of its own.
static LastLayer splitLastLayer(LastLayer layer, ModuleOp module) {
  auto copy = layer.function.clone();
  std::string base = (layer.function.getSymName() + "_last").str(), free = base;
  for (unsigned i = 1; module.lookupSymbol(free); ++i)
    free = base + "_" + std::to_string(i);
  copy.setSymName(free);
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(layer.function);
  builder.insert(copy);

  RepeatOp repeat = layer.repeat;
  builder.setInsertionPoint(repeat);
  SmallVector<Value> carried(repeat.getCarried());
  int64_t from = int64_t(repeat.getFrom()), count = int64_t(repeat.getCount());
  ArrayRef<Attribute> callees = repeat.getCallees().getValue();
  int64_t period = int64_t(callees.size());
  auto run = [&](ArrayRef<Attribute> functions, int64_t first, int64_t times) {
    auto part = RepeatOp::create(builder, repeat.getLoc(), repeat.getResultTypes(),
                                 builder.getArrayAttr(functions), uint64_t(first), uint64_t(times),
                                 carried, repeat.getInvariants());
    part->setDiscardableAttrs(repeat->getDiscardableAttrDictionary());
    carried.assign(part.getResults().begin(), part.getResults().end());
    return part;
  };
  if (count > 1)
    run(callees, from, count - 1);
  if (period > 1)
    run(callees.drop_back(), from + (count - 1) * period, 1);
  Attribute last = FlatSymbolRefAttr::get(module.getContext(), free);
  RepeatOp alone = run(last, from + count * period - 1, 1);
  repeat.replaceAllUsesWith(alone.getResults());
  repeat.erase();
  bool isUsed = llvm::any_of(callees, [&](Attribute callee) {
    return cast<FlatSymbolRefAttr>(callee).getAttr() == layer.function.getSymNameAttr();
  });
  if (isUsed && SymbolTable::symbolKnownUseEmpty(layer.function, module))
    layer.function.erase();
  return {alone, copy, layer.carried};
}

/// Where the selection is of what the last layer gives, that layer chooses.
static void enterLastLayer(Simplifier &simplifier, SelectRowsOp select) {
  std::optional<LastLayer> layer = lastLayerOf(select, simplifier.module);
  if (!layer || !batchOf(layer->function) || !simplifier.permits(name, select))
    return;
  auto end = cast<func::ReturnOp>(layer->function.getBody().front().getTerminator());
  OpOperand &rows = end->getOpOperand(layer->carried);
  Behind behind = findBehind(rows);
  if (behind.ops.empty())
    return reportEnd(simplifier, rows.get(), behind, rows);
  if (behind.products() == 0) {
    (void)simplifier.missed(name, select, "cost",
                            "the last layer ends without a product that only chosen rows need",
                            {{"ops", int64_t(behind.ops.size())}});
    return;
  }
  simplifier.passed(name, select, "the last layer ends on chosen rows",
                    {{"ops", int64_t(behind.ops.size())},
                     {"products", behind.products()},
                     {"operations_per_row", behind.operations()}});
  LastLayer last = splitLastLayer(*layer, simplifier.module);
  OpOperand &given =
      last.function.getBody().front().getTerminator()->getOpOperand(last.carried);
  behind = findBehind(given);
  for (Value input : behind.inputs)
    reportEnd(simplifier, input, behind, given);
  selectInputs(behind, batchOf(last.function));
  select.replaceAllUsesWith(select.getInput());
  simplifier.notifyOperationErased(select);
  select.erase();
}

void llmc::llm::selectRowsEarly(Simplifier &simplifier) {
  SmallVector<SelectRowsOp> selects;
  auto isOfWeight = [](SelectRowsOp select) { return bool(weightBehind(select.getInput())); };
  for (auto function : simplifier.module.getOps<func::FuncOp>())
    if (function->hasAttr("llm.entry"))
      function.walk([&](SelectRowsOp select) {
        if (!isOfWeight(select))
          selects.push_back(select);
      });
  // Several chosen values would need the same layer to give fewer rows of each.
  if (selects.size() != 1)
    return;
  Block *block = selects.front()->getBlock();
  moveSelection(simplifier, selects.front());
  SmallVector<SelectRowsOp> moved;
  for (auto select : block->getOps<SelectRowsOp>())
    if (!isOfWeight(select))
      moved.push_back(select);
  if (moved.size() == 1)
    enterLastLayer(simplifier, moved.front());
}
