//===- ModelContext.h - what every tool sets up to read a model -*- C++ -*-===//
#ifndef LLMC_PIPELINES_MODELCONTEXT_H
#define LLMC_PIPELINES_MODELCONTEXT_H

#include "llmc/Pipelines/Phases.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llmc {

/// All dialects registered, one thread, and messages that name an op and its place without
/// printing the IR.
std::unique_ptr<mlir::MLIRContext> makeModelContext();

/// Keeps the errors of a context while it lives. Remarks and warnings go to stderr as
/// "llmc: remark: ..." where `printsRemarks` says so, and nowhere otherwise.
class ErrorCollector : public mlir::ScopedDiagnosticHandler {
public:
  ErrorCollector(mlir::MLIRContext &context, bool printsRemarks);

  std::vector<std::string> errors;
  /// All of them, a line each; empty where there are none.
  std::string text() const;
};

/// Runs the phases from `first` to `last` on a module; the one that failed, or nothing.
std::optional<Phase> runPhases(mlir::ModuleOp module, Phase first, Phase last,
                               const PhaseOptions &options = {});

} // namespace llmc

#endif // LLMC_PIPELINES_MODELCONTEXT_H
