//===- LLMStreamOps.td - gates and stream arithmetic ------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMSTREAMOPS
#define LLMC_DIALECT_LLM_IR_LLMSTREAMOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_ResidualAddOp : LLM_Op<"residual_add", [Pure, SameOperandsAndResultType]> {
  let summary = "Adds a block's output to the stream";
  let description = [{
    `y = stream + delta`, one rounding, f32.

    Constraints: `residual_add_c1` all types are equal.

    ```mlir
    %y = llm.residual_add %x, %d : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$stream, LLM_Rows:$delta);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$stream `,` $delta attr-dict `:` type($result)";
}

def LLM_ScaleOp : LLM_Op<"scale", [Pure, SameOperandsAndResultType]> {
  let summary = "Multiplies a stream by a constant";
  let description = [{
    `y = x * f32(factor)`. A factor of 1 folds away.

    Constraints: `scale_c1` input and result have the same type; `scale_c2` the factor
    is finite.

    ```mlir
    %y = llm.scale %x by 2.0 : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, F64Attr:$factor);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `by` custom<Real>($factor) attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$factor)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_SoftcapOp : LLM_Op<"softcap", [Pure, SameOperandsAndResultType]> {
  let summary = "Bounds a stream smoothly";
  let description = [{
    `y = f32(cap) * tanh(x / f32(cap))`.

    Constraints: `softcap_c1` input and result have the same type; `softcap_c2` the cap
    is finite and positive.

    ```mlir
    %y = llm.softcap %x cap 30.0 : tensor<?x256000xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, F64Attr:$cap);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `cap` custom<Real>($cap) attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "double":$cap)>];
  let hasVerifier = 1;
}

def LLM_ActivationOp : LLM_Op<"activation", [Pure, SameOperandsAndResultType]> {
  let summary = "Element-wise activation";
  let description = [{
    silu `x / (1 + exp(-x))`, gelu `x/2 * (1 + erf(x / sqrt 2))`, gelu_tanh
    `x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))`, gelu_quick
    `x / (1 + exp(-1.702 x))`, relu, relu2 `max(x, 0)^2`, sigmoid, tanh, softplus
    `max(x, 0) + log(1 + exp(-|x|))`, exp, log, sqrt, reciprocal `1 / x`; f32.

    Constraints: `activation_c1` input and result have the same type.

    ```mlir
    %y = llm.activation silu %x : tensor<?x1536xf32>
    ```
  }];
  let arguments = (ins LLM_ActivationAttr:$function, LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "custom<ActivationName>($function) $input attr-dict `:` type($result)";
}

def LLM_GateOp : LLM_Op<"gate", [Pure, SameOperandsAndResultType]> {
  let summary = "Activated gate times values";
  let description = [{
    `y = act(gate) * up` with the functions of `llm.activation`. (Shazeer, 2020.)

    Constraints: `gate_c1` all types are equal.

    ```mlir
    %y = llm.gate silu %g, %u : tensor<?x1536xf32>
    ```
  }];
  let arguments = (ins LLM_ActivationAttr:$function, LLM_Rows:$gate, LLM_Rows:$up);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    custom<ActivationName>($function) $gate `,` $up attr-dict `:` type($result)
  }];
}

#endif // LLMC_DIALECT_LLM_IR_LLMSTREAMOPS
