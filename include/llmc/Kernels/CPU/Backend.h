//===- Backend.h - from kernel functions to a shared object -----*- C++ -*-===//
//
// Generators add one llvm.func per kernel and CPU variant to a module, with
// bodies in the scf, arith, math, vector, index and llvm dialects (see
// KernelBuilder.h). This file takes such a module to machine code:
//
//   lowerKernels       everything to the LLVM dialect, then verified
//   emitObjects        LLVM IR and object code, in parallel
//   linkSharedObject   one shared object, linked in process
//
// The result depends on the module only: not on the number of threads, the
// host's CPU or the place of the temporary files.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_BACKEND_H
#define LLMC_KERNELS_CPU_BACKEND_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace llmc::kernels {

/// A CPU feature set that every kernel is compiled for.
struct CPUVariant {
  /// Name in the manifest: "avx512".
  llvm::StringLiteral name;
  /// What a symbol of this variant ends in.
  llvm::StringLiteral suffix;
  /// LLVM feature string; names every feature that kernels may use.
  llvm::StringLiteral features;
  /// CPU that LLVM schedules for; never adds instructions.
  llvm::StringLiteral tune;
  /// Feature names that a machine must report, as the manifest lists them.
  llvm::ArrayRef<llvm::StringLiteral> required;
  /// Width of the widest vector register.
  int vectorBits;
  /// Number of vector registers.
  int vectorRegisters;

  bool isAVX512() const { return vectorBits == 512; }
};

/// All variants in order of preference.
llvm::ArrayRef<CPUVariant> cpuVariants();
/// The variant of that name, or null.
const CPUVariant *findCPUVariant(llvm::StringRef name);
/// Whether this machine can run the variant.
bool hostSupports(const CPUVariant &variant);

/// Registers the dialects that generators use and their translation to LLVM IR.
void registerKernelDialects(mlir::DialectRegistry &registry);

/// `passthrough` attribute of functions with plain loops, which emitObjects vectorises.
inline constexpr llvm::StringLiteral vectorizeAttrName = "llmc-vectorize";

/// Lowers every llvm.func of `module` to the LLVM dialect. Transcendental
/// functions of the math dialect become polynomials. Fails, with a diagnostic at
/// the op, where another dialect, a call to a function without a body or an
/// intrinsic that code generation turns into a library call is left.
mlir::LogicalResult lowerKernels(mlir::ModuleOp module);

/// Whether kernels hold nothing but the llvm dialect, and no operation that needs a
/// library. Every other operation gets an error that names it and its kernel.
mlir::LogicalResult verifyKernels(mlir::ModuleOp module);

/// One relocatable object file.
using ObjectCode = llvm::SmallVector<char, 0>;

/// Compiles a lowered module to position independent objects, on the context's
/// threads. No fast-math, no calls to library functions.
mlir::LogicalResult emitObjects(mlir::ModuleOp module, std::vector<ObjectCode> &objects);

/// The text of the optimised LLVM IR of a lowered module.
mlir::FailureOr<std::string> emitLLVMText(mlir::ModuleOp module);
/// The assembly of a lowered module.
mlir::FailureOr<std::string> emitAssembly(mlir::ModuleOp module);

/// Links `objects` in this order into the shared object `path` (SONAME: its file
/// name). Undefined symbols are errors; `message` receives the linker's report.
mlir::LogicalResult linkSharedObject(llvm::ArrayRef<ObjectCode> objects, llvm::StringRef path,
                                     std::string &message);

/// lowerKernels, emitObjects and linkSharedObject; diagnostics at the module.
mlir::LogicalResult compileKernels(mlir::ModuleOp module, llvm::StringRef path);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_BACKEND_H
