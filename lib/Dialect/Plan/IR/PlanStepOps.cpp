//===- PlanStepOps.cpp - entries and their steps --------------------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace llmc::plan;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

LogicalResult EntryOp::verifyRegions() {
  bool outputs = false;
  for (Operation &op : getBody().front()) {
    if (!isa<StepOpInterface, RepeatOp, OutputOp>(op)) // entry_c1
      return op.emitOpError("is no step of a plan.entry");
    if (outputs && !isa<OutputOp>(op)) // entry_c2
      return op.emitOpError("follows a plan.output, which come after all steps");
    outputs |= isa<OutputOp>(op);
  }
  return success();
}

LogicalResult RepeatOp::verifyRegions() {
  // repeat_c1 is a trait: the parent is an entry.
  for (Operation &op : getBody().front())
    if (!isa<StepOpInterface>(op)) // repeat_c2
      return op.emitOpError("is no step of a plan.repeat");
  // repeat_c3
  int64_t layers = saturatingMul(getCount(), getPeriod());
  int64_t end = saturatingAdd(getFrom(), layers);
  int64_t model = (*this)->getParentOfType<ProgramOp>().getModel().getLayers();
  if (end > model)
    return emitOpError("goes to layer ") << end - 1 << ", the model has " << model << " layers";
  return success();
}

//===----------------------------------------------------------------------===//
// References
//===----------------------------------------------------------------------===//

/// The layer of an operand names an iteration's layer, so it needs a repeat
/// around the step and lies in its period.
static LogicalResult verifyLayer(Operation *op, std::optional<int64_t> layer, Twine what) {
  if (!layer)
    return success();
  auto repeat = dyn_cast<RepeatOp>(op->getParentOp());
  if (!repeat)
    return op->emitOpError() << what << " has layer " << *layer << " outside of a plan.repeat";
  if (*layer < 0 || *layer >= repeat.getPeriod())
    return op->emitOpError() << what << " has layer " << *layer << " of a period of "
                             << repeat.getPeriod();
  return success();
}

/// `rows` x `width` elements fit the slice at the largest step.
static LogicalResult verifyFits(Operation *op, FlatSymbolRefAttr ref,
                                SymbolTableCollection &symbols, int64_t elements, Type type) {
  auto slice = symbols.lookupNearestSymbolFrom<SliceOp>(op, ref);
  if (!slice)
    return op->emitOpError("refers to ") << ref << ", which is no plan.slice";
  LimitsAttr limits = op->getParentOfType<ProgramOp>().getLimits();
  int64_t bytes = saturatingMul(elements, getElementBytes(type));
  int64_t held = limits.getLargest(slice.getSize());
  if (bytes > held)
    return op->emitOpError("takes ") << bytes << " bytes of " << ref << " at the largest step, "
                                     << "the slice has " << held;
  return success();
}

static int64_t getLargestElements(Operation *op, Extent rows, int64_t width) {
  return saturatingMul(op->getParentOfType<ProgramOp>().getLimits().getLargest(rows), width);
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

void LaunchOp::getUses(SmallVectorImpl<UseAttr> &uses) {
  llvm::append_range(uses, getUsesAttr().getAsRange<UseAttr>());
}

/// Checks the layer of a use against the layers that its symbol has.
static LogicalResult verifyMembers(LaunchOp op, UseAttr use, LayersAttr layers) {
  std::optional<int64_t> layer = use.getLayer();
  if (std::optional<int64_t> fixed = use.getFixed()) {
    if (layer || !layers) // launch_c4
      return op.emitOpError("uses ") << use.getSymbol() << " of layer " << *fixed
                                     << (layer ? " and of another one" : ", it has no layers");
    if (!layers.getMember(*fixed)) // launch_c5
      return op.emitOpError("uses ") << use.getSymbol() << " for layer " << *fixed
                                     << ", it has layers " << layers;
    return success();
  }
  if (layers && !layer) // launch_c4
    return op.emitOpError("uses ") << use.getSymbol() << " of layers " << layers
                                   << " without a layer";
  if (!layers && layer) // launch_c4
    return op.emitOpError("uses ") << use.getSymbol() << " with layer " << *layer
                                   << ", it has no layers";
  if (failed(verifyLayer(op, layer, "use of @" + use.getSymbol().getValue()))) // launch_c4
    return failure();
  if (!layer)
    return success();
  auto repeat = cast<RepeatOp>(op->getParentOp());
  for (int64_t i = 0, e = repeat.getCount(); i < e; ++i) {
    int64_t absolute = repeat.getFrom() + i * repeat.getPeriod() + *layer;
    if (!layers.getMember(absolute)) // launch_c5
      return op.emitOpError("uses ") << use.getSymbol() << " for layer " << absolute
                                     << ", it has layers " << layers;
  }
  return success();
}

static LogicalResult verifyUse(LaunchOp op, UseAttr use, Operation *target) {
  FlatSymbolRefAttr name = use.getSymbol();
  if (auto weights = dyn_cast_or_null<WeightsOp>(target)) {
    if (use.writes()) // launch_c3
      return op.emitOpError("has access ") << stringifyAccess(use.getAccess()) << " to weights "
                                           << name << ", which are read-only";
    return verifyMembers(op, use, weights.getLayersAttr());
  }
  if (auto state = dyn_cast_or_null<StateOp>(target))
    return verifyMembers(op, use, state.getLayers());
  if (isa_and_nonnull<SliceOp>(target))
    return verifyMembers(op, use, LayersAttr());
  return op.emitOpError("uses ") << name // launch_c2
                                 << ", which is no plan.slice, plan.weights or plan.state";
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr())) // launch_c1
    return emitOpError("launches ") << getKernelAttr() << ", which is no plan.kernel";
  SmallVector<UseAttr> uses;
  getUses(uses);
  // launch_c6: memory that is written has one name in the kernel.
  llvm::SmallDenseMap<Attribute, UseAttr> slices;
  StateOp paged;
  for (UseAttr use : uses) {
    Operation *target = symbols.lookupNearestSymbolFrom(*this, use.getSymbol());
    if (failed(verifyUse(*this, use, target)))
      return failure();
    if (auto state = dyn_cast<StateOp>(target); state && !state.isPerSequence()) {
      // launch_c7: a launch has one table of blocks.
      if (paged && bool(paged.getWindow()) != bool(state.getWindow()))
        return emitOpError("uses state @") << paged.getSymName() << " and @" << state.getSymName()
                                           << ", of which one has a window; their blocks are not "
                                              "the same";
      paged = state;
    }
    if (!isa<SliceOp>(target))
      continue;
    auto [earlier, isNew] = slices.try_emplace(use.getSymbol(), use);
    if (!isNew && (use.writes() || earlier->second.writes()))
      return emitOpError("has ") << use.getSymbol() << " as "
                                 << stringifyAccess(earlier->second.getAccess()) << " and as "
                                 << stringifyAccess(use.getAccess())
                                 << "; memory computed in place is one readwrite use";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// ObserveOp, CollectiveOp, OutputOp
//===----------------------------------------------------------------------===//

void ObserveOp::getUses(SmallVectorImpl<UseAttr> &uses) {
  uses.push_back(UseAttr::get(getContext(), getSlice(), Access::Read));
}

LogicalResult ObserveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  // observe_c2: a name with the layer in it needs a layer.
  if (!getLayer() && (getName().contains("{i}") || getName().contains("{i+1}")))
    return emitOpError("names a layer in '") << getName() << "' and has none";
  if (failed(verifyLayer(*this, getLayer(), "'" + getName() + "'")))
    return failure();
  if (getHeads() && getWidth() % *getHeads()) // observe_c4
    return emitOpError("has rows of ") << getWidth() << " elements, which are not " << *getHeads()
                                       << " heads";
  return verifyFits(*this, getSliceAttr(), symbols, // observe_c1, observe_c3
                    getLargestElements(*this, getRows(), getWidth()),
                    Float32Type::get(getContext()));
}

void CollectiveOp::getUses(SmallVectorImpl<UseAttr> &uses) {
  uses.push_back(UseAttr::get(getContext(), getSlice(), Access::ReadWrite));
}

LogicalResult CollectiveOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<GroupOp>(*this, getGroupAttr())) // collective_c2
    return emitOpError("runs over ") << getGroupAttr() << ", which is no plan.group";
  if (!getElement().isF32()) // collective_c5
    return emitOpError("adds f32 elements, got ") << getElement();
  Size count = *Size::fromMap(getCount());
  for (SizeSymbol symbol : {SizeSymbol::Blocks, SizeSymbol::WindowBlocks, SizeSymbol::Threads})
    if (count.getTerm(symbol) != 0) // collective_c4: ranks agree on the count
      return emitOpError("count grows by ") << count.getTerm(symbol) << " with "
                                            << llmc::plan::getName(symbol)
                                            << ", which may differ between ranks";
  LimitsAttr limits = (*this)->getParentOfType<ProgramOp>().getLimits();
  return verifyFits(*this, getSliceAttr(), symbols, // collective_c1, collective_c3
                    limits.getLargest(getCount()), getElement());
}

LogicalResult OutputOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyFits(*this, getSliceAttr(), symbols, // output_c1, output_c2
                    getLargestElements(*this, getRows(), getWidth()), getElement());
}
