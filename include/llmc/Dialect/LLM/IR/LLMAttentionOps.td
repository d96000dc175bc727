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
    `s = sin(a) * magnitude`; other channels pass. (Su et al., 2021.) The channels that turn
    begin at `from`, 0 unless given. Tokens of a sequence whose extent is beyond the record's
    threshold turn by its long frequencies.

    Constraints: `rotary_c1` the input has rank 3; `rotary_c2` the rotary width is even
    and the channels that turn lie inside the head; `rotary_c3` there are width / 2
    frequencies, and as many long ones where there are long ones.

    ```mlir
    %y = llm.rotary %x, %batch rope(#rope) : tensor<?x9x64xf32>
    %z = llm.rotary %x, %batch rope(#rope) from 32 : tensor<?x9x64xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_BatchType:$batch, LLM_RopeAttr:$rope,
      DefaultValuedAttr<I64Attr, "0">:$first);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `,` $batch `rope` `(` $rope `)` (`from` $first^)? attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

def LLM_KVAppendOp : LLM_Op<"kv_append", [DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Adds the keys and values of the step's tokens to a state";
  let description = [{
    Destination style: the result is the state after the step; the state before it may
    not be used afterwards, so that the append is in place. A latent state keeps keys alone:
    its values are their first channels.

    Constraints: `kv_append_c1` the cache is paged, window or latent; `kv_append_c2` keys are
    [tokens, kv heads, key width], values [tokens, kv heads, value width] of the cache;
    `kv_append_c3` there are values exactly where the cache is not latent.

    ```mlir
    %c1 = llm.kv_append %k, %v, %c0, %batch : tensor<?x3x64xf32>, tensor<?x3x64xf32>,
        !llm.cache<paged, [3, 64, 64], f32>
    %l1 = llm.kv_append %k, %l0, %batch : tensor<?x1x576xf32>, !llm.cache<latent, [1, 576, 512], f32>
    ```
  }];
  let arguments = (ins LLM_Rows:$key, Optional<LLM_Rows>:$value, LLM_CacheType:$cache,
      LLM_BatchType:$batch);
  let results = (outs LLM_CacheType:$result);
  let assemblyFormat = [{
    custom<AppendOperands>($key, $value, $cache, $batch) attr-dict `:`
    custom<AppendTypes>(type($key), type($value), type($cache))
  }];
  let hasVerifier = 1;
}

def LLM_PagedAttentionOp : LLM_Op<"paged_attention", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Grouped causal attention over state kept by position";
  let description = [{
    For a query at position p of its sequence and head h, over positions j of the same
    sequence with `p - window < j <= p` (all j <= p without a window):
    `s_j = scale * q . k_j`, `y = sum_j softmax(s)_j * v_j`, with the keys and values of
    kv head `h / (heads / kv heads)`; in a latent state v_j is the first value width channels of
    k_j. With a `softcap` c the score is
    `c * tanh(s_j / c)`; with a `chunk` n only positions of the query's chunk are seen,
    those with `j div n = p div n`. With `slopes` the score of head h has
    `slopes[h] * (j - p)` added (ALiBi; Press et al., 2021). With `sinks` the softmax of head h
    has one more logit, `sinks[h]`, that has no value. With a `selection` [tokens, n] only the
    positions that stand in the token's row are seen; -1 is none, order and repetition mean
    nothing. Softmax is computed online over fixed blocks of positions in ascending order, f32.

    Constraints: `paged_attention_c1` the cache is paged, window or latent with a value, the
    query is [tokens, heads, key width] and heads is a multiple of the kv heads;
    `paged_attention_c2` the result is [tokens, heads, value width]; `paged_attention_c3` scale
    and softcap are finite and positive, window and chunk positive; `paged_attention_c4` sinks
    and slopes are one number a head, slopes finite; `paged_attention_c5` the selection has rank
    2 and the query's tokens.

    ```mlir
    %y = llm.paged_attention %q, %c, %batch scale 0.125 window 4096
        : tensor<?x9x64xf32>, !llm.cache<paged, [3, 64, 64], f32> -> tensor<?x9x64xf32>
    %z = llm.paged_attention %q, %l, %batch sinks %s : !llm.weight<[16], #llm.dense<f32>>
        selection %j : tensor<?x2048xi32> scale 0.1
        : tensor<?x16x576xf32>, !llm.cache<latent, [1, 576, 512], f32> -> tensor<?x16x512xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_CacheType:$cache, LLM_BatchType:$batch,
      Optional<LLM_WeightType>:$sinks, Optional<LLM_Choice>:$selection, F64Attr:$scale,
      OptionalAttr<I64Attr>:$window, OptionalAttr<I64Attr>:$chunk,
      OptionalAttr<F64Attr>:$softcap, OptionalAttr<DenseF32ArrayAttr>:$slopes);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $query `,` $cache `,` $batch (`sinks` $sinks^ `:` qualified(type($sinks)))?
    (`selection` $selection^ `:` type($selection))? `scale` custom<Real>($scale)
    (`window` $window^)? (`chunk` $chunk^)? (`softcap` custom<Real>($softcap)^)?
    (`slopes` $slopes^)? attr-dict `:` type($query) `,` qualified(type($cache)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$cache,
      "::mlir::Value":$batch, "double":$scale, CArg<"std::optional<int64_t>", "{}">:$window)>];
  let hasVerifier = 1;
}

def LLM_SelectPositionsOp : LLM_Op<"select_positions", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The positions that an indexer finds worth attending to";
  let description = [{
    For a query at position p of its sequence, over positions j <= p of the same sequence:
    `s_j = sum_h weights[t, h] * max(q[t, h] . k_j, 0)`, h ascending, with the keys of a latent
    state of one head. The result holds the `top` positions of the greatest scores, all where
    there are no more than that; of equal scores the lower position goes first. They stand in
    ascending order, -1 fills the rest. (DeepSeek-V3.2's lightning indexer, 2025.)

    Constraints: `select_positions_c1` the query is [tokens, heads, key width] of a latent cache
    of one head without values; `select_positions_c2` weights are [tokens, heads];
    `select_positions_c3` top is positive and the result is [tokens, top].

    ```mlir
    %j = llm.select_positions %q, %w, %c, %batch top 2048 : tensor<?x64x128xf32>, tensor<?x64xf32>,
        !llm.cache<latent, [1, 128, 0], f32> -> tensor<?x2048xi32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_Rows:$weights, LLM_CacheType:$cache,
      LLM_BatchType:$batch, I64Attr:$top);
  let results = (outs LLM_Choice:$result);
  let assemblyFormat = [{
    $query `,` $weights `,` $cache `,` $batch `top` $top attr-dict `:` type($query) `,`
    type($weights) `,` qualified(type($cache)) `->` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$weights,
      "::mlir::Value":$cache, "::mlir::Value":$batch, "int64_t":$top)>];
  let hasVerifier = 1;
}

def LLM_NoPositionsOp : LLM_Op<"no_positions", [Pure]> {
  let summary = "A selection of nothing";
  let description = [{
    `y[t, j] = -1`: what is carried into layers that select positions or take over those of a
    layer before, as long as none has selected.

    ```mlir
    %j = llm.no_positions %batch : tensor<?x2048xi32>
    ```
  }];
  let arguments = (ins LLM_BatchType:$batch);
  let results = (outs LLM_Choice:$result);
  let assemblyFormat = "$batch attr-dict `:` type($result)";
}

def LLM_HeadLinearOp : LLM_Op<"head_linear", [Pure]> {
  let summary = "Product of each head with a weight of its own";
  let description = [{
    `y[t, h, n] = sum_k x[t, h, k] * w[h, n, k]`: per output one FMA chain from zero in
    ascending k on the weight's exact f32 value; f32.

    Constraints: `head_linear_c1` the input is [tokens, heads, width] and the weight [heads, n,
    width]; `head_linear_c2` the result is [tokens, heads, n].

    ```mlir
    %y = llm.head_linear %x, %w : tensor<?x16x128xf32>, !llm.weight<[16, 512, 128], #llm.dense<f32>>
        -> tensor<?x16x512xf32>
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

#endif // LLMC_DIALECT_LLM_IR_LLMATTENTIONOPS
