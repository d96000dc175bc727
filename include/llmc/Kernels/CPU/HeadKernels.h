//===- HeadKernels.h - products of heads with weights of their own -*- C++ -*-===//
//
// y[t][h] = x[t][h] W[h]^T: for each head the product of LinearKernels.h, with the same
// arithmetic. The weight of a head is packed by itself, one head after another.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_HEADKERNELS_H
#define LLMC_KERNELS_CPU_HEADKERNELS_H

#include "llmc/Kernels/CPU/LinearKernels.h"

namespace llmc::kernels {

/// Operands: x, weights, out. Head h of row t starts at t * input distance + inputOffset +
/// h * product.cols elements of x, and at t * output distance + h * product.rows of out.
struct HeadLinearSpec {
  int64_t heads = 0;
  /// Of one head; rows of tokens, no bias, gate, activation or residual.
  LinearSpec product;
  int64_t inputOffset = 0;

  /// Bytes of the weight of a head.
  int64_t headBytes() const;
};

/// What is wrong with a spec; empty when nothing is.
std::string checkHeadLinear(const HeadLinearSpec &spec);
std::string headLinearKernelName(const HeadLinearSpec &spec);
int64_t headLinearKernelScratch(const HeadLinearSpec &spec);
/// Work items for each block of linearTokenBlock rows.
int64_t headLinearKernelFactor(const HeadLinearSpec &spec);
int64_t headLinearKernelItems(const HeadLinearSpec &spec, const llmc_batch &batch);
void buildHeadLinearKernel(mlir::ModuleOp module, const HeadLinearSpec &spec,
                           const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_HEADKERNELS_H
