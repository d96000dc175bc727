//===- Backend.h - from gpu.modules to PTX ----------------------*- C++ -*-===//
//
// Generators add one gpu.module per kernel to the module of kernels.
//
//   lowerDeviceKernels   everything to the LLVM and NVVM dialects
//   emitDeviceCode       PTX, and machine code where ptxas is found
//
// Generators call no device library, so PTX needs no CUDA toolkit.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_NVPTX_BACKEND_H
#define LLMC_KERNELS_NVPTX_BACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace llmc::kernels::nvptx {

/// Registers what lowering and serialising needs of a context.
void registerDeviceDialects(mlir::DialectRegistry &registry);

/// Lowers every gpu.module inside `kernels`. Fails, with a diagnostic at the op,
/// where another dialect than LLVM or NVVM is left.
mlir::LogicalResult lowerDeviceKernels(mlir::ModuleOp kernels);

/// The code of one gpu.module.
struct DeviceCode {
  std::string name;
  std::string ptx;
  /// For the target's chip; empty where no ptxas is found.
  std::string cubin;
};

/// Serialises lowered modules with gpu-module-to-binary; `kernels` is unchanged.
/// A function that PTX calls and nothing defines is an error that names it.
mlir::LogicalResult emitDeviceCode(mlir::ModuleOp kernels, std::vector<DeviceCode> &code);

/// Functions that the PTX declares as external.
std::vector<std::string> findExternalFunctions(llvm::StringRef ptx);

} // namespace llmc::kernels::nvptx

#endif // LLMC_KERNELS_NVPTX_BACKEND_H
