//===- VerifyModel.cpp - is the module one whole model --------------------===//
#include "VerifyRows.h"
#include "VerifyStates.h"
#include "llmc/Dialect/LLM/IR/LayerLimit.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallSet.h"

namespace llmc::llm {
#define GEN_PASS_DEF_VERIFYMODELPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

namespace {
/// What the members of a family are asked for.
struct FamilyUse {
  bool used = false;
  /// A layer is neither the function's own index nor a number, so which members are used is
  /// not known.
  bool opaque = false;
  llvm::SmallSet<int64_t, 8> layers;
};

struct VerifyModelPass : llmc::llm::impl::VerifyModelPassBase<VerifyModelPass> {
  void runOnOperation() override {
    FunctionOpInterface entry = findEntry();
    if (!entry || failed(verifyLayers(entry)) || failed(verifyFamilies()) ||
        failed(verifyStates(getOperation(), entry, layersOf)) || failed(verifyWidths()) ||
        failed(verifyChoices()) || failed(verifyRows(entry)))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

  FunctionOpInterface findEntry();
  LogicalResult verifyLayers(FunctionOpInterface entry);
  LogicalResult verifyFamilies();
  template <typename MemberOp, typename FamilyOp> LogicalResult verifyFamiliesOf();
  LogicalResult verifyWidths();
  LogicalResult verifyChoices();

  LayerTable layersOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Entry and layers
//===----------------------------------------------------------------------===//

FunctionOpInterface VerifyModelPass::findEntry() {
  FunctionOpInterface entry;
  for (auto function : getOperation().getOps<FunctionOpInterface>()) {
    if (!function->hasAttr("llm.entry"))
      continue;
    if (entry) {
      auto diagnostic = function.emitError("is a second function marked llm.entry");
      diagnostic.attachNote(entry.getLoc()) << "the first one";
      return {};
    }
    entry = function;
  }
  if (!entry) {
    getOperation().emitError("has no function marked llm.entry, which runs a step; to run passes on "
                             "other functions, name them with --pass-pipeline and no --emit");
    return {};
  }
  if (!entry.getFunctionBody().hasOneBlock()) {
    entry.emitError("is the entry and needs a body of one block but has ")
        << entry.getFunctionBody().getBlocks().size();
    return {};
  }
  return entry;
}

/// The repeats of the entry run layers 0, 1, … in order, each once.
LogicalResult VerifyModelPass::verifyLayers(FunctionOpInterface entry) {
  SymbolTable symbols(getOperation());
  int64_t next = 0;
  auto check = [&](RepeatOp repeat) -> WalkResult {
    int64_t from = repeat.getFrom(), count = repeat.getCount();
    if (from != next)
      return repeat.emitOpError() << "runs layers from " << from << " but layer " << next
                                  << " is the next one";
    if (repeat->getNumResults() && repeat->use_empty())
      return repeat.emitOpError("has no user: what the layers compute is lost");
    int64_t period = repeat.getCallees().size();
    for (auto [j, callee] :
         llvm::enumerate(repeat.getCallees().getAsValueRange<FlatSymbolRefAttr>()))
      for (int64_t r = 0; r < count; ++r)
        layersOf[symbols.lookup(callee)].insert(next + r * period + j);
    next += count * period;
    return WalkResult::advance();
  };
  if (entry->walk(check).wasInterrupted())
    return failure();
  WalkResult nested = getOperation().walk([&](RepeatOp repeat) -> WalkResult {
    if (repeat->getParentOfType<FunctionOpInterface>() == entry)
      return WalkResult::advance();
    return repeat.emitOpError("stands outside the function marked llm.entry");
  });
  if (nested.wasInterrupted())
    return failure();
  auto facts = getOperation()->getAttrOfType<DictionaryAttr>("llm.model");
  auto layers = facts ? facts.getAs<IntegerAttr>("layers") : IntegerAttr();
  if (layers && layers.getInt() != next)
    return entry.emitError() << "runs " << next << " layers but llm.model has " << layers.getInt();
  return success();
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

static std::optional<LayersAttr> layersOfFamily(WeightFamilyOp family) {
  return family.getLayers();
}
static std::optional<LayersAttr> layersOfFamily(StateFamilyOp family) { return family.getLayers(); }

template <typename MemberOp, typename FamilyOp> LogicalResult VerifyModelPass::verifyFamiliesOf() {
  SymbolTable symbols(getOperation());
  llvm::DenseMap<Operation *, FamilyUse> uses;
  WalkResult result = getOperation().walk([&](MemberOp member) -> WalkResult {
    auto family = symbols.lookup<FamilyOp>(member.getFamily());
    // A member below a nested symbol table may name a family of that table.
    if (!family)
      return WalkResult::advance();
    FamilyUse &use = uses[family];
    use.used = true;
    auto function = member->template getParentOfType<FunctionOpInterface>();
    auto index = dyn_cast_or_null<BlockArgument>(member.getLayer());
    if (!member.getLayer())
      return WalkResult::advance();
    if (IntegerAttr number; matchPattern(member.getLayer(), m_Constant(&number))) {
      int64_t layer = number.getInt();
      if (!layersOfFamily(family)->contains(layer))
        return member.emitOpError() << "asks for layer " << layer << " but family @"
                                    << family.getSymName() << " has no such member";
      use.layers.insert(layer);
      return WalkResult::advance();
    }
    if (!function || !index || index.getOwner() != &function.front() || index.getArgNumber() != 0) {
      use.opaque = true;
      return WalkResult::advance();
    }
    for (int64_t layer : layersOf[function]) {
      if (!layersOfFamily(family)->contains(layer))
        return member.emitOpError() << "asks for layer " << layer << " but family @"
                                    << family.getSymName() << " has no such member";
      use.layers.insert(layer);
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();

  for (auto family : getOperation().template getOps<FamilyOp>()) {
    const FamilyUse &use = uses[family];
    if (!use.used)
      return family.emitOpError("is used by no op");
    std::optional<LayersAttr> layers = layersOfFamily(family);
    if (!layers)
      continue;
    if (layers->getBounds().back() > maxLayers)
      return family.emitOpError() << "has a member for layer " << layers->getBounds().back() - 1
                                  << "; no model has more than " << maxLayers << " layers";
    if (use.opaque)
      continue;
    for (int64_t layer : layers->expand())
      if (!use.layers.contains(layer))
        return family.emitOpError() << "has a member for layer " << layer << " that no op uses";
  }
  return success();
}

LogicalResult VerifyModelPass::verifyFamilies() {
  return success(succeeded(verifyFamiliesOf<ParamOp, WeightFamilyOp>()) &&
                 succeeded(verifyFamiliesOf<StateOp, StateFamilyOp>()));
}

//===----------------------------------------------------------------------===//
// Widths
//===----------------------------------------------------------------------===//

/// Only the number of rows, dimension 0, may be dynamic.
static bool hasStaticWidth(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return !tensor || tensor.getRank() == 0 ||
         llvm::none_of(tensor.getShape().drop_front(), ShapedType::isDynamic);
}

/// Elements of the widest row, so that sizes in bytes of a whole step are numbers of 64 bits.
static constexpr int64_t maxRowElements = int64_t(1) << 32;

/// For types with a static width.
static bool hasBoundedWidth(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  int64_t elements = 1;
  if (tensor && tensor.getRank() > 0)
    for (int64_t dim : tensor.getShape().drop_front()) {
      if (dim != 0 && elements > maxRowElements / dim)
        return false;
      elements *= dim;
    }
  return true;
}

LogicalResult VerifyModelPass::verifyWidths() {
  WalkResult result = getOperation().walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes())
      if (!hasStaticWidth(type))
        return op->emitOpError() << "result " << type
                                 << " has a dynamic dimension besides the rows";
      else if (!hasBoundedWidth(type))
        return op->emitOpError() << "result " << type << " has rows of more than "
                                 << maxRowElements << " elements";
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (!hasStaticWidth(argument.getType()))
          return op->emitOpError()
                 << "argument " << argument.getArgNumber() << " of type " << argument.getType()
                 << " has a dynamic dimension besides the rows";
        else if (!hasBoundedWidth(argument.getType()))
          return op->emitOpError()
                 << "argument " << argument.getArgNumber() << " of type " << argument.getType()
                 << " has rows of more than " << maxRowElements << " elements";
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Choices of experts
//===----------------------------------------------------------------------===//

/// The route whose choice a value is, seen through the inputs of fusions; null where there is
/// none.
static RouteOp routeOf(Value choice) {
  while (auto argument = dyn_cast<BlockArgument>(choice)) {
    auto fusion = dyn_cast<FusionOp>(argument.getOwner()->getParentOp());
    if (!fusion)
      return {};
    choice = fusion.getInputs()[argument.getArgNumber()];
  }
  auto result = cast<OpResult>(choice);
  if (auto fusion = dyn_cast<FusionOp>(result.getOwner()))
    return routeOf(fusion.getBody().front().getTerminator()->getOperand(result.getResultNumber()));
  auto route = dyn_cast<RouteOp>(result.getOwner());
  return route && choice == route.getChoice() ? route : RouteOp();
}

LogicalResult VerifyModelPass::verifyChoices() {
  WalkResult result = getOperation().walk([&](ExpertLinearOp op) -> WalkResult {
    RouteOp route = routeOf(op.getChoice());
    if (!route)
      return op.emitOpError("needs a choice that an llm.route of its function made");
    int64_t chosenFrom = cast<RankedTensorType>(route.getLogits().getType()).getDimSize(1);
    int64_t experts = op.getWeight().getType().getShape()[0];
    if (experts != chosenFrom)
      return op.emitOpError() << "has a weight of " << experts
                              << " experts and a choice from " << chosenFrom;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
