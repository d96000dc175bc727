//===- LLMNormOps.td - norms over the last dimension ------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMNORMOPS
#define LLMC_DIALECT_LLM_IR_LLMNORMOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_RMSNormOp : LLM_Op<"rms_norm", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Root-mean-square normalisation over the last dimension";
  let description = [{
    `y = x / sqrt(mean(x * x) + epsilon) * (scale + offset)`, computed in f32. On a
    rank 3 tensor [tokens, heads, width] every head is normalised by itself. `offset`
    is 1 for families that store the scale less one. Without a scale the factor is 1.
    (Zhang and Sennrich, 2019.)

    Constraints: `rms_norm_c1` input and result have the same type; `rms_norm_c2` the
    scale has one dimension, the last of the input; `rms_norm_c3` epsilon is positive;
    `rms_norm_c4` an offset needs a scale.

    ```mlir
    %y = llm.rms_norm %x, %scale eps 1.0e-5 : tensor<?x576xf32>, !llm.weight<[576], #llm.dense<f32>>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, Optional<LLM_WeightType>:$scale, F64Attr:$epsilon,
      DefaultValuedAttr<F64Attr, "0.0">:$offset);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input (`,` $scale^)? `eps` custom<Real>($epsilon) (`offset` custom<Real>($offset)^)? attr-dict
    `:` type($input) (`,` qualified(type($scale))^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$scale, "double":$epsilon,
      CArg<"double", "0.0">:$offset)>];
  let hasVerifier = 1;
}

def LLM_LayerNormOp : LLM_Op<"layer_norm", [Pure, AttrSizedOperandSegments,
    AllTypesMatch<["input", "result"]>]> {
  let summary = "Layer normalisation over the last dimension";
  let description = [{
    `y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias`, f32.
    A scale or bias that is not given is left out. (Ba, Kiros and Hinton, 2016.)

    Constraints: `layer_norm_c1` input and result have the same type; `layer_norm_c2`
    scale and bias have one dimension, the last of the input; `layer_norm_c3` epsilon
    is positive; `layer_norm_c4` a bias needs a scale.

    ```mlir
    %y = llm.layer_norm %x, %scale bias %b eps 1.0e-5 : tensor<?x576xf32>,
        !llm.weight<[576], #llm.dense<f32>>, !llm.weight<[576], #llm.dense<f32>>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, Optional<LLM_WeightType>:$scale,
      Optional<LLM_WeightType>:$bias, F64Attr:$epsilon);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input (`,` $scale^)? (`bias` $bias^)? `eps` custom<Real>($epsilon) attr-dict `:` type($input)
    (`,` qualified(type($scale))^)? (`,` qualified(type($bias))^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$scale,
      "::mlir::Value":$bias, "double":$epsilon)>];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMNORMOPS
