//===- UserKernels.h - kernels that others compiled -------------*- C++ -*-===//
//
// A kernel of the user's own is a C function in a relocatable object (docs/Extending.md):
//
//   void f(void *const *args, int64_t begin, int64_t end, void *scratch, const double *facts)
//
// args, items and scratch are those of every kernel (llmc/Runtime/KernelABI.h): args[0] is the
// batch, then the rows and weights that the operation takes, then the rows that it gives. Rows
// are dense f32; a weight is dense f32, row by row. An item is one row. What it computes is the
// user's word; --check-passes compares it with the operation's definition.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_USERKERNELS_H
#define LLMC_KERNELS_CPU_USERKERNELS_H

#include "llmc/Kernels/CPU/Backend.h"

#include <string>
#include <vector>

namespace llmc::kernels {

struct UserKernelSpec {
  /// In the kernel library.
  std::string name;
  /// Path of the object, its hash in lower-case digits, and the function.
  std::string object, sha256, symbol;
  std::vector<double> facts;
  /// Bytes a thread.
  int64_t scratch = 0;
};

/// Reads an object and its hash; a message where it is no relocatable object for x86-64, does
/// not define the function, or needs symbols of others: kernels call no library.
std::string readUserObject(llvm::StringRef path, llvm::StringRef symbol, ObjectCode &object,
                           std::string &sha256);

/// Equal facts give equal names.
std::string userKernelName(const UserKernelSpec &spec);

/// Adds the kernel that calls the function with its facts, and remembers the object for
/// compileKernels. A message where the object is not the one of the spec.
std::string buildUserKernel(mlir::ModuleOp module, const UserKernelSpec &spec,
                            const CPUVariant &variant);

/// Whether a declaration is that of such a function.
bool isUserFunction(mlir::Operation *function);

/// Reads the objects that kernels of a module call; a message where one has changed.
std::string readUserObjects(mlir::ModuleOp module, std::vector<ObjectCode> &objects);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_USERKERNELS_H
