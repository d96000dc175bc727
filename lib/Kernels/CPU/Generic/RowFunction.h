//===- RowFunction.h - an llm function on one row, as loops -----*- C++ -*-===//
#ifndef LLMC_LIB_KERNELS_CPU_GENERIC_ROWFUNCTION_H
#define LLMC_LIB_KERNELS_CPU_GENERIC_ROWFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace llmc::kernels {

/// A module with one function in the scf, arith, math and memref dialects and the
/// constants that it reads. Its arguments are the text's, then one memref for each result,
/// then the scratch.
struct RowFunction {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  /// Which argument is the token's entry of the batch, i32[1][2] of its position and its
  /// sequence's extent, and where in the scratch there is room for it; -1: none.
  int batch = -1;
  int64_t entry = 0;
  unsigned arguments = 0, results = 0;
  int64_t scratch = 0;
};

/// Parses the text and takes it to loops; a message where that cannot be done.
std::string makeRowFunction(mlir::MLIRContext *context, llvm::StringRef text, RowFunction &row);

/// Takes the loops' memory to the llvm dialect, with plain addresses for memrefs; scf, arith
/// and math stay.
mlir::LogicalResult lowerRowMemory(RowFunction &row);

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_GENERIC_ROWFUNCTION_H
