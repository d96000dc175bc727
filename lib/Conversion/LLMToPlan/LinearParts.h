//===- LinearParts.h - the operations around a unit's products --*- C++ -*-===//
#ifndef LLMC_LIB_CONVERSION_LLMTOPLAN_LINEARPARTS_H
#define LLMC_LIB_CONVERSION_LLMTOPLAN_LINEARPARTS_H

#include "Converter.h"

namespace llmc {

/// A unit with products: what makes the rows that they multiply, they, what is done to the
/// sums, and the addition of rows from outside to the last of it.
struct LinearParts {
  llvm::SmallVector<mlir::Operation *> before, products, behind;
  llm::ResidualAddOp residual;

  /// The products are computed side by side: their features alternate.
  bool isPaired() const { return products.size() == 2 && !behind.empty(); }
  /// What is stored, or added to the residual.
  mlir::Value value() const {
    return (behind.empty() ? products : behind).back()->getResult(0);
  }
  /// The value that is multiplied.
  mlir::Value input() const { return products.front()->getOperand(0); }
};

/// Fills `parts`, or says why one kernel does not compute the unit.
std::optional<Refusal> splitLinear(const Unit &unit, LinearParts &parts);

} // namespace llmc

#endif // LLMC_LIB_CONVERSION_LLMTOPLAN_LINEARPARTS_H
