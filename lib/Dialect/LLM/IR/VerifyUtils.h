//===- VerifyUtils.h - checks that the op verifiers share -------*- C++ -*-===//
//
// Messages name the operand, the dimension and both values.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_DIALECT_LLM_IR_VERIFYUTILS_H
#define LLMC_LIB_DIALECT_LLM_IR_VERIFYUTILS_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

namespace llmc::llm {

/// A shape with the name that messages give it.
struct NamedShape {
  llvm::StringRef name;
  llvm::ArrayRef<int64_t> shape;

  NamedShape(llvm::StringRef name, mlir::Value value);
  NamedShape(llvm::StringRef name, llvm::ArrayRef<int64_t> shape) : name(name), shape(shape) {}
};

/// `op` fails unless `what` has `rank` dimensions.
mlir::LogicalResult verifyRank(mlir::Operation *op, NamedShape what, int64_t rank);

/// Dimension `i` of `a` must be dimension `j` of `b`; a dynamic dimension only
/// equals a dynamic one.
mlir::LogicalResult verifySameDim(mlir::Operation *op, NamedShape a, unsigned i, NamedShape b,
                                  unsigned j);

/// The number of rows: equal, or dynamic on either side.
mlir::LogicalResult verifySameRows(mlir::Operation *op, NamedShape a, NamedShape b);

/// `what` has one dimension, the last of `of`.
mlir::LogicalResult verifyPerChannel(mlir::Operation *op, NamedShape what, NamedShape of);

/// Scores of one query head with its weight each, over a cache with rows as wide as a query:
/// `result` holds the `top` best of them for every token.
mlir::LogicalResult verifySelection(mlir::Operation *op, NamedShape query, NamedShape weights,
                                    NamedShape cache, NamedShape result, int64_t top);

/// A finite number above zero.
mlir::LogicalResult verifyPositive(mlir::Operation *op, llvm::StringRef name,
                                   const llvm::APFloat &value);

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_IR_VERIFYUTILS_H
