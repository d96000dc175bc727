//===- PlanMemoryOps.cpp - arenas and what lies in them -------------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"

using namespace mlir;
using namespace llmc::plan;

int64_t llmc::plan::getElementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

/// The arena an op lies in, if it has one of the kinds; otherwise an error that
/// names arena and kind.
static LogicalResult verifyArena(Operation *op, FlatSymbolRefAttr ref,
                                 SymbolTableCollection &symbols, ArrayRef<ArenaKind> kinds) {
  auto arena = symbols.lookupNearestSymbolFrom<ArenaOp>(op, ref);
  if (!arena)
    return op->emitOpError("lies in ") << ref << ", which is no plan.arena";
  if (llvm::is_contained(kinds, arena.getKind()))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("lies in an arena of kind ");
  for (size_t i = 0; i < kinds.size(); ++i)
    diagnostic << (i ? " or " : "") << stringifyArenaKind(kinds[i]);
  return diagnostic << ", " << ref << " is of kind " << stringifyArenaKind(arena.getKind());
}

/// The model has the layers that an op has.
static LogicalResult verifyLayers(Operation *op, LayersAttr layers) {
  int64_t count = op->getParentOfType<ProgramOp>().getModel().getLayers();
  if (layers && layers.getBounds().back() > count)
    return op->emitOpError("goes to layer ")
           << layers.getBounds().back() - 1 << ", the model has " << count << " layers";
  return success();
}

LogicalResult ArenaOp::verify() {
  SmallVector<StringRef> files;
  if (getFile())
    files.push_back(*getFile());
  if (getRankFiles())
    llvm::append_range(files, getRankFiles()->getAsValueRange<StringAttr>());
  for (StringRef file : files) { // arena_c2
    if (getKind() != ArenaKind::Weights)
      return emitOpError("of kind ") << stringifyArenaKind(getKind()) << " names file '" << file
                                     << "', only weights are mapped from a file";
    if (!isInsidePath(file))
      return emitOpError("file '") << file << "' is no path inside the artifact";
  }
  if (!getRankFiles())
    return success();
  // arena_c3
  if (getFile())
    return emitOpError("names file '") << *getFile() << "' beside files for each rank";
  int64_t ranks = (*this)->getParentOfType<ProgramOp>().getRanks();
  if (static_cast<int64_t>(getRankFiles()->size()) != ranks)
    return emitOpError("names ") << getRankFiles()->size() << " rank files for " << ranks
                                 << " ranks";
  return success();
}

//===----------------------------------------------------------------------===//
// SliceOp
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::verify() {
  // slice_c3 is a constraint of the attribute.
  Size size = *Size::fromMap(getSize());
  for (SizeSymbol symbol : {SizeSymbol::Blocks, SizeSymbol::Threads})
    if (size.getTerm(symbol) != 0) // slice_c2
      return emitOpError("size grows by ")
             << size.getTerm(symbol) << " with " << llmc::plan::getName(symbol)
             << ", for which a step has no limit";
  return success();
}

LogicalResult SliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyArena(*this, getArenaAttr(), symbols, // slice_c1
                     {ArenaKind::Activations, ArenaKind::Communication});
}

//===----------------------------------------------------------------------===//
// WeightsOp
//===----------------------------------------------------------------------===//

int64_t WeightsOp::getNumMembers() { return getLayers() ? getLayersAttr().getNumLayers() : 1; }

int64_t WeightsOp::getEnd() {
  int64_t before = saturatingMul(getNumMembers() - 1, getStride().value_or(getBytes()));
  return saturatingAdd(getBase().value_or(0), saturatingAdd(before, getBytes()));
}

LogicalResult WeightsOp::verify() {
  if (failed(verifyLayers(*this, getLayersAttr()))) // weights_c6
    return failure();
  if (getStride() && getNumMembers() > 1 && *getStride() < getBytes()) // weights_c2
    return emitOpError("members of ")
           << getBytes() << " bytes overlap at a stride of " << *getStride();

  FailureOr<int64_t> packed = getLayout().getPackedBytes( // weights_c4
      getStorage(), getRows(), getCols(), [&] { return emitOpError(); });
  if (failed(packed))
    return failure();
  if (getBytes() < *packed) // weights_c3
    return emitOpError("has ") << getBytes() << " bytes a member, layout " << getLayout()
                               << " takes " << *packed;

  int64_t rows = 0, interleave = getInterleave();
  for (auto source : getSources().getAsRange<SourceAttr>()) {
    int64_t given = source.getRows();
    rows = saturatingAdd(rows, interleave ? saturatingAlign(given, interleave) : given);
  }
  if (rows != getRows()) // weights_c5
    return emitOpError("has ") << getRows() << " rows, its sources give " << rows
                               << (interleave ? " with padding" : "");
  return success();
}

LogicalResult WeightsOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyArena(*this, getArenaAttr(), symbols, {ArenaKind::Weights}); // weights_c1
}

//===----------------------------------------------------------------------===//
// StateOp
//===----------------------------------------------------------------------===//

LogicalResult StateOp::verify() {
  if (failed(verifyLayers(*this, getLayers()))) // state_c3
    return failure();
  int64_t positions = (*this)->getParentOfType<ProgramOp>().getLimits().getBlockTokens();
  int64_t width = saturatingAdd(getKeyWidth(), getValueWidth());
  int64_t bytes = saturatingMul(saturatingMul(getHeads(), width),
                                saturatingMul(positions, getElementBytes(getElement())));
  if (getBytesPerBlock() < bytes) // state_c2
    return emitOpError("has ") << getBytesPerBlock() << " bytes a block, " << getHeads()
                               << " heads x " << width << " values x " << positions
                               << " positions take " << bytes;
  return success();
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyArena(*this, getArenaAttr(), symbols, {ArenaKind::State}); // state_c1
}
