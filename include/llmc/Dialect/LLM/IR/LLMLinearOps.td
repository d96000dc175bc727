//===- LLMLinearOps.td - matrix products ------------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMLINEAROPS
#define LLMC_DIALECT_LLM_IR_LLMLINEAROPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_LinearOp : LLM_Op<"linear", [Pure]> {
  let summary = "Product with a weight, and bias";
  let description = [{
    `y[t, n] = (sum_k x[t, k] * w[n, k]) + b[n]`: per output one FMA chain from zero in
    ascending k on the weight's exact f32 value, then the bias is added; f32.

    Constraints: `linear_c1` the weight has rank 2 and as many columns as the input;
    `linear_c2` the result is [tokens, rows of the weight]; `linear_c3` the bias has
    one dimension, the rows of the weight.

    ```mlir
    %y = llm.linear %x, %w bias %b : tensor<?x576xf32>, !llm.weight<[192, 576], #llm.dense<f32>>,
        !llm.weight<[192], #llm.dense<f32>> -> tensor<?x192xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_WeightType:$weight, Optional<LLM_WeightType>:$bias);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? attr-dict `:` type($input) `,` qualified(type($weight))
    (`,` qualified(type($bias))^)? `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight,
      CArg<"::mlir::Value", "{}">:$bias)>];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMLINEAROPS
