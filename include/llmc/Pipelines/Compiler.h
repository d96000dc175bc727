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
  /// "", "llm", "plan", "llvm" or "manifest": print that and stop.
  std::string emit;
  /// "all", or "logits": what else is observed is forgotten, and no trace shows it.
  std::string observe = "all";
  /// First and last phase; by default all.
  Phase from = Phase::Import, to = Phase::Package;
  /// One numbered file a phase goes here.
  std::string dumpPhases;
  /// Print every decision with its reason.
  bool explain = false;
  /// Run the program before and after every pass on llm, import to optimize, and compare.
  bool checkPasses = false;
  /// Print the seconds of every phase.
  bool timing = false;
  /// 0: as many as the machine has.
  unsigned threads = 0;
};

/// A module and what it came from.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null for a model given as .mlir.
  std::shared_ptr<frontend::ResolvedModel> resolved;
};

/// share/llmc of the installation or build tree that this library lies in: models, targets.
std::string sharedFiles();

/// Runs the import phase on a folder, .gguf, description or .mlir. On failure a diagnostic
/// is on the context and the module is null.
ImportedModel importModelFrom(const std::string &path, const DescriptionOptions &options,
                              mlir::MLIRContext &context);

/// The exit code: 0, 1 the input is at fault, 3 internal. Messages go to stderr, printed
/// things to `out`. An artifact folder appears whole or not at all.
int compileModel(const CompileOptions &options, llvm::raw_ostream &out);

} // namespace llmc

#endif // LLMC_PIPELINES_COMPILER_H
