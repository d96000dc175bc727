//===- UserKernelClaims.h - fusions that are kernels of the user's own -*- C++ -*-===//
#ifndef LLMC_KERNELS_USERKERNELCLAIMS_H
#define LLMC_KERNELS_USERKERNELCLAIMS_H

#include "llmc/Frontend/KernelLibrary.h"

#include "mlir/IR/Operation.h"

#include <string>

namespace llmc::kernels {

/// The pattern of such a fusion, and its attribute: `name`, `object`, `symbol`, `facts`,
/// `scratch`, and for every operand of the operation the number of the fusion's input.
inline constexpr llvm::StringLiteral userKernelPattern = "user-kernel", userKernelAttr = "kernel";

/// What a kernel library calls an operation: its name, or that of a composite.
std::string userOperation(mlir::Operation *op);

/// Why an operation can be no kernel of the user's own, whatever the library says; empty where
/// it can.
std::string whyNoUserKernel(mlir::Operation *op);

/// Why `kernel`, one of `kernels`, computes none of the operators; empty where it does one.
std::string whyIdle(const frontend::UserKernel &kernel,
                    llvm::ArrayRef<frontend::UserKernel> kernels,
                    llvm::ArrayRef<mlir::Operation *> operators);

/// A message where the kernel names a fact that its operation, called by `operators` if it is a
/// composite, cannot have; else empty.
std::string unknownFact(const frontend::UserKernel &kernel,
                        llvm::ArrayRef<mlir::Operation *> operators, mlir::MLIRContext &context);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_USERKERNELCLAIMS_H
