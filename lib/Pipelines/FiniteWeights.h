//===- FiniteWeights.h - no NaN among packed weights ------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_FINITEWEIGHTS_H
#define LLMC_LIB_PIPELINES_FINITEWEIGHTS_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/Checkpoint.h"

namespace llmc {

/// Looks at every value of the tensors that the program packs. What is NaN or infinite, one
/// line a tensor, in the order of the checkpoint. `threads` 0: all.
std::vector<std::string> findNonFiniteWeights(plan::ProgramOp program,
                                              const frontend::Checkpoint &checkpoint,
                                              unsigned threads);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_FINITEWEIGHTS_H
