//===- LLMAttentionOps.td - heads, rotary, state, attention -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMATTENTIONOPS
#define LLMC_DIALECT_LLM_IR_LLMATTENTIONOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_SplitHeadsOp : LLM_Op<"split_heads", [Pure]> {
  let summary = "View of rows as heads";
  let description = [{
    `y[t, h, d] = x[t, h * width + d]`. Moves nothing.

    Constraints: `split_heads_c1` the input has rank 2, the result rank 3 with the same
    tokens, and heads times width is the input's width.

    ```mlir
    %y = llm.split_heads %x : tensor<?x576xf32> -> tensor<?x9x64xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "int64_t":$heads)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_MergeHeadsOp : LLM_Op<"merge_heads", [Pure]> {
  let summary = "View of heads as rows";
  let description = [{
    `y[t, h * width + d] = x[t, h, d]`. Moves nothing.

    Constraints: `merge_heads_c1` the input has rank 3, the result rank 2 with the same
    tokens, and heads times width is the result's width.

    ```mlir
    %y = llm.merge_heads %x : tensor<?x9x64xf32> -> tensor<?x576xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def LLM_RotaryOp : LLM_Op<"rotary", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "Rotary position embedding";
  let description = [{
    For pair (a, b) of channels number j and a = f32(position) * frequencies[j]:
    `y_a = x_a * c - x_b * s`, `y_b = x_b * c + x_a * s` with `c = cos(a) * magnitude`,
    `s = sin(a) * magnitude`; other channels pass. (Su et al., 2021.) Tokens of a sequence
    whose extent is beyond the record's threshold turn by
    its long frequencies.

    Constraints: `rotary_c1` the input has rank 3; `rotary_c2` the rotary width is even
    and at most the head width; `rotary_c3` there are width / 2 frequencies, and as many
    long ones where there are long ones.

    ```mlir
    %y = llm.rotary %x, %batch rope(#rope) : tensor<?x9x64xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_BatchType:$batch, LLM_RopeAttr:$rope);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = "$input `,` $batch `rope` `(` $rope `)` attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def LLM_KVAppendOp : LLM_Op<"kv_append", [AllTypesMatch<["cache", "result"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Adds the keys and values of the step's tokens to a state";
  let description = [{
    Destination style: the result is the state after the step; the state before it may
    not be used afterwards, so that the append is in place.

    Constraints: `kv_append_c1` the cache is paged or window; `kv_append_c2` keys are
    [tokens, kv heads, key width], values [tokens, kv heads, value width] of the cache.

    ```mlir
    %c1 = llm.kv_append %k, %v, %c0, %batch : tensor<?x3x64xf32>, tensor<?x3x64xf32>,
        !llm.cache<paged, [3, 64, 64], f32>
    ```
  }];
  let arguments = (ins LLM_Rows:$key, LLM_Rows:$value, LLM_CacheType:$cache, LLM_BatchType:$batch);
  let results = (outs LLM_CacheType:$result);
  let assemblyFormat = [{
    $key `,` $value `,` $cache `,` $batch attr-dict `:` type($key) `,` type($value) `,`
    qualified(type($cache))
  }];
  let hasVerifier = 1;
}

def LLM_PagedAttentionOp : LLM_Op<"paged_attention", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Grouped causal attention over paged state";
  let description = [{
    For a query at position p of its sequence and head h, over positions j of the same
    sequence with `p - window < j <= p` (all j <= p without a window):
    `s_j = scale * q . k_j`, `y = sum_j softmax(s)_j * v_j`, with the keys and values of
    kv head `h / (heads / kv heads)`. With a `softcap` c the score is
    `c * tanh(s_j / c)`; with a `chunk` n only positions of the query's chunk are seen,
    those with `j div n = p div n`. Softmax is computed online over fixed blocks of
    positions in ascending order, f32.

    Constraints: `paged_attention_c1` the cache is paged or window, the query is [tokens,
    heads, key width] and heads is a multiple of the kv heads; `paged_attention_c2` the
    result is [tokens, heads, value width]; `paged_attention_c3` scale and softcap are
    finite and positive, window and chunk positive.

    ```mlir
    %y = llm.paged_attention %q, %c, %batch scale 0.125 window 4096
        : tensor<?x9x64xf32>, !llm.cache<paged, [3, 64, 64], f32> -> tensor<?x9x64xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_CacheType:$cache, LLM_BatchType:$batch, F64Attr:$scale,
      OptionalAttr<I64Attr>:$window, OptionalAttr<I64Attr>:$chunk,
      OptionalAttr<F64Attr>:$softcap);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $query `,` $cache `,` $batch `scale` custom<Real>($scale) (`window` $window^)?
    (`chunk` $chunk^)? (`softcap` custom<Real>($softcap)^)? attr-dict `:` type($query) `,` qualified(type($cache)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$cache,
      "::mlir::Value":$batch, "double":$scale, CArg<"std::optional<int64_t>", "{}">:$window)>];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMATTENTIONOPS
