//===- Passes.td - conversions between dialects -----------*- tablegen -*-===//
#ifndef LLMC_CONVERSION_PASSES
#define LLMC_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertLLMToLinalgPass : Pass<"convert-llm-to-linalg", "::mlir::ModuleOp"> {
  let summary = "From llm operations on rows to linalg on tensors";
  let description = [{
    Before: functions of llm operations; weights are arguments with dense storage. After:
    linalg, tensor, arith and math operations on tensors; a weight is the tensor of its
    elements, a batch the positions of its tokens. Arithmetic is f32 in the order of each
    operation's formula, sums ascending.

    An operation without such a form (state, attention, embedding, fusions, quantised
    weights) gets an error that names it, and the pass fails.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
      "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def ConvertLLMToPlanPass : Pass<"convert-llm-to-plan", "::mlir::ModuleOp"> {
  let summary = "From the model to arenas, slices and launches";
  let description = [{
    Before: an llm module with one function marked `llm.entry`, fused or not. After: one
    `plan.program` in its place; every value is a slice (computing in place where the value
    dies there), every operation or fusion a launch of a kernel chosen by the registry with
    its scratch known, every weight a packed family with its layout, every repeat a
    `plan.repeat`. Slices have no lifetimes and offsets yet (`plan-assign-liveness`,
    `plan-pack-arenas`). Numbers: unchanged.

    `target` decides which kernels there are. In a module with a `shard.grid` of one axis
    the types are those of one rank's part: `shard.all_reduce` becomes a collective in
    place, and a weight family with `shard.grid` and `shard.split_axes` is divided along that
    dimension. Rows that the entry takes as arguments lie in an arena of communication.

    An operation that no kernel computes ends the pass with an error at it.
    A remark `launch` (passed) names each launch's generator and why it was chosen; where no
    tuned kernel computes a unit, the generic generator takes it if its operations have a form
    in linalg, and a remark `tuned-kernel` (missed) says why. `generators=generic` takes the
    generic one wherever it can be taken.
  }];
  let dependentDialects = ["::llmc::plan::PlanDialect", "::mlir::affine::AffineDialect",
      "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
      "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
      "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "Decides the kernels; the device written into the program where `device` is empty.">,
    Option<"device", "device", "std::string", "\"\"",
           "Device of a vendor that runs what is made for the target.">,
    Option<"generators", "generators", "std::string", "\"tuned\"",
           "Kernels to prefer: tuned, or generic.">,
    Option<"maxTokens", "max-tokens", "int64_t", "512", "Rows of the largest step.">,
    Option<"maxOutputs", "max-outputs", "int64_t", "64",
           "Rows of the largest step whose logits are wanted.">,
    Option<"maxSequences", "max-sequences", "int64_t", "8", "Sequences of the largest step.">,
    Option<"maxContext", "max-context", "int64_t", "0",
           "Positions of the longest sequence; 0: the model's, at most 4096.">,
    Option<"blockTokens", "block-tokens", "int64_t", "32", "Positions of one state block.">,
    Option<"blocks", "blocks", "int64_t", "0",
           "State blocks of a session; 0: one sequence of max-context positions.">];
}

#endif // LLMC_CONVERSION_PASSES
