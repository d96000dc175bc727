//===- EvaluationError.cpp - what stopped the reference evaluator ---------===//
#include "llmc/Reference/EvaluationError.h"

#include "mlir/IR/Diagnostics.h"

using namespace llmc::reference;

char EvaluationError::ID = 0;

void EvaluationError::log(llvm::raw_ostream &os) const {
  // "loc(…)" is how the assembly spells it; a message reads better without.
  std::string text;
  llvm::raw_string_ostream(text) << location;
  llvm::StringRef spelled(text);
  if (spelled.consume_front("loc("))
    spelled.consume_back(")");
  os << spelled << ": " << message;
  for (const std::string &call : context)
    os << ", " << call;
}

llvm::Error llmc::reference::errorAt(mlir::Operation *op, const llvm::Twine &message) {
  return llvm::make_error<EvaluationError>(
      op->getLoc(), ("'" + op->getName().getStringRef() + "' " + message).str());
}

llvm::Error llmc::reference::addContext(llvm::Error error, mlir::Operation *op,
                                        const llvm::Twine &context) {
  llvm::Error located = llvm::Error::success();
  llvm::handleAllErrors(
      std::move(error),
      [&](std::unique_ptr<EvaluationError> inner) {
        located = llvm::joinErrors(std::move(located), llvm::Error(std::move(inner)));
      },
      [&](const llvm::ErrorInfoBase &inner) {
        located = llvm::joinErrors(std::move(located), errorAt(op, inner.message()));
      });
  return llvm::handleErrors(std::move(located), [&](std::unique_ptr<EvaluationError> inner) {
    if (!context.isTriviallyEmpty())
      inner->addContext(context.str());
    return llvm::Error(std::move(inner));
  });
}

mlir::LogicalResult llmc::reference::emitAsDiagnostic(llvm::Error error,
                                                      mlir::Operation *fallback) {
  llvm::handleAllErrors(
      std::move(error),
      [](const EvaluationError &inner) {
        mlir::InFlightDiagnostic diagnostic = mlir::emitError(inner.getLocation())
                                              << inner.getMessage();
        for (const std::string &call : inner.getContext())
          diagnostic << ", " << call;
      },
      [&](const llvm::ErrorInfoBase &inner) { fallback->emitError(inner.message()); });
  return mlir::failure();
}
