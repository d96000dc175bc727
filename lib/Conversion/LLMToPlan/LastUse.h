//===- LastUse.h - whose value lies where -----------------------*- C++ -*-===//
//
// A second look at everything that is computed in place. Converter::diesAt decides before a
// unit is lowered, from the uses of values; this follows the program as it is lowered, and
// whoever reads has to find the value that it names.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_CONVERSION_LLMTOPLAN_LASTUSE_H
#define LLMC_LIB_CONVERSION_LLMTOPLAN_LASTUSE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace llmc {

struct RowBuffer;

/// The columns of every slice and the values that they hold.
class SliceContents {
public:
  /// From here on the buffer holds this value and no other.
  void write(mlir::Value value, const RowBuffer &buffer);
  /// The buffer holds this value too: it is another name of what lies there.
  void alias(mlir::Value value, const RowBuffer &buffer);
  /// The value is about to be computed again, elsewhere.
  void forget(mlir::Value value) { known.erase(value); }
  /// An error at the reader where the buffer does not hold all of the value any more.
  mlir::LogicalResult check(mlir::Value value, const RowBuffer &buffer, mlir::Operation *reader);

private:
  struct Piece {
    int64_t begin, end;
    llvm::SmallVector<mlir::Value, 2> values;
    /// What wrote it last; null for values that came from outside.
    mlir::Operation *writer;
  };
  struct Slice {
    int64_t stride = 0;
    llvm::SmallVector<Piece> pieces;
  };
  /// The pieces of a buffer, cut at its ends.
  llvm::SmallVector<Piece *> piecesOf(const RowBuffer &buffer);
  std::optional<mlir::Operation *> overwriterOf(mlir::Value value, const RowBuffer &buffer);

  llvm::StringMap<Slice> slices;
  llvm::DenseSet<mlir::Value> known;
};

} // namespace llmc

#endif // LLMC_LIB_CONVERSION_LLMTOPLAN_LASTUSE_H
