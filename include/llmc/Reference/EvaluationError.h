//===- EvaluationError.h - what stopped the reference evaluator -*- C++ -*-===//
#ifndef LLMC_REFERENCE_EVALUATIONERROR_H
#define LLMC_REFERENCE_EVALUATIONERROR_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace llmc::reference {

/// An error at an op, with the calls that led there.
class EvaluationError : public llvm::ErrorInfo<EvaluationError> {
public:
  static char ID;

  EvaluationError(mlir::Location location, std::string message)
      : location(location), message(std::move(message)) {}

  mlir::Location getLocation() const { return location; }
  llvm::StringRef getMessage() const { return message; }
  llvm::ArrayRef<std::string> getContext() const { return context; }
  /// Adds one more call, from the innermost outwards.
  void addContext(std::string text) { context.push_back(std::move(text)); }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

private:
  mlir::Location location;
  std::string message;
  std::vector<std::string> context;
};

/// An error that names `op`.
llvm::Error errorAt(mlir::Operation *op, const llvm::Twine &message);
/// Adds a call to an evaluation error; other errors become one at `op`.
llvm::Error addContext(llvm::Error error, mlir::Operation *op, const llvm::Twine &context);
/// Emits the error as a diagnostic at its op, or at `fallback` where it has none.
mlir::LogicalResult emitAsDiagnostic(llvm::Error error, mlir::Operation *fallback);

} // namespace llmc::reference

#endif // LLMC_REFERENCE_EVALUATIONERROR_H
