//===- Reduce.h - the smallest program that still does it -------*- C++ -*-===//
//
// Makes a program of the llm dialect smaller while it stays interesting: whole
// runs of layers, layers, observations, operations (their value becomes an
// operand, or rows of a small embedding), fusions, optional operands, sizes. The
// result is a whole program: its entry has what llm-verify-model asks for, so that it
// compiles and runs like any other.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_REDUCE_H
#define LLMC_LIB_PIPELINES_REDUCE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>

namespace llmc {

struct ReduceOptions {
  /// Whether a verified program still does what is looked for. It may not change the module.
  std::function<bool(mlir::ModuleOp)> isInteresting;
  /// No new attempt is begun after so many seconds.
  double seconds = 60;
};

struct ReduceResult {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Of the program, before and after, without weights and observations.
  int64_t opsBefore = 0, opsAfter = 0, attempts = 0;
  bool outOfTime = false;
};

/// `module` is interesting, and in a context without other threads.
ReduceResult reduceProgram(mlir::ModuleOp module, const ReduceOptions &options);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_REDUCE_H
