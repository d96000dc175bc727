//===- Phases.h - the phases of a compilation -------------------*- C++ -*-===//
//
// From a model to an artifact in seven named steps. Each is one registered
// pipeline that ends in a verify pass, and can be started from and stopped at.
// The same names appear in flags, dumps, reports and docs/Pipeline.md.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_PHASES_H
#define LLMC_PIPELINES_PHASES_H

#include "llmc/Support/Target.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>
#include <vector>

namespace llmc {

enum class Phase { Import, Normalize, Partition, Optimize, Plan, Kernels, Package };

struct PhaseInfo {
  Phase phase;
  llvm::StringLiteral name;
  /// What holds after the phase, one sentence.
  llvm::StringLiteral contract;
};

llvm::ArrayRef<PhaseInfo> phases();
std::optional<Phase> phaseNamed(llvm::StringRef name);
llvm::StringRef phaseName(Phase phase);

/// What the deployment fixes; sizes of the plan follow from it.
struct DeploymentOptions {
  /// Rows of one step: prompts are cut into chunks of at most so many tokens.
  int64_t maxTokens = 512;
  /// Rows of one step whose logits are wanted; logits are wide.
  int64_t maxOutputs = 64;
  int64_t maxSequences = 8;
  /// Positions of one sequence; 0: the model's context length, at most 4096.
  int64_t maxContext = 0;
  /// Positions of one state block.
  int64_t blockTokens = 32;
  /// Blocks that a session allocates unless it is told otherwise; 0: one sequence of
  /// `maxContext` positions.
  int64_t blocks = 0;
};

/// A pipeline at one end of a phase, as text that parsePhasePass has accepted.
struct PhasePass {
  Phase phase = Phase::Import;
  bool atEnd = false;
  std::string pipeline;
};

struct PhaseOptions {
  std::string target = "cpu";
  bool fusion = true;
  /// What fusions are judged by; absent: what `target` has without a file.
  std::optional<FusionFigures> figures;
  /// Names of fusions that are not made.
  std::vector<std::string> disabledFusions;
  /// Names of fusions that may keep a value wider than the type that it is rounded to.
  std::vector<std::string> fusionsAcrossRounding;
  /// Names of simplifications that are not made.
  std::vector<std::string> disabledSimplifications;
  /// Also fold factors where sums round otherwise than before; recorded in the artifact.
  bool foldScales = false;
  /// Kernels to prefer: tuned, or generic.
  std::string generators = "tuned";
  DeploymentOptions deployment;
  /// Off: composites of op libraries stay, so that a report can name them.
  bool expandComposites = true;
  /// Files of kernel libraries (docs/Extending.md).
  std::vector<std::string> kernelLibraries;
  /// Device of a vendor that runs what is made for the target; empty: the target.
  std::string device;
  /// Passes of the user's own.
  std::vector<PhasePass> passes;
};

/// Reads "PHASE:PIPELINE" (before the phase's own passes) or "PHASE-end:PIPELINE" (behind them);
/// the pipeline is MLIR's text for passes on a module. A message where it is neither, or where a
/// pass is not known.
std::string parsePhasePass(llvm::StringRef text, PhasePass &pass);

/// Adds the passes of one phase (import and package have only their verify pass: they read
/// and write files, see Compiler.h).
void buildPhasePipeline(mlir::OpPassManager &pm, Phase phase, const PhaseOptions &options);

/// Empty when `name` is a fusion; else the known names, for a message.
std::string unknownFusion(llvm::StringRef name);

/// Empty when `name` is a simplification; else the known names, for a message.
std::string unknownSimplification(llvm::StringRef name);

/// Registers `llmc-<phase>-pipeline` for every phase.
void registerPhasePipelines();

} // namespace llmc

#endif // LLMC_PIPELINES_PHASES_H
