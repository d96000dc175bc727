//===- PlanRun.h - a plan's numbers on seeded inputs ------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PLANRUN_H
#define LLMC_LIB_PIPELINES_PLANRUN_H

#include "CompareRuns.h"
#include "PlanCopy.h"
#include "SeededSteps.h"
#include "llmc/Reference/WeightSource.h"

#include <memory>

namespace llmc {

/// Executes complete plans (completePlan) with the kernels that they have: an artifact in a
/// temporary folder, run by the runtime in a process of its own, so that a kernel that goes
/// astray is a message and no crash. Kernels and packed weights that do not change
/// from one plan to the next are made once.
class PlanRunner {
public:
  /// Null where the weights are to be seeded.
  PlanRunner(std::shared_ptr<const frontend::Checkpoint> checkpoint, unsigned threads);
  ~PlanRunner();

  /// Finds the weights that the program asks for. Without a checkpoint they are drawn
  /// (SeededWeights), in the formats of the program.
  llvm::Error prepare(mlir::ModuleOp program);
  /// Those weights for the evaluator: packing and this see the same numbers.
  std::shared_ptr<reference::WeightSource> weights() const;
  /// Why no plan for that target can be executed here; empty where it can. A vendor's target that
  /// compiles as the cpu can, until some kernel has code of the vendor's.
  static std::string refusal(plan::ProgramOp program);

  /// What an artifact states of the model and the llm program does not, with the remedy; empty
  /// where nothing is missing.
  static std::string missingFact(mlir::ModuleOp program);

  /// The plan is changed: kernels that this machine does not take go. Kernels of the
  /// user's own are called alone first (requireConfined).
  llvm::Expected<ProgramRun> run(PlanCopy &plan, llvm::ArrayRef<NamedStep> steps);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PLANRUN_H
