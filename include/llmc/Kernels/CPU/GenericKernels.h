//===- GenericKernels.h - kernels of functions on one row -------*- C++ -*-===//
//
// A generic kernel computes an llm function on one row of tokens, by whatever
// form its operations have in linalg: it runs all such operations, and nothing
// is tuned for it. Plain loops, one row an item, so that the arithmetic is that
// of convert-llm-to-linalg for any number of tokens and threads. Transcendental
// functions are those of Polynomials.h.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_GENERICKERNELS_H
#define LLMC_KERNELS_CPU_GENERICKERNELS_H

#include "llmc/Kernels/CPU/RowKernels.h"

#include <string>
#include <vector>

namespace llmc::kernels {

struct GenericSpec {
  /// What is computed, as part of the symbol.
  std::string name;
  /// Text of one `func.func` of llm operations. Arguments are rows `tensor<1x…>`, dense
  /// weights and at most one `!llm.batch`; results are rows.
  std::string function;
  /// Where the arguments lie, the batch left out, and the results: dense rows of their
  /// types. Weights are constant operands. A result overlaps no argument.
  std::vector<RowOperand> inputs, outputs;
  /// Bytes a thread, set by `planGeneric`.
  int64_t scratch = 0;
};

/// Sets the scratch that the function needs for its intermediate rows; a message where no
/// kernel can be made of it.
std::string planGeneric(mlir::MLIRContext *context, GenericSpec &spec);
/// Kernel name; equal specs have equal names, different ones different names.
std::string genericKernelName(const GenericSpec &spec);
/// Adds the kernel for one variant; a message where the spec is at fault.
std::string buildGenericKernel(mlir::ModuleOp module, const GenericSpec &spec,
                               const CPUVariant &variant);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_GENERICKERNELS_H
