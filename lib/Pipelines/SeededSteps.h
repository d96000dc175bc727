//===- SeededSteps.h - the steps that a program is tried with ---*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_SEEDEDSTEPS_H
#define LLMC_LIB_PIPELINES_SEEDEDSTEPS_H

#include "llmc/Reference/Evaluator.h"

namespace llmc {

/// What a deployment allows, see DeploymentOptions.
struct StepLimits {
  int64_t tokens = INT64_MAX, outputs = INT64_MAX, sequences = INT64_MAX, context = INT64_MAX;
};

/// One call of the entry, "prefill" or "decode".
struct NamedStep {
  llvm::StringRef name;
  reference::Step step;
};

/// How much of a program is tried: `Few` tokens that still make a ragged step; `Usual`; `Many`, so
/// that a prompt is longer than the windows of its attention and than a block of the state.
enum class StepSize { Few, Usual, Many };

/// Two prompts of unequal length in one step, so that rows, positions and sequences all
/// differ; then a token of each, which reads what the prompts left in the state. One prompt where
/// the limits allow no more. Tokens have a row in every embedding of the program.
llvm::SmallVector<NamedStep> seededSteps(mlir::ModuleOp module, StepSize size,
                                         const StepLimits &limits = {});

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_SEEDEDSTEPS_H
