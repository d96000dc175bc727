//===- Composite.h - the definitions of composites --------------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_COMPOSITE_H
#define LLMC_DIALECT_LLM_TRANSFORMS_COMPOSITE_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/IR/Builders.h"

namespace llmc::llm {

/// The operations of a composite's definition, of `inputs`, at the builder's insertion point;
/// returns what they give. The composite, which must be valid, stays.
llvm::SmallVector<mlir::Value> cloneDefinition(CompositeOp composite, mlir::OpBuilder &builder,
                                               mlir::ValueRange inputs);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_COMPOSITE_H
