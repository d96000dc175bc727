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
  // From llm on: what a generic kernel passes through.
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::scf::SCFDialect",
      "::mlir::vector::VectorDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
      "::llmc::llm::LLMDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect",
      "::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect",
      "::mlir::affine::AffineDialect"];
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

def VerifyKernelsPass : Pass<"llmc-verify-kernels", "::mlir::ModuleOp"> {
  let summary = "Checks that kernels are lowered and need no library";
  let description = [{
    Before and after: the nested module `@kernels`, as `llmc-lower-kernels` leaves it, which
    ends with this check. An operation of another dialect (`linalg` that no loop was made of),
    a call without a body and an intrinsic that becomes a library call are errors that name
    the operation and its kernel. Nothing changes.
  }];
}

def GenerateDeviceKernelsPass : Pass<"llmc-generate-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Adds the code of every device kernel of the plan";
  let description = [{
    Before: a module with a `plan.program` whose device kernels name a generator and its
    parameters. After: the nested module `@kernels` holds one `gpu.module` for each of
    them, with the target's chip and one kernel of the same name. Its parameters are the
    operands' addresses in order, then the token count. A kernel that the generator cannot
    write is an error at the plan.kernel.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect",
      "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
      "::mlir::LLVM::LLVMDialect"];
}

def LowerDeviceKernelsPass : Pass<"llmc-lower-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Takes device kernels to the LLVM and NVVM dialects, and proves that all of it went";
  let description = [{
    Before: the gpu.modules of `llmc-generate-device-kernels`. After: LLVM and NVVM
    dialects only, as `gpu-module-to-binary` takes them. An operation of another dialect is
    an error at the operation.
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect",
      "::mlir::cf::ControlFlowDialect", "::mlir::memref::MemRefDialect"];
}

def ClaimKernelsPass : Pass<"llmc-claim-kernels", "::mlir::ModuleOp"> {
  let summary = "Keep operations for kernels of the user's own";
  let description = [{
    Before: operations that a kernel library (`libraries`, docs/Extending.md) has a kernel
    for. After: each is one `llm.fusion "user-kernel"` with the kernel's name in its
    attribute `kernel`, its body the operation, or the function of a composite; other fusions leave it
    alone. Numbers: unchanged. A remark `user-kernel` says which kernel took an
    operation, or why none did.

    Example: test/Kernels/claim-kernels.mlir.
  }];
  let dependentDialects = ["::llmc::llm::LLMDialect"];
  let options = [
    ListOption<"libraries", "libraries", "std::string", "Files of kernel libraries.">,
    Option<"compositesOnly", "composites-only", "bool", "false",
           "Claim composites, and leave the rest to a later run.">,
    Option<"onlyKnown", "only-known", "bool", "true",
           "Refuse a library with a kernel for an operation that the program does not have.">];
}

#endif // LLMC_KERNELS_PASSES
