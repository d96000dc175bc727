//===- PlanExecution.h - steps of an artifact in another process -*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PLANEXECUTION_H
#define LLMC_LIB_PIPELINES_PLANEXECUTION_H

#include "CompareRuns.h"
#include "SeededSteps.h"

#include <filesystem>

namespace llmc {

/// Runs the steps in a process of its own: memory starts as NaN and blocks of the state are
/// mixed, so that what nobody wrote and what lies elsewhere than expected are seen. What the
/// program observes, and the logits as "the entry's result". Throws InputError where
/// the runtime refuses, where the process dies, and where it takes over a minute.
ProgramRun executeArtifact(const std::filesystem::path &artifact,
                           llvm::ArrayRef<NamedStep> steps, unsigned threads);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PLANEXECUTION_H
