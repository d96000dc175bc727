//===- Storage.h - storages of weights by their usual names -----*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_IR_STORAGE_H
#define LLMC_DIALECT_LLM_IR_STORAGE_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"

namespace llmc::llm {

/// The storage attribute that the field calls `name` (f32, f16, bf16 and the block types
/// of GGUF files: q4_0, q6_k, iq4_nl ...), or null for a name that has none.
mlir::Attribute storageByName(mlir::MLIRContext *context, llvm::StringRef name);

/// The names that `storageByName` knows, for messages.
llvm::ArrayRef<llvm::StringRef> storageNames();

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_IR_STORAGE_H
