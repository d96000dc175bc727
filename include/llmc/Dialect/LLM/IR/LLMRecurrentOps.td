//===- LLMRecurrentOps.td - mixers with a state per sequence -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS
#define LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

def LLM_CausalConvOp : LLM_Op<"causal_conv", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Short causal convolution of each channel along its sequence";
  let description = [{
    With K taps: `y[t, c] = (sum_k w[c, k] * x[t - K + 1 + k, c]) + b[c]`, an FMA chain from
    zero in ascending k, f32. Inputs before the first token of a sequence are zero; those of
    earlier steps are in the state, which holds the last K - 1 of each channel, oldest first.
    Destination style: `next` is the state after the step, in place.

    Constraints: `causal_conv_c1` the state is a conv cache of [channels, taps - 1] f32;
    `causal_conv_c2` the input is [tokens, channels]; `causal_conv_c3` the weight is
    [channels, taps], or [channels, 1, taps] as published; `causal_conv_c4` the bias has one
    dimension, the channels.

    ```mlir
    %y, %s1 = llm.causal_conv %x, %w bias %b, %s0, %batch : tensor<?x128xf32>,
        !llm.weight<[128, 1, 4], #llm.dense<f32>>, !llm.cache<conv, [128, 3], f32>,
        !llm.weight<[128], #llm.dense<f32>>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_WeightType:$weight, Optional<LLM_WeightType>:$bias,
      LLM_CacheType:$state, LLM_BatchType:$batch);
  let results = (outs LLM_Rows:$result, LLM_CacheType:$next);
  let assemblyFormat = [{
    $input `,` $weight (`bias` $bias^)? `,` $state `,` $batch attr-dict `:` type($input) `,`
    qualified(type($weight)) `,` qualified(type($state)) (`,` qualified(type($bias))^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$weight,
      "::mlir::Value":$bias, "::mlir::Value":$state, "::mlir::Value":$batch)>];
  let extraClassDeclaration = [{
    /// K.
    int64_t getTaps();
  }];
  let hasVerifier = 1;
}

def LLM_TokenShiftOp : LLM_Op<"token_shift", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "The row of the token before, in its sequence";
  let description = [{
    `y[t] = x[t - 1]`, zero at the first position of a sequence; the input of an earlier step is
    in the state. As in the models of the RWKV family (Peng et al., 2023). Destination style:
    `next` is the state after the step, in place.

    Constraints: `token_shift_c1` the state is a conv cache of [channels, 1] f32;
    `token_shift_c2` the input is [tokens, channels].

    ```mlir
    %y, %s1 = llm.token_shift %x, %s0, %batch : tensor<?x64xf32>, !llm.cache<conv, [64, 1], f32>
    ```
  }];
  let arguments = (ins LLM_Rows:$input, LLM_CacheType:$state, LLM_BatchType:$batch);
  let results = (outs LLM_Rows:$result, LLM_CacheType:$next);
  let assemblyFormat = [{
    $input `,` $state `,` $batch attr-dict `:` type($input) `,` qualified(type($state))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$state,
      "::mlir::Value":$batch)>];
  let hasVerifier = 1;
}

def LLM_LinearAttentionOp : LLM_Op<"linear_attention", [AllTypesMatch<["query", "key"]>,
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Attention by a state that decays and is written to, token after token";
  let description = [{
    For each head h, with queries and keys of key head `h / (heads / key heads)` and S the
    state [key width, value width], zero at the first position, token by token:

    - with a rank one part `(a, b)`, `r = sum_d S[d, :] * a[d]`, before anything changes;
    - with `before`, `y = f32(scale) * sum_d S[d, :] * q[d]`, before anything changes;
    - `S[d, :] = exp(decay) * S[d, :]`, decay of the head, or of the key channel d;
    - `u = v`, or with `delta` `u = v - sum_d S[d, :] * k[d]`;
    - `u = beta * u` where there is a beta;
    - `S[d, :] = fma(b[d], r, S[d, :])` where there is a rank one part;
    - `S[d, :] = fma(k[d], u, S[d, :])`;
    - without `before`, `y = f32(scale) * sum_d S[d, :] * q[d]`.

    Sums are FMA chains from zero in ascending d, f32. Without delta this is the recurrence of
    Mamba-2 (k = B, q = C, v = dt x, decay = dt A; Dao and Gu, 2024) and of lightning
    attention, with it the gated delta rule (Yang et al., 2024), and Kimi delta attention with
    a decay for each channel. A transition of a diagonal and a rank one part, `diag(exp decay)
    + b a^T`, is that of RWKV-7 (Peng et al., 2025); RWKV-6 reads `before`. Destination style:
    `next` is the state after the step, in place.

    Constraints: `linear_attention_c1` the state is a recurrent cache of [heads, key width,
    value width] f32; `linear_attention_c2` queries and keys are [tokens, key heads, key
    width], heads is a multiple of the key heads; `linear_attention_c3` values are [tokens,
    heads, value width]; `linear_attention_c4` the decay is [tokens, heads] or [tokens, heads,
    key width]; `linear_attention_c5` beta is [tokens, heads]; `linear_attention_c6` the scale
    is finite and positive; `linear_attention_c7` both factors of a rank one part are there, of
    the type of the keys, without delta.

    ```mlir
    %y, %s1 = llm.linear_attention %q, %k, %v, %g beta %b, %s0, %batch delta scale 0.25
        : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4xf32>,
        !llm.cache<recurrent, [4, 16, 32], f32>, tensor<?x4xf32>
    ```
  }];
  let arguments = (ins LLM_Rows:$query, LLM_Rows:$key, LLM_Rows:$value, LLM_Rows:$decay,
      Optional<LLM_Rows>:$beta, Optional<LLM_Rows>:$rank_one_a, Optional<LLM_Rows>:$rank_one_b,
      LLM_CacheType:$state, LLM_BatchType:$batch, UnitAttr:$delta, UnitAttr:$before,
      F64Attr:$scale);
  let results = (outs LLM_Rows:$result, LLM_CacheType:$next);
  let assemblyFormat = [{
    $query `,` $key `,` $value `,` $decay (`beta` $beta^)?
    (`rank_one` $rank_one_a^ `by` $rank_one_b)? `,` $state `,` $batch
    (`delta` $delta^)? (`before` $before^)? `scale` custom<Real>($scale) attr-dict `:`
    type($query) `,` type($value) `,` type($decay) `,` qualified(type($state))
    (`,` type($beta)^)? (`rank_one` type($rank_one_a)^ `by` type($rank_one_b))?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$key,
      "::mlir::Value":$value, "::mlir::Value":$decay, "::mlir::Value":$beta,
      "::mlir::Value":$state, "::mlir::Value":$batch, "bool":$delta, "double":$scale,
      CArg<"::mlir::Value", "{}">:$rank_one_a, CArg<"::mlir::Value", "{}">:$rank_one_b,
      CArg<"bool", "false">:$before)>];
  let extraClassDeclaration = [{
    /// Whether each key channel has a decay of its own.
    bool isDecayPerChannel();
  }];
  let hasVerifier = 1;
}

#endif // LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS
