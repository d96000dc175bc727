//===- GenericUnits.cpp - units without a tuned kernel --------------------===//
#include "Converter.h"

#include "llmc/Conversion/LLMToLinalg.h"
#include "llmc/Dialect/LLM/Analysis/RowPrograms.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace llmc {

using namespace llm;

//===----------------------------------------------------------------------===//
// Tuned or generic
//===----------------------------------------------------------------------===//

/// Of a unit with a router, or what combines experts: these stand alone, but for what a sum is
/// added to.
static std::optional<Refusal> whyNotRouted(const Unit &unit) {
  Operation *first = unit.ops.front();
  for (Operation *op : ArrayRef<Operation *>(unit.ops).drop_front())
    if (!isa<ResidualAddOp>(op) || !isa<ExpertSumOp>(first) || unit.ops.size() != 2 ||
        !llvm::is_contained(op->getOperands(), first->getResult(0)) ||
        unit.isResult(first->getResult(0)))
      return Refusal{op, "is no part of a kernel of routers and experts"};
  return std::nullopt;
}

/// Of a unit that turns heads and appends nothing.
static std::optional<Refusal> whyNotPrologue(const Unit &unit) {
  for (Operation *op : unit.ops) {
    if (!isa<RMSNormOp, RotaryOp>(op))
      return Refusal{op, "is not part of the attention prologue (norm of heads, then rotary)"};
    for (Operation *user : op->getUsers())
      if (isa<RotaryOp>(op) && llvm::is_contained(unit.ops, user))
        return Refusal{user, "stands behind rotary; the attention prologue ends there"};
  }
  return std::nullopt;
}

/// Of a unit whose kernel computes one operation.
static std::optional<Refusal> whyNotAlone(const Unit &unit) {
  if (unit.ops.size() == 1)
    return std::nullopt;
  return Refusal{unit.ops[1], "stands in one launch with an operation whose kernel computes it alone"};
}

/// Of any other unit: one row program.
static std::optional<Refusal> whyNotRows(const Unit &unit) {
  std::optional<RowObstacle> obstacle = whyNotRowProgram(unit.ops);
  return obstacle ? std::optional(Refusal{obstacle->op, obstacle->reason}) : std::nullopt;
}

std::optional<Refusal> whyNotTuned(const Unit &unit) {
  auto any = [&](auto... kinds) {
    return llvm::any_of(unit.ops, [](Operation *op) { return (isa<decltype(kinds)>(op) || ...); });
  };
  if (any(RouteOp()) && unit.ops.size() > 1)
    return whyNotRouter(unit);
  if (any(LinearOp(), OutputHeadOp()))
    return whyNotLinear(unit);
  if (any(ExpertLinearOp()))
    return whyNotExperts(unit);
  if (any(RouteOp(), ExpertSumOp(), ExpertSpreadOp()))
    return whyNotRouted(unit);
  if (any(CausalConvOp(), TokenShiftOp(), LinearAttentionOp()))
    return whyNotRecurrent(unit);
  if (any(PagedAttentionOp(), JointAttentionOp()))
    return whyNotAttention(unit);
  if (any(SelectPositionsOp(), SelectEntriesOp(), EntryAppendOp(), PoolTokensOp(), SinkhornOp(),
          HeadLinearOp()))
    return whyNotAlone(unit);
  if (any(KVAppendOp(), EmbeddingOp(), PositionEmbeddingOp()))
    return std::nullopt;
  return any(RotaryOp()) ? whyNotPrologue(unit) : whyNotRows(unit);
}

bool Converter::canBeGeneric(const Unit &unit) {
  if (target->isGPU())
    return false;
  bool computes = false, chooses = false, turns = false;
  for (Operation *op : unit.ops) {
    if (isa<SelectRowsOp>(op)) {
      // The choice is which row the kernel is called with.
      if (llvm::is_contained(unit.ops, op->getOperand(0).getDefiningOp()))
        return false;
      chooses = true;
      continue;
    }
    if (!whyNotLinalg(op).empty())
      return false;
    turns |= isa<RotaryOp>(op);
    computes = true;
    auto isStored = [](Value value) {
      auto rows = dyn_cast<RankedTensorType>(value.getType());
      return !rows || rows.getElementType().isF32();
    };
    if (!llvm::all_of(op->getOperands(), isStored) || !llvm::all_of(op->getResults(), isStored))
      return false;
  }
  return computes && !(chooses && turns);
}

//===----------------------------------------------------------------------===//
// The unit as a function on one row
//===----------------------------------------------------------------------===//

namespace {
/// The type for one token, with weights as the kernel finds them.
Type rowType(Type type) {
  if (auto rows = dyn_cast<RankedTensorType>(type)) {
    SmallVector<int64_t> shape(rows.getShape());
    shape[0] = 1;
    return rows.clone(shape);
  }
  if (auto weight = dyn_cast<WeightType>(type))
    return WeightType::get(type.getContext(), weight.getShape(),
                           DenseAttr::get(type.getContext(), Float32Type::get(type.getContext())));
  return type;
}

/// Writes the function while it collects what the function takes and gives.
class RowFunctionWriter {
public:
  RowFunctionWriter(const Unit &unit)
      : unit(unit), module(ModuleOp::create(UnknownLoc::get(unit.op->getContext()))),
        b(module->getBodyRegion()) {}

  /// Outer values and whether their rows are chosen, one for each argument.
  SmallVector<std::pair<Value, bool>> arguments;
  /// Results of operations of the unit.
  SmallVector<Value> results;

  std::string write() {
    Location loc = module->getLoc();
    function = func::FuncOp::create(b, loc, "row", b.getFunctionType({}, {}));
    body = function.addEntryBlock();
    b.setInsertionPointToEnd(body);
    for (Operation *op : unit.ops) {
      if (auto select = dyn_cast<SelectRowsOp>(op)) {
        known.map(select.getResult(), argument(select.getInput(), /*chosen=*/true));
      } else {
        for (Value operand : op->getOperands())
          argument(operand, /*chosen=*/false);
        Operation *copy = b.clone(*op, known);
        for (OpResult result : copy->getResults())
          result.setType(rowType(result.getType()));
      }
      for (Value result : op->getResults())
        if (unit.isResult(result))
          results.push_back(result);
    }
    SmallVector<Value> returned;
    for (Value result : results)
      returned.push_back(known.lookup(result));
    func::ReturnOp::create(b, loc, returned);
    function.setType(b.getFunctionType(body->getArgumentTypes(), ValueRange(returned).getTypes()));
    std::string text;
    llvm::raw_string_ostream stream(text);
    function.print(stream, OpPrintingFlags().useLocalScope());
    return text;
  }

private:
  /// The value inside of the function; an argument where it comes from outside.
  Value argument(Value value, bool chosen) {
    if (!chosen && known.contains(value))
      return known.lookup(value);
    std::pair<Value, bool> key(unit.resolve(value), chosen);
    auto found = llvm::find(arguments, key);
    unsigned number = unsigned(found - arguments.begin());
    if (found == arguments.end()) {
      arguments.push_back(key);
      body->addArgument(rowType(value.getType()), module->getLoc());
    }
    if (!chosen)
      known.map(value, body->getArgument(number));
    return body->getArgument(number);
  }

  const Unit &unit;
  OwningOpRef<ModuleOp> module;
  OpBuilder b;
  func::FuncOp function;
  Block *body = nullptr;
  IRMapping known;
};
} // namespace

LogicalResult Converter::lowerGeneric(const Unit &unit) {
  for (RotaryOp rotary : unit.all<RotaryOp>())
    if (RopeAttr rope = rotary.getRope(); rope.hasLong() && rope.getBeyond() < maxContext)
      recomputeBeyond.insert(rope.getBeyond());
  RowFunctionWriter writer(unit);
  kernels::GenericSpec spec;
  spec.function = writer.write();
  auto fusion = dyn_cast<FusionOp>(unit.op);
  StringRef what = fusion ? fusion.getPattern() : unit.op->getName().stripDialect();
  spec.name = what.str();

  SmallVector<plan::UseAttr> uses;
  plan::Extent rows = plan::Extent::Tokens;
  for (auto [value, chosen] : writer.arguments) {
    if (isa<BatchType>(value.getType()))
      continue;
    kernels::RowOperand operand;
    operand.operand = unsigned(uses.size());
    if (auto type = dyn_cast<WeightType>(value.getType())) {
      auto weight = type.getRank() == 2 ? packMatrix(unit.op->getLoc(), value)
                                        : packVectors(unit.op->getLoc(), {value}, {}, false);
      if (failed(weight))
        return failure();
      uses.push_back(use(*weight));
    } else {
      auto buffer = bufferOf(value, unit.op);
      if (failed(buffer))
        return failure();
      operand.stride = buffer->stride;
      operand.offset = buffer->offset;
      operand.index = chosen ? kernels::RowIndex::OutputRow : kernels::RowIndex::Item;
      rows = chosen ? plan::Extent::Outputs : buffer->rows;
      uses.push_back(use(*buffer, plan::Access::Read));
    }
    spec.inputs.push_back(operand);
  }
  // Never in place: the function may read an argument after it has written a result.
  for (Value result : writer.results) {
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    RowBuffer out = newBuffer(result.getDefiningOp()->getName().stripDialect(),
                              ShapedType::getNumElements(shape.drop_front()), rows);
    kernels::RowOperand operand{unsigned(uses.size()), out.stride};
    spec.outputs.push_back(operand);
    uses.push_back(use(out, plan::Access::Write));
    bind(unit.resolve(result), out);
  }
  if (std::string problem = kernels::planGeneric(module.getContext(), spec); !problem.empty())
    return unit.op->emitError("no generic kernel: ") << problem;
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(1, rows), what);
  return success();
}

} // namespace llmc
