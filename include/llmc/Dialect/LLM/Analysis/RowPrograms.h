//===- RowPrograms.h - operations that one row kernel computes --*- C++ -*-===//
//
// The one answer to which operations become one kernel over rows, for the fusion that
// joins them and for the conversion that lowers them. Rows are those of one token: `heads`
// rows of `width` elements, or, where no operation cares where a token's elements are cut, all
// of them.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_ANALYSIS_ROWPROGRAMS_H
#define LLMC_DIALECT_LLM_ANALYSIS_ROWPROGRAMS_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <utility>

namespace llmc::llm {

struct RowFrame {
  int64_t width = 0, heads = 1;
  /// Every value is all of a token's elements, so that rows may be cut or joined.
  bool isFlat = true;

  int64_t elements() const { return width * heads; }
};

/// Why operations are not one row program.
struct RowObstacle {
  mlir::Operation *op;
  /// `kernel`, `producer` or `same-shape`, as fusions name their predicates.
  llvm::StringRef predicate;
  /// What is wrong with `op`; starts in lower case.
  std::string reason;
};

/// Whether a row program computes the operation.
bool isRowOperation(mlir::Operation *op);

/// Whether the operation cuts or joins heads: the same elements in the same place.
bool isRowView(mlir::Operation *op);

/// The rows of a program of `ops`, which `whyNotRowProgram` has nothing against.
RowFrame rowFrame(llvm::ArrayRef<mlir::Operation *> ops);

/// Heads and width of `value` among rows of `frame`: each that of the frame, or 1 where it is
/// repeated. Nothing where the value does not fit, or is no activation.
std::optional<std::pair<int64_t, int64_t>> placeInFrame(const RowFrame &frame, mlir::Value value);

/// Why `ops`, in order, are not one row program, if so. Values that anything but `ops` reads are
/// results.
std::optional<RowObstacle> whyNotRowProgram(llvm::ArrayRef<mlir::Operation *> ops);

/// What a program of `ops` holds while it runs over a row.
struct RowPressure {
  /// Vectors that are alive at once, with the accumulators of reductions: an estimate.
  int64_t registers = 0;
  /// Bytes of rows that are neither operand nor result and that a later pass reads again.
  int64_t scratchBytes = 0;
  /// Operations of one token that are done for every head though they are of all heads.
  int64_t repeatedOperations = 0;
};
RowPressure rowPressure(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_ANALYSIS_ROWPROGRAMS_H
