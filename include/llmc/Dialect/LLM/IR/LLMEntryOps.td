//===- LLMEntryOps.td - groups of tokens kept as one entry -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMENTRYOPS
#define LLMC_DIALECT_LLM_IR_LLMENTRYOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_PoolTokensOp : LLM_Op<"pool_tokens", [AllTypesMatch<["values", "gates"]>,
    AllTypesMatch<["state", "next"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Mean of the tokens of a group, weighted for each channel";
  let description = [{
    The tokens of a sequence form groups of G, positions `n G` to `n G + G - 1`. For a token at
    position p, over the positions j of its group with `j <= p`:
    `y[t, d] = sum_j softmax_j(gates[j, d] + bias[j mod G, d]) * values[j, d]`, j ascending, f32.
    So the last token of a group has the mean of all of it. With `overlap` a row is two of half
    the width, one after the other: the group before is in the sum too, all of its tokens by
    their first half, where the tokens of the group itself count by their second half; the first
    group of a sequence has none before. (The compressor of DeepSeek-V4, 2026.)

    The state holds the last rows of a sequence, values then gates, oldest first: G - 1 of
    them, with overlap 2 G - 1. Destination style: `next` is the state after the step, in place.

    Constraints: `pool_tokens_c1` values are [tokens, width], gates have the same type;
    `pool_tokens_c2` the bias is [G, width]; `pool_tokens_c3` the state is a conv cache of
    [2 width, G - 1] f32, with overlap [2 width, 2 G - 1]; `pool_tokens_c4` the result is [tokens,
    width], with overlap half as wide.

    ```mlir
    %y, %s1 = llm.pool_tokens %v, %g, %b, %s0, %batch overlap : tensor<?x64xf32>,
        !llm.weight<[4, 64], #llm.dense<f32>>, !llm.cache<conv, [128, 7], f32> -> tensor<?x32xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$values, LLM_Rows:$gates, LLM_WeightType:$bias,
      LLM_CacheType:$state, LLM_BatchType:$batch, UnitAttr:$overlap);
  let results = (outs LLM_Rows:$result, LLM_CacheType:$next);
  let assemblyFormat = [{
    $values `,` $gates `,` $bias `,` $state `,` $batch (`overlap` $overlap^)? attr-dict `:`
    type($values) `,` qualified(type($bias)) `,` qualified(type($state))
    `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// G.
    int64_t getGroup();
  }];
  let hasVerifier = 1;
}

def LLM_EntryAppendOp : LLM_Op<"entry_append", [AllTypesMatch<["cache", "result"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Adds an entry to a state for each group of tokens that is complete";
  let description = [{
    The row of the token at position p becomes entry `p div G` of its sequence where p is the
    last position of a group, `p mod G = G - 1`; other rows are left out. G is the tokens an entry
    of the cache. With a `rope` the entry turns as `llm.rotary` does, by the position of the
    group's first token, from channel `from` on. Destination style as `llm.kv_append`.

    Constraints: `entry_append_c1` the cache holds entries; `entry_append_c2` the input is
    [tokens, key width]; `entry_append_c3` the rotary width is even, has half as many
    frequencies, no long ones, and lies inside the key from channel `from` on.

    ```mlir
    %c1 = llm.entry_append %x, %c0, %batch rope(#rope) from 24
        : tensor<?x32xf32>, !llm.cache<entries, [4, 32, 32], f32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_CacheType:$cache, LLM_BatchType:$batch,
      OptionalAttr<LLM_RopeAttr>:$rope, DefaultValuedAttr<I64Attr, "0">:$first);
  let results = (outs LLM_CacheType:$result);
  let assemblyFormat = [{
    $input `,` $cache `,` $batch (`rope` `(` $rope^ `)`)? (`from` $first^)? attr-dict `:`
    type($input) `,` qualified(type($cache))
  }];
  let hasVerifier = 1;
}

def LLM_SelectEntriesOp : LLM_Op<"select_entries", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "The entries that an indexer finds worth attending to";
  let description = [{
    `llm.select_positions` over the entries of a sequence: a query at position p sees those of
    the groups that are complete, n with `(n + 1) G <= p + 1`. Scores, order and ties are the same.

    Constraints: `select_entries_c1` the cache holds entries without values and the query is
    [tokens, heads, key width]; `select_entries_c2` weights are [tokens, heads];
    `select_entries_c3` top is positive and the result is [tokens, top].

    ```mlir
    %n = llm.select_entries %q, %w, %c, %batch top 512 : tensor<?x64x128xf32>, tensor<?x64xf32>,
        !llm.cache<entries, [4, 128, 0], f32> -> tensor<?x512xi32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_Rows:$weights, LLM_CacheType:$cache,
      LLM_BatchType:$batch, I64Attr:$top);
  let results = (outs LLM_Choice:$result);
  let assemblyFormat = [{
    $query `,` $weights `,` $cache `,` $batch `top` $top attr-dict `:` type($query) `,`
    type($weights) `,` qualified(type($cache)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LLM_JointAttentionOp : LLM_Op<"joint_attention", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Attention to a window of tokens and to entries of groups, in one softmax";
  let description = [{
    One softmax for each head over what `llm.paged_attention` sees of the latent state with this
    window, and over the entries n of the groups that are complete, `(n + 1) G <= p + 1` for a
    query at position p: `s = scale * q . k`, `y = sum softmax(s) * v`, v the first value width
    channels of k in both. With `sinks` the softmax of head h has one more logit, `sinks[h]`, that
    has no value. With a `selection` [tokens, n] only the entries in the token's row are seen; -1
    is none, order and repetition mean nothing. Softmax is computed online over fixed blocks, the
    positions ascending and then the entries ascending, f32.

    Constraints: `joint_attention_c1` the cache is latent with a value and one head, and entries
    have the same key and value widths; `joint_attention_c2` the query is [tokens, heads, key
    width] and the result [tokens, heads, value width]; `joint_attention_c3` the scale is finite
    and positive, the window positive; `joint_attention_c4` sinks are one number a head;
    `joint_attention_c5` the selection has rank 2 and the query's tokens.

    ```mlir
    %y = llm.joint_attention %q, %l, %e, %batch sinks %s : !llm.weight<[8], #llm.dense<f32>>
        selection %n : tensor<?x16xi32> scale 0.17 window 128 : tensor<?x8x32xf32>,
        !llm.cache<latent, [1, 32, 32], f32>, !llm.cache<entries, [4, 32, 32], f32>
        -> tensor<?x8x32xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_CacheType:$cache, LLM_CacheType:$entries,
      LLM_BatchType:$batch, Optional<LLM_WeightType>:$sinks, Optional<LLM_Choice>:$selection,
      F64Attr:$scale, OptionalAttr<I64Attr>:$window);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $query `,` $cache `,` $entries `,` $batch (`sinks` $sinks^ `:` qualified(type($sinks)))?
    (`selection` $selection^ `:` type($selection))? `scale` custom<Real>($scale)
    (`window` $window^)? attr-dict `:` type($query) `,` qualified(type($cache)) `,`
    qualified(type($entries)) `->` type($result)
  }];
  let hasVerifier = 1;
}

def LLM_SinkhornOp : LLM_Op<"sinkhorn", [Pure, AllTypesMatch<["input", "result"]>]> {
  let summary = "A matrix of each token brought near to doubly stochastic";
  let description = [{
    Sinkhorn and Knopp (1967), columns first: `c[t, i, j] = c[t, i, j] / (sum_i c[t, i, j] +
    epsilon)`, and then `steps - 1` times the same of the rows, `/ (sum_j c[t, i, j] + epsilon)`,
    and of the columns. Sums ascending; f32.

    Constraints: `sinkhorn_c1` the input is [tokens, n, n]; `sinkhorn_c2` steps are from 1 to
    1000 and epsilon is finite and not negative.

    ```mlir
    %y = llm.sinkhorn %x steps 20 eps 1.0e-6 : tensor<?x4x4xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, I64Attr:$steps, F64Attr:$epsilon);
  let results = (outs LLM_Rows:$result);
  let assemblyFormat = [{
    $input `steps` $steps `eps` custom<Real>($epsilon) attr-dict `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMENTRYOPS
