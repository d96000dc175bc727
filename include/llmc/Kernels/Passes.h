//===- Passes.h - passes that write kernels ---------------------*- C++ -*-===//
#ifndef LLMC_KERNELS_PASSES_H
#define LLMC_KERNELS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc::kernels {

/// Name of the nested module that holds the kernels' code.
inline constexpr llvm::StringLiteral kernelsModuleName = "kernels";
/// Of a module after llmc-generate-kernels, or null.
mlir::ModuleOp findKernelsModule(mlir::ModuleOp module);

#define GEN_PASS_DECL
#include "llmc/Kernels/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmc/Kernels/Passes.h.inc"

inline void registerKernelPasses() { registerLLMCKernelsPasses(); }

} // namespace llmc::kernels

#endif // LLMC_KERNELS_PASSES_H
