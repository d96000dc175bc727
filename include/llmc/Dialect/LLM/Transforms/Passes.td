//===- Passes.td - passes that read and write llm only ----*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_PASSES
#define LLMC_DIALECT_LLM_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// The contract of the import, normalize and optimize phases
//===----------------------------------------------------------------------===//

def VerifyModelPass : Pass<"llm-verify-model", "::mlir::ModuleOp"> {
  let summary = "Check that a module is one whole model";
  let description = [{
    What op verifiers cannot see from one op:

    - exactly one function is marked `llm.entry`, and its body is one block;
    - its `llm.repeat` ops cover layers 0, 1, … in order, each once, up to the `layers`
      of `llm.model`; there are at most 65536 layers;
    - every weight and state family is used, for each of its layers, and no layer asks
      for a member that its family lacks;
    - each state is appended to once in a step (in place), what reads it stands behind that, in
      its layer or a later one, and no cache value is used after it was appended to;
    - every tensor has static dimensions but the first;
    - no op combines rows of tokens with rows that `llm.select_rows` chose, or looks up
      positions of the latter.

    Changes nothing; fails with a diagnostic at the op.
  }];
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

class LLM_FusionPass<string name, list<Option> others = []>
    : Pass<"llm-fuse-" # name> {
  let dependentDialects = ["::llmc::llm::LLMDialect"];
  let options = !listconcat([
    Option<"enabled", "enabled", "bool", "true",
           "Off: matches are reported as missed and left alone.">,
    Option<"acrossRounding", "across-rounding", "bool", "false",
           "Fuse also where a value stays wider than the type that it is rounded to.">,
    Option<"launchSeconds", "launch-seconds", "double", "::llmc::FusionFigures().launchSeconds",
           "Of the target: seconds between two launches.">,
    Option<"bytesPerSecond", "bytes-per-second", "double",
           "::llmc::FusionFigures().bytesPerSecond",
           "Of the target: bytes of activations that one launch moves in a second.">,
    Option<"operationsPerSecond", "operations-per-second", "double",
           "::llmc::FusionFigures().operationsPerSecond",
           "Of the target: f32 operations of one launch in a second.">,
    Option<"vectorRegisters", "vector-registers", "int64_t",
           "::llmc::FusionFigures().vectorRegisters",
           "Of the target: vectors that a thread holds without spilling.">,
    Option<"threadBytes", "thread-bytes", "int64_t", "::llmc::FusionFigures().threadBytes",
           "Of the target: bytes close to a thread, for rows kept between passes.">], others);
}

def FuseGatedLinearPass : LLM_FusionPass<"gated-linear", [
    ListOption<"activations", "activations", "std::string",
               "Gate functions that a product's epilogue has (default silu, gelu, gelu_tanh).">]> {
  let summary = "Two products of one input and the gate between them as one fusion";
  let description = [{
    Before: `llm.linear` g and `llm.linear` u of the same input, read only by `llm.gate`; or
    `llm.expert_linear` both, of the same input and choice of as many experts. After: one
    `llm.fusion "gated-linear"` with one result. Numbers: unchanged. Not applicable: a missed
    remark `gated-linear` with the predicate that failed.

    Runs before `llm-fuse-qkv-linear`, which leaves products of a gate alone.
    Example: test/Dialect/LLM/fuse-gated-linear.mlir.
  }];
}

def FuseLinearActivationPass : LLM_FusionPass<"linear-activation"> {
  let summary = "A product and the activation that takes it as one fusion";
  let description = [{
    Before: `llm.linear` or `llm.expert_linear` whose only use is `llm.activation`. After: one
    `llm.fusion "linear-activation"`. Numbers: unchanged. Not applicable: a missed remark
    `linear-activation` with the predicate that failed.

    Example: test/Dialect/LLM/fuse-linear-activation.mlir.
  }];
}

def FuseLinearElementwisePass : LLM_FusionPass<"linear-elementwise"> {
  let summary = "A product, or two, and the element-wise operations behind as one fusion";
  let description = [{
    Before: `llm.linear`, `llm.output_head` or `llm.expert_linear` whose result only
    element-wise operations read (scale, offset, clamp, softcap, activation, gate, binary,
    residual_add), which read nothing but values of its shape, one element a row, or
    a vector of weights; or two products of one input, stored alike, where such operations meet. After:
    one `llm.fusion "linear-elementwise"` with the last of these operations that leaves a
    single result. Numbers: unchanged. Not applicable: a missed remark `linear-elementwise` with the
    predicate that failed.

    Leaves a lone activation, gate or residual add to the patterns of those names, logits of
    a router to `router`, and products that have another one of their input beside them to
    `qkv-linear`. Example: test/Dialect/LLM/fuse-linear-elementwise.mlir.
  }];
}

def FuseNormLinearPass : LLM_FusionPass<"norm-linear", [
    Option<"ranges", "ranges", "int64_t", "8",
           "Ranges of work items of a launch, each of which makes the rows again.">]> {
  let summary = "A norm and the only launch that multiplies its rows as one fusion";
  let description = [{
    Before: `llm.rms_norm` or `llm.layer_norm` of whole rows, with the `llm.select_rows` in front of it that
    nothing else reads, whose readers are products of one launch: `llm.linear`, `llm.output_head`
    or a fusion of such. After: one `llm.fusion "norm-linear"`, with the
    operations of that fusion. Numbers: unchanged. Not applicable: a missed remark `norm-linear`
    with the predicate that failed.

    Every range of work items makes its rows itself, which pays where a step has few tokens and
    many launches; `cost` judges it. Example: test/Dialect/LLM/fuse-norm-linear.mlir.
  }];
}

def FuseQKVLinearPass : LLM_FusionPass<"qkv-linear"> {
  let summary = "Products of the same input as one fusion with several results";
  let description = [{
    Before: two or more `llm.linear` of the same value whose weights have the same
    storage (q, k and v of an attention). After: one `llm.fusion "qkv-linear"` with a
    result for each. Numbers: unchanged. Not applicable: a missed remark `qkv-linear`
    with the predicate that failed.

    Example: test/Dialect/LLM/fuse-qkv-linear.mlir.
  }];
}

def FuseLinearResidualPass : LLM_FusionPass<"linear-residual"> {
  let summary = "A product and the residual add that takes it as one fusion";
  let description = [{
    Before: `llm.linear`, or the sum over experts `llm.expert_sum`, whose only use is the delta of
    `llm.residual_add`. After: one `llm.fusion "linear-residual"`. Numbers: unchanged. Not
    applicable: a missed remark `linear-residual` with the predicate that failed.

    This pass and `llm-fuse-residual-norm` want the same add; the one that runs first
    has it. On a CPU that is this pass: the product's epilogue adds while the row is in
    registers. On a GPU it is the other: the norm needs the whole row in one place.
    Example: test/Dialect/LLM/fuse-linear-residual.mlir.
  }];
}

def FuseResidualNormPass : LLM_FusionPass<"residual-norm", [
    Option<"maxHiddenSize", "max-hidden-size", "int64_t", "16384",
           "Largest last dimension to fuse, in elements.">]> {
  let summary = "A residual add and the norm that reads it as one row fusion";
  let description = [{
    Before: `llm.residual_add` whose result feeds `llm.rms_norm` or `llm.layer_norm`
    (other uses allowed), or whose delta is a norm or an `llm.scale` that nothing else
    reads, or both. After: one `llm.fusion "residual-norm"`; the sum is a result too where
    something else reads it. Numbers: unchanged. Not applicable: a missed remark
    `residual-norm` with the predicate that failed.

    Example: test/Dialect/LLM/fuse-residual-norm.mlir.
  }];
}

def FuseAttentionProloguePass : LLM_FusionPass<"attention-prologue"> {
  let summary = "Head norms, rotary and cache append as one fusion";
  let description = [{
    Before: `llm.rotary` of q and of k, each with an optional `llm.rms_norm` over heads
    before it, and the `llm.kv_append` that takes k. After: one
    `llm.fusion "attention-prologue"` that returns the turned q and the state.
    Numbers: unchanged. Not applicable: a missed remark `attention-prologue` with the
    predicate that failed.

    Example: test/Dialect/LLM/fuse-attention-prologue.mlir.
  }];
}

def FuseAttentionGatePass : LLM_FusionPass<"attention-gate"> {
  let summary = "An attention and the operations that each head of its result goes through";
  let description = [{
    Before: `llm.paged_attention` or `llm.joint_attention` whose result only goes, through
    `llm.split_heads` and `llm.merge_heads`, to an operation on rows that are cut as its heads:
    a gate, a product with one number a head, a norm of each head, and so on from there. After:
    one `llm.fusion "attention-gate"`. Parts of heads and functions of one value that only these
    read are taken in too. Numbers: unchanged. Not applicable: a missed remark
    `attention-gate` with the predicate that failed.

    Example: test/Dialect/LLM/fuse-attention-gate.mlir.
  }];
}

def FuseRouterPass : LLM_FusionPass<"router", [
    Option<"sharedFeatures", "shared-features", "int64_t", "32",
           "Experts up to which a product is one thread's work anyway.">]> {
  let summary = "A router's product and its choice of experts";
  let description = [{
    Before: `llm.linear` whose only use, through operations on each row, is the logits of
    `llm.route` without a table. After: one `llm.fusion "router"`. Numbers: unchanged. Not
    applicable: a missed remark `router` with the predicate that failed.

    Runs before `llm-fuse-qkv-linear`, which would take the product.
    Example: test/Dialect/LLM/fuse-router.mlir.
  }];
}

def FuseRowsPass : LLM_FusionPass<"rows", [
    Option<"maxRow", "max-row", "int64_t", "16384",
           "Longest row to fuse, in elements; rows of which no element needs another are cut.">,
    Option<"maxOps", "max-ops", "int64_t", "128",
           "Most operations of one fusion: the time to compile a kernel grows faster than it.">]> {
  let summary = "Operations along rows as one fusion, whatever they are";
  let description = [{
    Before: operations on rows (norms, sums, products and other arithmetic of elements,
    activations, gates, softmax, statistics, parts of heads, mixtures of streams) that read what
    others make, or the same value. After: one `llm.fusion "rows"` for each group that one kernel
    computes in one pass over memory; values that something else reads are its results. Fusions
    that are row programs themselves (`residual-norm`) are taken in where more fits. Numbers:
    unchanged. Not applicable: a missed remark `rows` at the reader, with the predicate that failed.

    Runs last, on what other patterns have left. Example: test/Dialect/LLM/fuse-rows.mlir.
  }];
}

def InlineFusionsPass : Pass<"llm-inline-fusions"> {
  let summary = "Replace fusions by their bodies";
  let description = [{
    Before: `llm.fusion`. After: the ops of its body, in its place; the inverse of the
    fusion passes, for running fused and unfused against each other. Numbers: unchanged.

    Example: test/Dialect/LLM/inline-fusions.mlir.
  }];
  let options = [ListOption<"patterns", "patterns", "std::string",
                            "Names of the fusions to inline (default all).">];
}

def DecomposePass : Pass<"llm-decompose"> {
  let summary = "Replace operations by simpler ones that compute the same";
  let description = [{
    Before: an operation that a target may have no kernel for. After: its formula in
    operations of the dialect, where one is known; `llmc gaps` calls such an operation
    composable. Numbers: those of the formula, the last bits may differ. With `ops` those
    operations must have a composition; without, what has one is replaced.

    Example: test/Dialect/LLM/decompose.mlir.
  }];
  let options = [ListOption<"ops", "ops", "std::string",
                            "Operations to replace, as `llm.gate` (default: all that can be).">];
}

//===----------------------------------------------------------------------===//
// Simplification
//===----------------------------------------------------------------------===//

def SimplifyPass : Pass<"llm-simplify", "::mlir::ModuleOp"> {
  let summary = "Compute the same with fewer operations";
  let description = [{
    Before: any model. After: none of the named simplifications (`llmc-opt
    --list-simplifications`) applies any more. Numbers: the same bits, but for what
    `fold-scales` asks for. Every decision is a remark of category `simplify`: passed, or
    missed with the predicate that failed. A weight family keeps the layers that still read
    it; one that nothing reads any more is dropped with a remark.

    `max-context` is the longest sequence that the program will ever see. Where a bound of the
    program cannot be reached for that reason and is dropped, the facts of the model say so
    (`bounded_context`), and a plan for longer sequences is refused.

    Example: test/Dialect/LLM/simplify-elements.mlir.
  }];
  let dependentDialects = ["::llmc::llm::LLMDialect"];
  let options = [
    ListOption<"disabled", "disable", "std::string", "Names of simplifications that are not made.">,
    Option<"foldScales", "fold-scales", "bool", "false",
           "Also fold factors where sums round otherwise than before.">,
    Option<"maxContext", "max-context", "int64_t", "0",
           "Positions of the longest sequence; 0: the context_length of the model.">];
}

//===----------------------------------------------------------------------===//
// Operations that llmc lacks
//===----------------------------------------------------------------------===//

def ExpandCompositesPass : Pass<"llm-expand-composites", "::mlir::ModuleOp"> {
  let summary = "Replace composites by the functions that define them";
  let description = [{
    Before: `llm.composite`, and functions marked `llm.implements`. After: the ops of the
    functions in place of the composites, at locations that name both; the functions are
    gone. Numbers: unchanged. A passed remark `composite` for each kind of composite.

    Example: test/Dialect/LLM/expand-composites.mlir.
  }];
}

#endif // LLMC_DIALECT_LLM_TRANSFORMS_PASSES
