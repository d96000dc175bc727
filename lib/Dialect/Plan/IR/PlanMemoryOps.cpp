//===- PlanMemoryOps.cpp - arenas and what lies in them -------------------===//

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Support/StateRing.h"

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
  for (SizeSymbol symbol : {SizeSymbol::Blocks, SizeSymbol::WindowBlocks, SizeSymbol::Threads})
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

/// A view takes rows x cols of each matrix out of its tensor.
static LogicalResult verifyView(WeightsOp op, SourceAttr source) { // weights_c8
  ViewAttr view = source.getView();
  SmallVector<int64_t> shape{source.getRows(), op.getCols()};
  bool byMatrix = source.isByMatrix() || (op.getMatrices() == 1 && view.getStrides().size() == 2);
  if (!byMatrix)
    shape.insert(shape.begin(), op.getMatrices());
  if (view.getStrides().size() != shape.size())
    return op.emitOpError("takes source '")
           << source.getTensor() << "' by " << view.getStrides().size() << " strides, it needs "
           << shape.size();
  if (!view.contains(shape))
    return op.emitOpError("takes [") << shape << "] of source '" << source.getTensor()
                                     << "', which reaches beyond the " << view.getNumElements()
                                     << " elements of the tensor";
  return success();
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
  int64_t matrices = getMatrices();
  if (getBytes() % (64 * matrices)) // weights_c7
    return emitOpError("has ") << getBytes() << " bytes a member, which are not " << matrices
                               << " matrices of a multiple of 64";
  if (getBytes() / matrices < *packed) // weights_c3
    return emitOpError("has ") << getBytes() / matrices << " bytes a "
                               << (matrices > 1 ? "matrix" : "member") << ", layout "
                               << getLayout() << " takes " << *packed;

  int64_t rows = 0, interleave = getInterleave();
  for (auto source : getSources().getAsRange<SourceAttr>()) {
    if (source.getView() && failed(verifyView(*this, source)))
      return failure();
    int64_t given = source.getRows();
    if (DenseF32ArrayAttr values = source.getValues(); // weights_c5
        values && values.size() != given && values.size() != given * getNumMembers())
      return emitOpError("has ") << getNumMembers() << " members, its source gives "
                                 << values.size() << " values for " << given << " rows";
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
  bool perSequence = isPerSequence();
  if (perSequence && getWindow()) // state_c6
    return emitOpError("of kind ") << stringifyStateKind(getKind()) << " has window "
                                   << int64_t(*getWindow()) << ", only paged state has one";
  if (getBytesPerBlock().has_value() == perSequence ||
      getBytesPerSequence().has_value() != perSequence) // state_c4
    return emitOpError("of kind ")
           << stringifyStateKind(getKind()) << " has "
           << (perSequence ? "bytes_per_sequence and no bytes_per_block"
                           : "bytes_per_block and no bytes_per_sequence");
  if (perSequence) {
    int64_t bytes = saturatingMul(saturatingMul(getHeads(), getKeyWidth()),
                                  saturatingMul(getValueWidth(), getElementBytes(getElement())));
    if (int64_t(*getBytesPerSequence()) < bytes) // state_c5
      return emitOpError("has ") << int64_t(*getBytesPerSequence()) << " bytes a sequence, "
                                 << getHeads() << " heads x " << getKeyWidth() << " x "
                                 << getValueWidth() << " values take " << bytes;
    return success();
  }
  LimitsAttr limits = (*this)->getParentOfType<ProgramOp>().getLimits();
  int64_t positions = limits.getBlockTokens();
  if (getWindow()) {
    int64_t least = leastRingBlocks(*getWindow(), limits.getMaxTokens(), positions);
    int64_t whole = llvm::divideCeil(uint64_t(limits.getMaxContext()), uint64_t(positions));
    if (!limits.getRingBlocks() || *limits.getRingBlocks() < std::min(least, whole)) // state_c7
      return emitOpError("has window ")
             << int64_t(*getWindow()) << ", which with steps of " << limits.getMaxTokens()
             << " tokens takes rings of " << std::min(least, whole) << " blocks; ring_blocks is "
             << limits.getRingBlocks().value_or(0);
  }
  int64_t width = saturatingAdd(getKeyWidth(), getValueWidth());
  int64_t bytes = saturatingMul(saturatingMul(getHeads(), width),
                                saturatingMul(positions, getElementBytes(getElement())));
  if (int64_t(*getBytesPerBlock()) < bytes) // state_c2
    return emitOpError("has ") << int64_t(*getBytesPerBlock()) << " bytes a block, " << getHeads()
                               << " heads x " << width << " values x " << positions
                               << " positions take " << bytes;
  return success();
}

Size StateOp::getMemberSize() {
  return isPerSequence() ? Size::of(SizeSymbol::Sequences, *getBytesPerSequence())
                         : Size::of(getWindow() ? SizeSymbol::WindowBlocks : SizeSymbol::Blocks,
                                    *getBytesPerBlock());
}

LogicalResult StateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyArena(*this, getArenaAttr(), symbols, {ArenaKind::State}); // state_c1
}
