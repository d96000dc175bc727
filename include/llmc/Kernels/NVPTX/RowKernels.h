//===- RowKernels.h - row programs on NVIDIA GPUs ---------------*- C++ -*-===//
//
// One block computes one row of a RowProgram (llmc/Kernels/CPU/RowKernels.h says
// what the operations mean); thread t has elements t, t + threads, … of it.
//
// Parameters: the operands' addresses, then the token count (i32). Shared memory
// is dynamic: the launch gives it, as the manifest states it.
//
// Arithmetic is the CPU's but for the order of a sum over the row, which the
// width alone decides here as well: every thread adds its elements in ascending
// order, starting from 0; lanes of a warp add up over distances 16, 8, 4, 2, 1;
// sums of warps are added in neighbouring pairs until one is left.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_NVPTX_ROWKERNELS_H
#define LLMC_KERNELS_NVPTX_ROWKERNELS_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include "llmc/Support/Target.h"

namespace llmc::kernels::nvptx {

/// Name in the registry.
inline constexpr llvm::StringLiteral rowGenerator = "nvptx.rows";

/// One row of the registry of kernels that NVIDIA GPUs have; see KernelGenerator.
struct DeviceGenerator {
  llvm::StringLiteral name, kind, serves;
};
llvm::ArrayRef<DeviceGenerator> deviceGenerators();

/// How a row kernel is started.
struct RowLaunch {
  int64_t threads, sharedBytes;
};
RowLaunch rowLaunch(const RowProgram &program, const TargetInfo &target);

/// Why there is no kernel for the program; empty where there is one.
std::string checkRowKernel(const RowProgram &program, const TargetInfo &target);

/// Adds a gpu.module of the kernel's name that holds the kernel. The program
/// passes checkRowKernel.
void buildRowKernel(mlir::ModuleOp kernels, mlir::Location loc, const RowProgram &program,
                    const TargetInfo &target);

} // namespace llmc::kernels::nvptx

#endif // LLMC_KERNELS_NVPTX_ROWKERNELS_H
