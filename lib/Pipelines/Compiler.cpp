//===- Compiler.cpp - from a model on disk to an artifact -----------------===//
#include "llmc/Pipelines/Compiler.h"

#include "Dumps.h"
#include "Package.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Frontend/ResolvedModel.h"
#include "llmc/InitAllDialects.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Target/Manifest/Manifest.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Remarks.h"
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

/// Where remarks go with --explain: one line each, in the order of decisions.
class ExplainStreamer final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit ExplainStreamer(llvm::raw_ostream &out) : out(out) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    out << remark.getMsg() << "\n";
  }

private:
  llvm::raw_ostream &out;
};

class Compilation {
public:
  Compilation(const CompileOptions &options, MLIRContext &context, llvm::raw_ostream &out)
      : options(options), context(context), out(out) {}

  LogicalResult run();

private:
  LogicalResult import();
  LogicalResult runPhase(Phase phase);
  /// Prints what --emit asks for once `phase` is done; true when that ends the work.
  FailureOr<bool> emit(Phase phase);
  LogicalResult package();

  const CompileOptions &options;
  MLIRContext &context;
  llvm::raw_ostream &out;
  ImportedModel model;
};

LogicalResult Compilation::import() {
  model = importModelFrom(options.model, options.descriptions, context);
  if (!model.module)
    return failure();
  if (model.resolved && options.weights == "packed" && options.emit.empty() &&
      options.to == Phase::Package) {
    try {
      model.resolved->requireWeights();
    } catch (const std::exception &error) {
      return emitError(UnknownLoc::get(&context)) << error.what();
    }
  }
  return success();
}

LogicalResult Compilation::runPhase(Phase phase) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(true);
  buildPhasePipeline(pm, phase, options.phase);
  return pm.run(*model.module);
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
    packageArtifact(*model.module, model.resolved.get(), options);
  } catch (const std::exception &error) {
    return emitError(UnknownLoc::get(&context)) << error.what();
  }
  return success();
}

LogicalResult Compilation::run() {
  if (failed(import()))
    return failure();
  for (const PhaseInfo &info : phases()) {
    if (info.phase < options.from)
      continue;
    if (failed(runPhase(info.phase)))
      return failure();
    if (failed(dumpPhase(options.dumpPhases, info.phase, *model.module)))
      return failure();
    auto done = emit(info.phase);
    if (failed(done))
      return failure();
    if (*done)
      return success();
  }
  return package();
}

} // namespace

int compileModel(const CompileOptions &options, llvm::raw_ostream &out) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  llvm::StdThreadPool pool(llvm::hardware_concurrency(options.threads));
  context.setThreadPool(pool);
  bool failedWithError = false;
  context.getDiagEngine().registerHandler([&](Diagnostic &diagnostic) {
    failedWithError |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
    printDiagnostic(diagnostic);
    return success();
  });
  if (options.explain) {
    remark::RemarkCategories categories{std::nullopt, ".*", ".*", ".*", ".*"};
    (void)remark::enableOptimizationRemarks(
        context, std::make_unique<ExplainStreamer>(llvm::errs()),
        std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  }
  LogicalResult result = Compilation(options, context, out).run();
  if (succeeded(result))
    return 0;
  if (failedWithError)
    return 1;
  llvm::errs() << "llmc-opt: internal error: a phase failed without saying why; please report "
                  "this with the model and the command line\n";
  return 3;
}

} // namespace llmc
