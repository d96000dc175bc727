//===- ModelContext.cpp - what every tool sets up to read a model ---------===//
#include "llmc/Pipelines/ModelContext.h"

#include "llmc/InitAllDialects.h"
#include "llmc/Pipelines/Plugins.h"
#include "llmc/Support/Printable.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace llmc {

std::unique_ptr<MLIRContext> makeModelContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerPluginDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  return context;
}

ErrorCollector::ErrorCollector(MLIRContext &context, bool printsRemarks)
    : ScopedDiagnosticHandler(&context) {
  setHandler([this, printsRemarks](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors.push_back(diagnostic.str());
    else if (printsRemarks && diagnostic.getSeverity() != DiagnosticSeverity::Note)
      llvm::errs() << "llmc: "
                   << (diagnostic.getSeverity() == DiagnosticSeverity::Remark ? "remark: "
                                                                              : "warning: ")
                   << printable(diagnostic.str()) << "\n";
    return success();
  });
}

std::string ErrorCollector::text() const { return llvm::join(errors, "\n"); }

std::optional<Phase> runPhases(ModuleOp module, Phase first, Phase last,
                               const PhaseOptions &options) {
  for (const PhaseInfo &info : phases()) {
    if (info.phase < first || info.phase > last)
      continue;
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    buildPhasePipeline(pm, info.phase, options);
    if (failed(pm.run(module)))
      return info.phase;
  }
  return std::nullopt;
}

} // namespace llmc
