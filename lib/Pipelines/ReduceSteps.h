//===- ReduceSteps.h - ways to make a program smaller -----------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_REDUCESTEPS_H
#define LLMC_LIB_PIPELINES_REDUCESTEPS_H

#include "mlir/IR/BuiltinOps.h"

namespace llmc {

/// One way. `apply` changes the module at its place `number`, counted from 0 in an order of its
/// own, and says whether the place allowed it; `places` counts them.
struct ReduceStep {
  llvm::StringLiteral name;
  int64_t (*places)(mlir::ModuleOp module);
  bool (*apply)(mlir::ModuleOp module, int64_t number);
};

/// Those that take most away first.
llvm::ArrayRef<ReduceStep> reduceSteps();

/// Removes what nobody uses any more and numbers the layers anew.
void tidyProgram(mlir::ModuleOp module);

/// Operations that compute something.
int64_t countOps(mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_REDUCESTEPS_H
