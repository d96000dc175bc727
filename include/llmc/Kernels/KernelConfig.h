//===- KernelConfig.h - kernels as attributes, and their registry -*- C++ -*-===//
//
// The plan names a kernel's generator and holds its parameters as a dictionary
// (`plan.config` on plan.kernel), so that the kernels phase can be started from
// a file. The same table says what exists: docs/Reference/Kernels.md is made
// from it.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_KERNELCONFIG_H
#define LLMC_KERNELS_KERNELCONFIG_H

#include "llmc/Kernels/CPU/AttentionKernels.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "llmc/Kernels/CPU/GenericKernels.h"
#include "llmc/Kernels/CPU/HeadKernels.h"
#include "llmc/Kernels/CPU/LinearKernels.h"
#include "llmc/Kernels/CPU/RecurrentKernels.h"
#include "llmc/Kernels/CPU/RowKernels.h"
#include "llmc/Kernels/CPU/UserKernels.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <functional>
#include <string>

namespace llmc::kernels {

/// A kernel that a plan can name: equal parameters give equal symbols.
struct KernelChoice {
  std::string symbol;
  /// Name in the registry.
  llvm::StringRef generator;
  mlir::DictionaryAttr config;
  /// Bytes a thread.
  int64_t scratch = 0;
  /// What token ids and positions must stay below, where they choose rows of a table.
  int64_t tokensBelow = 0, positionsBelow = 0;
};

KernelChoice describeKernel(mlir::MLIRContext *context, const LinearSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const RouteSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const RouterSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const ExpertLinearSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const ExpertCombineSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const EmbeddingSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const RowProgram &program);
KernelChoice describeKernel(mlir::MLIRContext *context, const PrologueSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const AttentionSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const SelectSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const HeadLinearSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const ConvSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const PoolSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const SinkhornSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const LinearAttentionSpec &spec);
KernelChoice describeKernel(mlir::MLIRContext *context, const UserKernelSpec &spec);
/// Of a spec that planGeneric has accepted.
KernelChoice describeKernel(mlir::MLIRContext *context, const GenericSpec &spec);

/// The row program that describeKernel wrote; a message where the parameters are none.
std::string readRowProgram(mlir::DictionaryAttr config, std::optional<RowProgram> &program);

/// One row of the registry.
struct KernelGenerator {
  llvm::StringLiteral name;
  /// "tuned", "generic": runs everything, nothing is tuned for it, or "user".
  llvm::StringLiteral kind;
  /// Operations of the llm dialect that it computes, and on what.
  llvm::StringLiteral serves;
  /// Adds the kernel for one variant; a message where the parameters are not its own.
  std::function<std::string(mlir::ModuleOp, mlir::DictionaryAttr, const CPUVariant &)> build;
};

llvm::ArrayRef<KernelGenerator> cpuGenerators();
const KernelGenerator *findGenerator(llvm::StringRef name);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_KERNELCONFIG_H
