//===- Liveness.h - when each slice is live ---------------------*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_PLAN_TRANSFORMS_LIVENESS_H
#define LLMC_LIB_DIALECT_PLAN_TRANSFORMS_LIVENESS_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llvm/ADT/DenseMap.h"

namespace llmc::plan {

/// Steps from the first to the last that need a slice, both included.
struct LiveInterval {
  int64_t first;
  int64_t last;
};

/// A step that reads a slice which nothing wrote before. Slices of communication arenas
/// may be written by somebody else before the entry runs.
struct UndefinedRead {
  mlir::Operation *step;
  mlir::StringAttr slice;
};

/// The steps of a program numbered in order, entry after entry and the body of
/// a repeat once, and what follows from them for each slice.
class SliceLiveness {
public:
  explicit SliceLiveness(ProgramOp program);

  /// Nothing for a slice that no step and no output uses.
  std::optional<LiveInterval> getInterval(SliceOp slice) const;
  int64_t getNumSteps() const { return numSteps; }
  llvm::ArrayRef<UndefinedRead> getUndefinedReads() const { return undefinedReads; }

private:
  void visitEntry(EntryOp entry);
  void visitStep(StepOpInterface step, std::optional<LiveInterval> loop);
  void extend(mlir::StringAttr slice, int64_t first, int64_t last);

  llvm::DenseMap<mlir::StringAttr, LiveInterval> intervals;
  llvm::DenseSet<mlir::StringAttr> slices, received, written, touchedInLoop;
  llvm::SmallVector<UndefinedRead> undefinedReads;
  int64_t numSteps = 0, entryStart = 0;
};

} // namespace llmc::plan

#endif // LLMC_LIB_DIALECT_PLAN_TRANSFORMS_LIVENESS_H
