//===- LLMDialect.h - the llm dialect: types, attributes, ops ---*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMDIALECT_H
#define LLMC_DIALECT_LLM_IR_LLMDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace llmc::llm {

/// What kv_append writes and paged_attention reads.
struct CacheResource : mlir::SideEffects::Resource::Base<CacheResource> {
  llvm::StringRef getName() final { return "llm.cache"; }
};

/// What observe writes: it keeps the op alive, and nothing reads it.
struct ObservationResource : mlir::SideEffects::Resource::Base<ObservationResource> {
  llvm::StringRef getName() final { return "llm.observation"; }
};

} // namespace llmc::llm

#include "llmc/Dialect/LLM/IR/LLMDialect.h.inc"
#include "llmc/Dialect/LLM/IR/LLMEnums.h.inc"

namespace llmc::llm::detail {
struct RopeAttrStorage;
} // namespace llmc::llm::detail

#define GET_ATTRDEF_CLASSES
#include "llmc/Dialect/LLM/IR/LLMAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "llmc/Dialect/LLM/IR/LLMTypes.h.inc"

#define GET_OP_CLASSES
#include "llmc/Dialect/LLM/IR/LLMOps.h.inc"

#endif // LLMC_DIALECT_LLM_IR_LLMDIALECT_H
