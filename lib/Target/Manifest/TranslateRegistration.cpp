//===- TranslateRegistration.cpp - manifest translations ------------------===//

#include "llmc/Target/Manifest/Manifest.h"
#include "mlir/Tools/mlir-translate/Translation.h"

using namespace mlir;
using namespace llmc::plan;

/// The one program of what a file held.
static FailureOr<ProgramOp> getProgram(Operation *op) {
  if (auto program = dyn_cast<ProgramOp>(op))
    return program;
  SmallVector<ProgramOp> programs;
  if (auto module = dyn_cast<ModuleOp>(op))
    llvm::append_range(programs, module.getOps<ProgramOp>());
  if (programs.size() != 1)
    return op->emitError("expected one plan.program, got ") << programs.size();
  return programs.front();
}

void llmc::plan::registerManifestTranslations() {
  TranslateFromMLIRRegistration toManifest(
      "plan-to-manifest", "write the manifest of a plan.program",
      [](Operation *op, raw_ostream &os) -> LogicalResult {
        FailureOr<ProgramOp> program = getProgram(op);
        if (failed(program))
          return failure();
        FailureOr<std::string> manifest = exportManifest(*program);
        if (failed(manifest))
          return failure();
        os << *manifest;
        return success();
      },
      [](DialectRegistry &registry) { registry.insert<PlanDialect>(); });
  TranslateToMLIRRegistration toPlan(
      "manifest-to-plan", "read a manifest as a plan.program",
      [](StringRef json, MLIRContext *context) -> OwningOpRef<Operation *> {
        return importManifest(json, context);
      },
      [](DialectRegistry &registry) { registry.insert<PlanDialect>(); });
}
