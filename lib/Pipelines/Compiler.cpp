//===- Compiler.cpp - from a model on disk to an artifact -----------------===//
#include "llmc/Pipelines/Compiler.h"

#include "ArtifactFolder.h"
#include "CheckPasses.h"
#include "Dumps.h"
#include "Package.h"
#include "PlanRun.h"
#include "Progress.h"
#include "Reproducer.h"
#include "SeededWeights.h"
#include "Seeing.h"
#include "WorkerTeam.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/ModelContext.h"
#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"
#include "llmc/Support/Target.h"
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
  llvm::errs() << "llmc-opt: " << severity << ": " << printable(diagnostic.str());
  if (!isa<UnknownLoc>(diagnostic.getLocation()))
    llvm::errs() << " (at " << diagnostic.getLocation() << ")";
  llvm::errs() << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    llvm::errs() << "  note: " << printable(note.str()) << "\n";
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
  Compilation(const CompileOptions &options, MLIRContext &context, Seeing &seeing,
              Progress &progress, llvm::raw_ostream &out)
      : options(options), context(context), seeing(seeing), progress(progress), out(out) {}

  LogicalResult run();
  /// Whether llmc and not the input is at fault.
  bool failedInternally() const { return internal; }

private:
  /// What --check-passes found, until the passes have ended.
  struct Found {
    QuietCopy program;
    Replay replay;
  };
  bool internal = false;
  LogicalResult import();
  void startPassChecks();
  /// Passes, dumps and what --emit asks for; true when the work ends here.
  FailureOr<bool> runPhase(Phase phase);
  /// The passes that show a difference which `pass` of `phase` made, for --pass-pipeline.
  std::string pipelineOf(Phase phase, Pass *pass);
  void writeReproducerOf(Found &found);
  LogicalResult runPasses(Phase phase);
  /// Prints what --emit asks for once `phase` is done; true when that ends the work.
  FailureOr<bool> emit(Phase phase);
  LogicalResult package();

  const CompileOptions &options;
  MLIRContext &context;
  Seeing &seeing;
  Progress &progress;
  llvm::raw_ostream &out;
  ImportedModel model;
  std::unique_ptr<PassChecker> checker;
  /// The checkpoint that passes are checked with, null: drawn weights.
  std::shared_ptr<const frontend::Checkpoint> checkedWeights;
  StepLimits limits;
  std::optional<Found> found;
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
  // What is written into an artifact comes from a program that says it.
  bool makesManifest =
      options.emit == "manifest" || (options.emit.empty() && options.to == Phase::Package);
  if (makesManifest && options.from <= Phase::Optimize)
    if (std::string missing = PlanRunner::missingFact(*model.module); !missing.empty())
      return emitError(UnknownLoc::get(&context)) << options.model << ": " << missing;
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

/// Steps that the plan has room for.
static StepLimits stepLimits(ModuleOp module, const DeploymentOptions &deployment) {
  int64_t context = deployment.maxContext;
  auto facts = module->getAttrOfType<DictionaryAttr>("llm.model");
  auto length = facts ? facts.getAs<IntegerAttr>("context_length") : IntegerAttr();
  if (!context && length)
    context = std::min<int64_t>(length.getInt(), 4096);
  return {deployment.maxTokens, deployment.maxOutputs, deployment.maxSequences,
          context > 0 ? context : INT64_MAX};
}

void Compilation::startPassChecks() {
  std::shared_ptr<reference::WeightSource> weights = std::make_shared<SeededWeights>();
  if (model.resolved && model.resolved->source->checkpoint) {
    auto checkpoint = model.resolved->source->checkpoint;
    uint64_t bytes = 0;
    for (const frontend::CheckpointTensor &tensor : checkpoint->tensors())
      bytes += tensor.byteSize;
    if (checkpoint->hasData() && bytes <= checkedCheckpointBytes) {
      weights = std::make_shared<reference::CheckpointWeights>(checkpoint);
      checkedWeights = checkpoint;
    }
  }
  PassCheckOptions check;
  check.threads = options.threads ? options.threads : context.getNumThreads();
  check.limits = limits = stepLimits(*model.module, options.phase.deployment);
  check.plans = std::make_shared<PlanRunner>(checkedWeights, check.threads);
  if (seeing.gathers())
    check.report = [this](StringRef pass, StringRef text) {
      seeing.add("check", pass, "-", text);
    };
  checker = std::make_unique<PassChecker>(std::move(weights), std::move(check));
}

std::string Compilation::pipelineOf(Phase phase, Pass *pass) {
  std::string text;
  llvm::raw_string_ostream out(text);
  if (phase < Phase::Plan) {
    bool nests = pass->getOpName() && *pass->getOpName() != ModuleOp::getOperationName();
    out << "builtin.module(" << (nests ? *pass->getOpName() + "(" : Twine());
    pass->printAsTextualPipeline(out);
    out << (nests ? "))" : ")");
    return text;
  }
  PassManager pm(&context, ModuleOp::getOperationName());
  buildPhasePipeline(pm, Phase::Plan, options.phase);
  if (phase == Phase::Kernels)
    buildPhasePipeline(pm, Phase::Kernels, options.phase);
  pm.printAsTextualPipeline(out);
  return text;
}

/// Seconds that a reproducer may take to become small.
constexpr double reproducerSeconds = 60;

void Compilation::writeReproducerOf(Found &found) {
  progress.clearLine();
  if (options.reproducer.empty()) {
    llvm::errs() << "llmc-opt: note: --reproducer=DIR writes the smallest program that shows it\n";
    return;
  }
  std::string told;
  std::string problem = writeReproducer(*found.program.module, std::move(found.replay),
                                        options.reproducer, reproducerSeconds, told);
  if (problem.empty())
    llvm::errs() << "llmc-opt: note: reproducer " << told << "\n";
  else
    llvm::errs() << "llmc-opt: error: no reproducer: " << problem << "\n";
}

LogicalResult Compilation::runPasses(Phase phase) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(true);
  buildPhasePipeline(pm, phase, options.phase);
  if (checker) {
    checker->onDifference = [this, phase](const PassDifference &, ModuleOp program, Pass *pass) {
      found = Found{quietCopy(program),
                    {pipelineOf(phase, pass), checkedWeights, limits,
                     options.threads ? options.threads : 1, options.instrument,
                     options.instrumentFlag}};
    };
    pm.addInstrumentation(checker->makeInstrumentation());
  }
  if (options.instrument)
    options.instrument(pm);
  if (!checker)
    return pm.run(*model.module);
  // A check evaluates the whole program: no pass may change another function meanwhile.
  context.disableMultithreading();
  LogicalResult result = pm.run(*model.module);
  context.enableMultithreading();
  if (found && found->program.module)
    writeReproducerOf(*found);
  return failure(failed(result) || checker->hasFailed());
}

FailureOr<bool> Compilation::runPhase(Phase phase) {
  if (failed(seeing.before(phase, *model.module)) || failed(runPasses(phase)))
    return failure();
  progress.clearLine();
  seeing.after(phase, *model.module);
  if (failed(dumpPhase(options.dumpPhases, phase, *model.module)))
    return failure();
  return emit(phase);
}

FailureOr<bool> Compilation::emit(Phase phase) {
  ModuleOp module = *model.module;
  auto seen = seeing.emit(phase, module, out);
  if (failed(seen) || *seen)
    return seen;
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
  if (checker) {
    progress.clearLine();
    llvm::errs() << "llmc-opt: note: --check-passes: " << checker->summary() << "\n";
  }
  return success();
}

} // namespace

int compileModel(const CompileOptions &options, llvm::raw_ostream &out) {
  try {
    if (!options.output.empty())
      checkArtifactFolder(options.output);
    if (!options.reproducer.empty())
      checkReproducerFolder(options.reproducer);
    requireThreads(options.threads);
  } catch (const std::exception &error) {
    llvm::errs() << "llmc-opt: error: " << printable(error.what()) << "\n";
    return 1;
  }
  Progress progress(/*line=*/true);
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
  Seeing seeing(options, context);
  Compilation compilation(options, context, seeing, progress, out);
  LogicalResult result = compilation.run();
  progress.clearLine();
  if (failed(seeing.finish(succeeded(result))))
    result = failure();
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
