//===- LLMEmbeddingOps.td - from tokens and to logits -----*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMEMBEDDINGOPS
#define LLMC_DIALECT_LLM_IR_LLMEMBEDDINGOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_EmbeddingOp : LLM_Op<"embedding", [Pure]> {
  let summary = "Rows of a table, one for each token";
  let description = [{
    `y[t] = table[tokens[t]]`. A token outside the table is the caller's error; the
    runtime checks tokens before a step. With `otherwise n` such a token reads row n: the
    table of a part of the vocabulary.

    Constraints: `embedding_c1` the table has rank 2; `embedding_c2` the result is
    [tokens, columns of the table]; `embedding_c3` the row of other tokens is one of the
    table's.

    ```mlir
    %x = llm.embedding %tokens, %table
        : tensor<?xi32>, !llm.weight<[49152, 576], #llm.dense<f32>> -> tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Tokens:$tokens, LLM_WeightType:$table, OptionalAttr<I64Attr>:$otherwise);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $tokens `,` $table (`otherwise` $otherwise^)? attr-dict `:` type($tokens) `,` qualified(type($table)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$tokens, "::mlir::Value":$table)>];
  let hasVerifier = 1;
}

def LLM_PositionEmbeddingOp : LLM_Op<"position_embedding", [Pure]> {
  let summary = "Rows of a table, one for each token's position";
  let description = [{
    `y[t] = table[position(t) + offset]`. A position outside the table is the caller's
    error; a program is not compiled for a context that the table does not cover.

    Constraints: `position_embedding_c1` the table has rank 2; `position_embedding_c2`
    the result is [tokens, columns of the table]; `position_embedding_c3` the offset is
    not negative and below the rows of the table.

    ```mlir
    %y = llm.position_embedding %batch, %table offset 2
        : !llm.weight<[1026, 768], #llm.dense<f32>> -> tensor<?x768xf32>
    ```
  }];
  let arguments = (ins LLM_BatchType:$batch, LLM_WeightType:$table,
      DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $batch `,` $table (`offset` $offset^)? attr-dict `:` qualified(type($table)) `->`
    type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$batch, "::mlir::Value":$table,
      CArg<"int64_t", "0">:$offset)>];
  let hasVerifier = 1;
}

def LLM_SelectRowsOp : LLM_Op<"select_rows", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "The rows whose logits are wanted";
  let description = [{
    `y[r] = x[output_rows[r]]` with the batch's list of output rows.

    Constraints: `select_rows_c1` input and result have the same width and element type.

    ```mlir
    %y = llm.select_rows %x, %batch : tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_BatchType:$batch);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `,` $batch attr-dict `:` type($input)";
}

def LLM_OutputHeadOp : LLM_Op<"output_head", [Pure]> {
  let summary = "Logits: a linear map to the vocabulary";
  let description = [{
    `logits[r, v] = sum_k x[r, k] * w[v, k]`, an FMA chain in ascending k, f32.

    Constraints: `output_head_c1` the weight has rank 2 and as many columns as the
    input; `output_head_c2` the result is [rows, rows of the weight].

    ```mlir
    %l = llm.output_head %x, %w
        : tensor<?x576xf32>, !llm.weight<[49152, 576], #llm.dense<f32>> -> tensor<?x49152xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_WeightType:$weight);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `,` $weight attr-dict `:` type($input) `,` qualified(type($weight)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight)>];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMEMBEDDINGOPS
