//===- LLMToLinalg.h - llm operations as loops over tensors -----*- C++ -*-===//
//
// The generic road: what has a form here can be computed by every target that
// takes linalg, without a kernel written for it. Each form follows the formula
// of the operation's documentation in f32, with one rounding for each + - * /
// and sqrt; sums start at zero and run in ascending index, as FMA chains where
// the formula multiplies and adds.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_CONVERSION_LLMTOLINALG_H
#define LLMC_CONVERSION_LLMTOLINALG_H

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"
#include "mlir/Transforms/DialectConversion.h"

#include <string>

namespace llmc {

/// Dense weights are tensors of their elements, a batch is the positions of its
/// tokens (`tensor<?xi32>`); all other types stay.
void addLLMToLinalgTypes(mlir::TypeConverter &types);

void populateLLMToLinalgPatterns(const mlir::TypeConverter &types,
                                 mlir::RewritePatternSet &patterns);

/// Why an operation has no form in linalg; empty where it has one. Every operation with
/// a form computes each row of its result from the same row of its operands.
std::string whyNotLinalg(mlir::Operation *op);

/// Converts every llm operation below `root` and the functions they are in. Where one
/// has no form, each such operation gets an error and nothing is changed.
mlir::LogicalResult convertLLMToLinalg(mlir::Operation *root);

/// The interfaces that bufferization of the converted code needs.
void registerLLMToLinalgInterfaces(mlir::DialectRegistry &registry);

} // namespace llmc

#endif // LLMC_CONVERSION_LLMTOLINALG_H
