//===- Compiler.h - from a model on disk to an artifact ---------*- C++ -*-===//
//
// The one compiler behind llmc-opt and `llmc compile`. Nothing here throws.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_COMPILER_H
#define LLMC_PIPELINES_COMPILER_H

#include "llmc/Frontend/DescriptionOptions.h"
#include "llmc/Pipelines/Phases.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <memory>

namespace llmc {

namespace frontend {
class ResolvedModel;
} // namespace frontend

struct CompileOptions {
  std::string model;
  /// Folder of the artifact; empty when something is only printed.
  std::string output;
  PhaseOptions phase;
  DescriptionOptions descriptions;
  /// Safetensors (folder or file) or GGUF with the weights of a model given as .mlir.
  std::string checkpoint;
  /// "packed": weights are packed into the artifact; "none": it has none.
  std::string weights = "packed";
  /// Pack weights that are NaN or infinite; recorded in the artifact.
  bool allowNonFinite = false;
  /// "all", or "logits": what else is observed is forgotten, and no trace shows it.
  std::string observe = "all";
  /// "", or what to print before stopping: "llm", "plan", "llvm", "manifest", "dot", "html" or
  /// "fusion-report".
  std::string emit;
  /// The fusion report as JSON.
  bool json = false;
  /// Positions before the token of the fusion report's decoding step.
  std::optional<int64_t> reportContext;
  /// First and last phase; by default all.
  Phase from = Phase::Import, to = Phase::Package;
  /// One numbered file a phase goes here.
  std::string dumpPhases;
  /// Print every decision with its reason.
  bool explain = false;
  /// Write the decisions there, as JSON (docs/Seeing.md).
  std::string explainFile;
  /// Run the program before and after every pass and compare.
  bool checkPasses = false;
  /// Sees the pass manager of every phase before it runs, to add an instrumentation. Of those
  /// of several the last added looks first behind a pass.
  std::function<void(mlir::PassManager &)> instrument = {};
  /// The flag that makes llmc-reduce add the same.
  std::string instrumentFlag;
  /// Where --check-passes finds a difference: folder for the smallest program that shows it.
  std::string reproducer;
  /// Print the seconds of every phase.
  bool timing = false;
  /// 0: as many as the machine has.
  unsigned threads = 0;
};

/// The phase whose result --emit prints. A picture of the plan is asked for by ending there.
inline Phase emittedPhase(const CompileOptions &options) {
  bool ofPlan = options.from == Phase::Plan || options.to == Phase::Plan;
  if (options.emit == "plan" || options.emit == "html" || (options.emit == "dot" && ofPlan))
    return Phase::Plan;
  if (options.emit == "llm" || options.emit == "dot")
    return std::min(options.to, Phase::Optimize);
  return options.emit == "fusion-report" ? Phase::Optimize : Phase::Kernels;
}

/// A module and what it came from.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null for a model given as .mlir.
  std::shared_ptr<frontend::ResolvedModel> resolved;
};

/// share/llmc of the installation or build tree that this library lies in: models, targets.
std::string sharedFiles();

/// What fusions are judged by on a target of llmc-opt: what the file of its name in
/// share/llmc/targets states, else what `target` has. Throws InputError for a file that is none.
FusionFigures fusionFiguresOf(const TargetInfo &target);

/// Sets target, device and figures of the phases: --target names a target of llmc-opt, or a file that
/// describes a chip and says what it compiles as. A message where it is neither; throws
/// InputError for a file that is none.
std::string chooseTarget(const std::string &nameOrFile, PhaseOptions &phase);

/// Runs the import phase on a folder, .gguf, description or .mlir. On failure a diagnostic
/// is on the context and the module is null.
ImportedModel importModelFrom(const std::string &path, const DescriptionOptions &options,
                              mlir::MLIRContext &context);

/// The exit code: 0, 1 the input is at fault, 3 internal. Messages go to stderr, printed
/// things to `out`. An artifact folder appears whole or not at all.
int compileModel(const CompileOptions &options, llvm::raw_ostream &out);

} // namespace llmc

#endif // LLMC_PIPELINES_COMPILER_H
