//===- PlanExecution.h - steps of an artifact in another process -*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PLANEXECUTION_H
#define LLMC_LIB_PIPELINES_PLANEXECUTION_H

#include "CompareRuns.h"
#include "SeededSteps.h"

#include <filesystem>
#include <string>
#include <vector>

namespace llmc {

/// Runs the steps in a process of its own: memory starts as NaN and blocks of the state are
/// mixed, so that what nobody wrote and what lies elsewhere than expected are seen. What the
/// program observes, and the logits as "the entry's result". Throws InputError where
/// the runtime refuses, where the process dies, and where it takes over a minute.
ProgramRun executeArtifact(const std::filesystem::path &artifact,
                           llvm::ArrayRef<NamedStep> steps, unsigned threads);

/// A kernel that others wrote, of items that are rows.
struct LoneKernel {
  struct Operand {
    /// Of a row, or of the whole where it has none.
    int64_t bytes = 0;
    bool hasRows = false, isWritten = false;
  };
  std::string symbol;
  int64_t scratch = 0;
  std::vector<Operand> operands;
};

/// Calls the kernel on drawn numbers, in a process of its own: row by row without the others, all
/// rows at once, and cut at odd places. Throws InputError where the bits depend on the cuts, and where it
/// changes anything but the rows of its items: other rows, what it only reads, or memory
/// around its operands and behind its scratch.
void requireConfined(const std::filesystem::path &kernels, const LoneKernel &kernel);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PLANEXECUTION_H
