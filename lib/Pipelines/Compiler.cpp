//===- Compiler.cpp - from a model on disk to an artifact -----------------===//
#include "llmc/Pipelines/Compiler.h"

#include "ArtifactFolder.h"
#include "CheckPasses.h"
#include "Dumps.h"
#include "Explain.h"
#include "Package.h"
#include "Progress.h"
#include "SeededWeights.h"
#include "WorkerTeam.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Target.h"
#include "llmc/Support/Error.h"
#include "llmc/Target/Manifest/Manifest.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/ThreadPool.h"

using namespace mlir;

namespace llmc {

namespace {

/// Prints a diagnostic as one line "llmc-opt: error: text (at LOCATION)", notes below.
void printDiagnostic(Diagnostic &diagnostic) {
  StringRef severity = diagnostic.getSeverity() == DiagnosticSeverity::Error     ? "error"
                       : diagnostic.getSeverity() == DiagnosticSeverity::Warning ? "warning"
                       : diagnostic.getSeverity() == DiagnosticSeverity::Remark  ? "remark"
                                                                                 : "note";
  llvm::errs() << "llmc-opt: " << severity << ": " << diagnostic.str();
  if (!isa<UnknownLoc>(diagnostic.getLocation()))
    llvm::errs() << " (at " << diagnostic.getLocation() << ")";
  llvm::errs() << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "  note: " << note.str() << "\n";
}

/// Whether all that was printed has arrived; says so where it has not.
bool wasWritten(llvm::raw_ostream &out) {
  out.flush();
  llvm::raw_fd_ostream &standard = llvm::outs();
  if (&out != &standard || !standard.has_error())
    return true;
  standard.clear_error();
  llvm::errs() << "llmc-opt: error: standard output: writing failed; is the disk full?\n";
  return false;
}

/// Checkpoints above this are not read to check passes: seeded values tell as much, sooner.
constexpr uint64_t checkedCheckpointBytes = uint64_t(64) << 20;

class Compilation {
public:
  /// `explanation` is null without --explain.
  Compilation(const CompileOptions &options, MLIRContext &context, Explanation *explanation,
              Progress &progress, llvm::raw_ostream &out)
      : options(options), context(context), explanation(explanation), progress(progress),
        out(out) {}

  LogicalResult run();
  /// Whether llmc and not the input is at fault.
  bool failedInternally() const { return internal; }

private:
  bool internal = false;
  LogicalResult import();
  void startPassChecks();
  /// Passes, dumps and what --emit asks for; true when the work ends here.
  FailureOr<bool> runPhase(Phase phase);
  LogicalResult runPasses(Phase phase);
  /// Prints what --emit asks for once `phase` is done; true when that ends the work.
  FailureOr<bool> emit(Phase phase);
  LogicalResult package();

  const CompileOptions &options;
  MLIRContext &context;
  Explanation *explanation;
  Progress &progress;
  llvm::raw_ostream &out;
  ImportedModel model;
  std::unique_ptr<PassChecker> checker;
};

/// Only the logits are seen from outside.
static void observeLogitsAlone(ModuleOp module) {
  module.walk([](llm::ObserveOp observe) {
    if (observe.getName() != "logits")
      observe.erase();
  });
}

LogicalResult Compilation::import() {
  model = importModelFrom(options.model, options.descriptions, context);
  if (!model.module)
    return failure();
  if (options.observe == "logits")
    observeLogitsAlone(*model.module);
  bool packs = options.weights == "packed" && options.emit.empty() && options.to == Phase::Package;
  if (packs && !model.resolved && options.checkpoint.empty())
    return emitError(UnknownLoc::get(&context))
           << options.model << ": has no weights to pack; compile with --weights=none, or name "
           << "them with --checkpoint";
  if (packs && model.resolved) {
    try {
      model.resolved->requireWeights();
    } catch (const std::exception &error) {
      return emitError(UnknownLoc::get(&context)) << error.what();
    }
  }
  return success();
}

void Compilation::startPassChecks() {
  std::shared_ptr<reference::WeightSource> weights = std::make_shared<SeededWeights>();
  if (model.resolved && model.resolved->source->checkpoint) {
    auto checkpoint = model.resolved->source->checkpoint;
    uint64_t bytes = 0;
    for (const frontend::CheckpointTensor &tensor : checkpoint->tensors())
      bytes += tensor.byteSize;
    if (checkpoint->hasData() && bytes <= checkedCheckpointBytes)
      weights = std::make_shared<reference::CheckpointWeights>(checkpoint);
  }
  PassCheckOptions check;
  check.threads = options.threads ? options.threads : context.getNumThreads();
  if (explanation)
    check.report = [this](StringRef pass, StringRef text) {
      explanation->add("check", pass, "-", text);
    };
  checker = std::make_unique<PassChecker>(std::move(weights), std::move(check));
}

LogicalResult Compilation::runPasses(Phase phase) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(true);
  buildPhasePipeline(pm, phase, options.phase);
  if (!checker || phase > Phase::Optimize)
    return pm.run(*model.module);
  // A check evaluates the whole program: no pass may change another function meanwhile.
  pm.addInstrumentation(checker->makeInstrumentation());
  context.disableMultithreading();
  LogicalResult result = pm.run(*model.module);
  context.enableMultithreading();
  return failure(failed(result) || checker->hasFailed());
}

FailureOr<bool> Compilation::runPhase(Phase phase) {
  if (failed(runPasses(phase)))
    return failure();
  if (explanation) {
    progress.clearLine();
    explanation->endPhase(phase, *model.module);
  }
  if (failed(dumpPhase(options.dumpPhases, phase, *model.module)))
    return failure();
  return emit(phase);
}

FailureOr<bool> Compilation::emit(Phase phase) {
  ModuleOp module = *model.module;
  if (options.emit == "llm" && (phase == Phase::Optimize || phase == options.to)) {
    module.print(out);
    out << "\n";
    return true;
  }
  auto programs = llvm::to_vector(module.getOps<plan::ProgramOp>());
  if (options.emit == "plan" && phase == Phase::Plan) {
    module.print(out);
    out << "\n";
    return true;
  }
  if (options.emit == "manifest" && phase == Phase::Kernels && !programs.empty()) {
    auto text = plan::exportManifest(programs.front());
    if (failed(text))
      return failure();
    out << *text;
    return true;
  }
  if (options.emit == "llvm" && phase == Phase::Kernels) {
    ModuleOp kernels = kernels::findKernelsModule(module);
    if (findTarget(options.phase.target)->isGPU()) {
      if (failed(kernels::nvptx::lowerDeviceKernels(kernels)))
        return failure();
      kernels.print(out);
      out << "\n";
      return true;
    }
    if (failed(kernels::lowerKernels(kernels)))
      return failure();
    auto text = kernels::emitLLVMText(kernels);
    if (failed(text))
      return failure();
    out << *text;
    return true;
  }
  return phase == options.to && phase != Phase::Package;
}

LogicalResult Compilation::package() {
  try {
    packageArtifact(*model.module, model.resolved.get(), options, progress);
  } catch (const InputError &error) {
    return emitError(UnknownLoc::get(&context)) << error.what();
  } catch (const std::exception &error) {
    internal = true;
    return emitError(UnknownLoc::get(&context))
           << "internal error: " << error.what()
           << "; please report this with the model and the command line";
  }
  return success();
}

LogicalResult Compilation::run() {
  for (const PhaseInfo &info : phases()) {
    if (info.phase < options.from)
      continue;
    progress.begin(info.name);
    // Reading the model belongs to the first phase, whichever that is.
    if (!model.module) {
      if (failed(import()))
        return failure();
      if (options.checkPasses)
        startPassChecks();
    }
    auto done = runPhase(info.phase);
    if (failed(done))
      return failure();
    if (!*done && info.phase == Phase::Package && failed(package()))
      return failure();
    progress.end();
    if (*done)
      break;
  }
  return success();
}

} // namespace

int compileModel(const CompileOptions &options, llvm::raw_ostream &out) {
  try {
    if (!options.output.empty())
      checkArtifactFolder(options.output);
    requireThreads(options.threads);
  } catch (const std::exception &error) {
    llvm::errs() << "llmc-opt: error: " << error.what() << "\n";
    return 1;
  }
  Progress progress(/*line=*/true);
  Explanation explanation(llvm::errs());
  llvm::StdThreadPool pool(llvm::hardware_concurrency(options.threads));
  std::unique_ptr<MLIRContext> owned = makeModelContext();
  MLIRContext &context = *owned;
  context.setThreadPool(pool);
  bool failedWithError = false;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    failedWithError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    progress.clearLine();
    printDiagnostic(diagnostic);
    return success();
  });
  if (options.explain)
    explanation.attachTo(context);
  Compilation compilation(options, context, options.explain ? &explanation : nullptr, progress, out);
  LogicalResult result = compilation.run();
  progress.clearLine();
  if (options.explain)
    explanation.printTotals();
  if (options.timing)
    progress.printTiming(llvm::errs());
  bool written = wasWritten(out);
  if (succeeded(result))
    return written ? 0 : 1;
  if (failedWithError)
    return compilation.failedInternally() ? 3 : 1;
  llvm::errs() << "llmc-opt: internal error: a phase failed without saying why; please report "
                  "this with the model and the command line\n";
  return 3;
}

} // namespace llmc
