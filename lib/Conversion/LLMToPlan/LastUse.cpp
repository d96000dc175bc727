//===- LastUse.cpp - whose value lies where -------------------------------===//
#include "LastUse.h"

#include "Converter.h"

#include <limits>

using namespace mlir;

namespace llmc {

/// Columns of a slice whose rows are so long; all of them where others see its rows otherwise.
static std::pair<int64_t, int64_t> columnsOf(const RowBuffer &buffer, int64_t stride) {
  if (buffer.stride != stride)
    return {0, std::numeric_limits<int64_t>::max()};
  return {buffer.offset, buffer.offset + buffer.width};
}

SmallVector<SliceContents::Piece *> SliceContents::piecesOf(const RowBuffer &buffer) {
  Slice &slice = slices[buffer.slice];
  if (slice.pieces.empty())
    slice.stride = buffer.stride;
  auto [begin, end] = columnsOf(buffer, slice.stride);
  for (int64_t cut : {begin, end})
    for (size_t i = 0, e = slice.pieces.size(); i < e; ++i)
      if (slice.pieces[i].begin < cut && cut < slice.pieces[i].end) {
        Piece right = slice.pieces[i];
        right.begin = slice.pieces[i].end = cut;
        slice.pieces.push_back(std::move(right));
      }
  SmallVector<Piece *> found;
  for (Piece &piece : slice.pieces)
    if (piece.begin < end && begin < piece.end)
      found.push_back(&piece);
  return found;
}

void SliceContents::write(Value value, const RowBuffer &buffer) {
  known.insert(value);
  piecesOf(buffer);
  Slice &slice = slices[buffer.slice];
  auto [begin, end] = columnsOf(buffer, slice.stride);
  llvm::erase_if(slice.pieces, [&, begin = begin, end = end](const Piece &piece) {
    return piece.begin < end && begin < piece.end;
  });
  slice.pieces.push_back({begin, end, {value}, value.getDefiningOp()});
}

void SliceContents::alias(Value value, const RowBuffer &buffer) {
  known.insert(value);
  SmallVector<Piece *> pieces = piecesOf(buffer);
  if (pieces.empty())
    return write(value, buffer);
  for (Piece *piece : pieces)
    piece->values.push_back(value);
}

std::optional<Operation *> SliceContents::overwriterOf(Value value, const RowBuffer &buffer) {
  // Memory that is made when somebody first needs it.
  if (!known.contains(value)) {
    alias(value, buffer);
    return std::nullopt;
  }
  for (Piece *piece : piecesOf(buffer))
    if (!llvm::is_contained(piece->values, value))
      return piece->writer;
  return std::nullopt;
}

LogicalResult SliceContents::check(Value value, const RowBuffer &buffer, Operation *reader) {
  std::optional<Operation *> writer = overwriterOf(value, buffer);
  if (!writer)
    return success();
  InFlightDiagnostic diagnostic = reader->emitError("reads a value of which ")
                                  << (*writer ? (*writer)->getName().getStringRef()
                                              : StringRef("a layer"))
                                  << " has overwritten memory, in slice @" << buffer.slice
                                  << ": what is computed in place was still live";
  if (*writer)
    diagnostic.attachNote((*writer)->getLoc()) << "it was overwritten here";
  return diagnostic;
}

} // namespace llmc
