//===- Decompose.h - operations made of simpler ones ------------*- C++ -*-===//
//
// What a target without a kernel for an operation can compute instead. Each
// composition has the operation's formula (docs/Reference/LLM.md) written in
// operations of the dialect; results may differ in the last bits.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_DECOMPOSE_H
#define LLMC_DIALECT_LLM_TRANSFORMS_DECOMPOSE_H

#include "mlir/IR/PatternMatch.h"

namespace llmc::llm {

/// Replaces `op` by simpler operations. Fails, and changes nothing, where none are known.
mlir::LogicalResult decompose(mlir::Operation *op, mlir::RewriterBase &rewriter);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_DECOMPOSE_H
