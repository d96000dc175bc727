//===- Passes.td - passes that write kernels --------------*- tablegen -*-===//
#ifndef LLMC_KERNELS_PASSES
#define LLMC_KERNELS_PASSES

include "mlir/Pass/PassBase.td"

def GenerateKernelsPass : Pass<"llmc-generate-kernels", "::mlir::ModuleOp"> {
  let summary = "Adds the code of every kernel of the plan, for every CPU variant";
  let description = [{
    Before: a module with one `plan.program` whose kernels name a generator and its
    parameters. After: the program has its variants, and a nested module `@kernels` holds
    one `llvm.func` for each kernel and variant, in the scf, vector, arith and llvm
    dialects. Neither sizes nor layouts change. A kernel whose generator or parameters are
    not known is an error at the plan.kernel.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
      "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def LowerKernelsPass : Pass<"llmc-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "Takes the kernels' code to the LLVM dialect, and proves that all of it went";
  let description = [{
    Before: the nested module `@kernels` of `llmc-generate-kernels`. After: LLVM dialect
    only. An operation of another dialect, a call without a body, or an intrinsic that
    becomes a library call is an error at the operation; so is any leftover `linalg`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect",
      "::mlir::ub::UBDialect"];
}

#endif // LLMC_KERNELS_PASSES
