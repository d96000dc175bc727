//===- HeadKernels.h - matrices of heads and of tokens ----------*- C++ -*-===//
//
// *Products of heads* with weights of their own:
// y[t][h] = x[t][h] W[h]^T: for each head the product of LinearKernels.h, with the same
// arithmetic. The weight of a head is packed by itself, one head after another.
//
// *Sinkhorn*: a square matrix of each token, c[i][j], is divided so many times, columns first:
//
//   columns   c[i][j] = c[i][j] / ((sum over i ascending from 0 of c[i][j]) + epsilon)
//   rows      c[i][j] = c[i][j] / ((sum over j ascending from 0 of c[i][j]) + epsilon)
//   columns, then steps - 1 times rows and columns
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_HEADKERNELS_H
#define LLMC_KERNELS_CPU_HEADKERNELS_H

#include "llmc/Kernels/CPU/LinearKernels.h"
#include "llmc/Kernels/CPU/RecurrentKernels.h"

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

/// The widest matrix of sinkhorn.
inline constexpr int64_t mostSinkhorn = 64;

/// Operands: x (read) and out (write), rows of n * n elements; out may be x itself where the rows
/// are the same. Items: rows.
struct SinkhornSpec {
  int64_t n = 0;     ///< At most mostSinkhorn.
  int64_t steps = 0; ///< At least 1.
  float epsilon = 0;
  StepRows x, out;
};

/// What is wrong with a spec; empty when nothing is.
std::string checkSinkhorn(const SinkhornSpec &spec);
std::string sinkhornKernelName(const SinkhornSpec &spec);
void buildSinkhornKernel(mlir::ModuleOp module, const SinkhornSpec &spec,
                         const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_HEADKERNELS_H
