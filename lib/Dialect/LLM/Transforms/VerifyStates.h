//===- VerifyStates.h - who appends to state, and who reads it --*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYSTATES_H
#define LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYSTATES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace llmc::llm {

/// The layers that each function runs for.
using LayerTable = llvm::MapVector<mlir::Operation *, llvm::SetVector<int64_t>>;

/// In a step each state is appended to once, and what reads it does so behind that: a kernel
/// appends in place, and a read before it would see of a prompt's own tokens those of earlier
/// steps only.
mlir::LogicalResult verifyStates(mlir::ModuleOp module, mlir::FunctionOpInterface entry,
                                 const LayerTable &layers);

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYSTATES_H
