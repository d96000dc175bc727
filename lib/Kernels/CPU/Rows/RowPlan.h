//===- RowPlan.h - passes of a row program ----------------------*- C++ -*-===//
//
// A row program runs in passes over the row. A node's pass is the first in which
// its value can be computed: operands and element-wise nodes of them in pass 0, a
// norm's value after the passes of its reductions. A value that a later pass
// needs again is read from where it already is, if nothing stored in between may
// have changed it, or kept in a row of scratch.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_KERNELS_CPU_ROWS_ROWPLAN_H
#define LLMC_LIB_KERNELS_CPU_ROWS_ROWPLAN_H

#include "llmc/Kernels/CPU/RowKernels.h"

namespace llmc::kernels {

struct RowPlan {
  explicit RowPlan(const RowProgram &program);

  /// Whether the node has one value for all of the row.
  bool isScalar(int node) const { return kinds[node] != Kind::Row; }
  /// Whether it has because all that it is computed of has: it is computed once a row.
  bool isOfScalars(int node) const { return kinds[node] == Kind::OfScalars; }

  /// Reduction phase `phase` of node `node`, over the row of its first input.
  struct Reduction {
    int node;
    unsigned phase;
  };

  /// What a pass produces.
  struct Pass {
    llvm::SmallVector<Reduction> reductions;
    llvm::SmallVector<unsigned> outputs;
    llvm::SmallVector<int> spills;
    /// Statistics of this pass, and what is computed of them, that only later ones need: nothing
    /// is stored, but they are computed.
    llvm::SmallVector<int> statistics;
    bool empty() const { return reductions.empty() && outputs.empty() && spills.empty(); }
  };

  /// Where a pass after the node's own finds its value.
  struct Home {
    enum Kind { None, Operand, Output, Scratch } kind = None;
    unsigned index = 0;
  };

  llvm::SmallVector<unsigned> passOf;
  llvm::SmallVector<Home> homes;
  llvm::SmallVector<Pass> passes;
  unsigned scratchRows = 0;

private:
  void visit(const RowProgram &program, int node, unsigned pass, llvm::SmallVectorImpl<bool> &seen);
  void keep(const RowProgram &program, int node, unsigned pass);

  enum class Kind { Row, Scalar, OfScalars };
  llvm::SmallVector<Kind> kinds;
  unsigned firstStore = 0;
};

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_ROWS_ROWPLAN_H
