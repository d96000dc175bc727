// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @causal_conv_c1(%x: tensor<?x8xf32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>, %s: !llm.cache<recurrent, [8, 3, 1], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state must be a conv cache but is recurrent}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x8xf32>, !llm.weight<[8, 4], #llm.dense<f32>>, !llm.cache<recurrent, [8, 3, 1], f32>
  return
}

// -----

func.func @causal_conv_c2_rank(%x: tensor<?x2x4xf32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{input must have rank 2 but has rank 3}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x2x4xf32>, !llm.weight<[8, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c2_channels(%x: tensor<?x6xf32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{input dimension 1 (6) must equal state dimension 0 (8)}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x6xf32>, !llm.weight<[8, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c3_rank(%x: tensor<?x8xf32>, %w: !llm.weight<[32], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{weight must have rank 2 but has rank 1}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x8xf32>, !llm.weight<[32], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c3_grouped(%x: tensor<?x8xf32>, %w: !llm.weight<[8, 2, 4], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{weight dimension 1 (2) must be 1: every channel is convolved by itself}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x8xf32>, !llm.weight<[8, 2, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c3_channels(%x: tensor<?x8xf32>, %w: !llm.weight<[7, 1, 4], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{weight dimension 0 (7) must equal state dimension 0 (8)}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x8xf32>, !llm.weight<[7, 1, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c3_taps(%x: tensor<?x8xf32>, %w: !llm.weight<[8, 5], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state dimension 1 (3) must be one less than the taps, the last dimension of the weight (5)}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x8xf32>, !llm.weight<[8, 5], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @causal_conv_c4_rank(%x: tensor<?x8xf32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>, %b: !llm.weight<[8, 1], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{bias must have rank 1 but has rank 2}}
  %y, %t = llm.causal_conv %x, %w bias %b, %s, %batch : tensor<?x8xf32>, !llm.weight<[8, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>, !llm.weight<[8, 1], #llm.dense<f32>>
  return
}

// -----

func.func @causal_conv_c4_channels(%x: tensor<?x8xf32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>, %b: !llm.weight<[9], #llm.dense<f32>>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{bias dimension 0 (9) must equal state dimension 0 (8)}}
  %y, %t = llm.causal_conv %x, %w bias %b, %s, %batch : tensor<?x8xf32>, !llm.weight<[8, 4], #llm.dense<f32>>, !llm.cache<conv, [8, 3], f32>, !llm.weight<[9], #llm.dense<f32>>
  return
}

// -----

func.func @linear_attention_c1(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<paged, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state must be a recurrent cache but is paged}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<paged, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c2_rank(%q: tensor<?x8xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{key must have rank 3 but has rank 2}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x8xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c2_width(%q: tensor<?x2x5xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{key dimension 2 (5) must equal state dimension 1 (4)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x5xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c2_heads(%q: tensor<?x4x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{heads, state dimension 0 (6), must be a multiple of the key heads, key dimension 1 (4)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x4x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c2_dynamic(%q: tensor<?x?x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{heads, state dimension 0 (6), must be a multiple of the key heads, key dimension 1 (?)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x?x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c3_heads(%q: tensor<?x2x4xf32>, %v: tensor<?x5x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{value dimension 1 (5) must equal state dimension 0 (6)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x5x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c3_width(%q: tensor<?x2x4xf32>, %v: tensor<?x6x4xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{value dimension 2 (4) must equal state dimension 2 (3)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x4xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c3_rows(%q: tensor<2x2x4xf32>, %v: tensor<3x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{value dimension 0 (3) must equal key dimension 0 (2)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<2x2x4xf32>, tensor<3x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c4_rank(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{decay must have rank 2 but has rank 1}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c4_heads(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x2xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{decay dimension 1 (2) must equal state dimension 0 (6)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x2xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c4_width(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6x3xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{decay dimension 2 (3) must equal state dimension 1 (4)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6x3xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c5_rank(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %b: tensor<?x6x3xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{beta must have rank 2 but has rank 3}}
  %y, %t = llm.linear_attention %q, %q, %v, %g beta %b, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>, tensor<?x6x3xf32>
  return
}

// -----

func.func @linear_attention_c5_heads(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %b: tensor<?x1xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{beta dimension 1 (1) must equal state dimension 0 (6)}}
  %y, %t = llm.linear_attention %q, %q, %v, %g beta %b, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>, tensor<?x1xf32>
  return
}

// -----

func.func @linear_attention_c6(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{scale must be finite and positive but is 0}}
  %y, %t = llm.linear_attention %q, %q, %v, %g, %s, %batch delta scale 0.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32>
  return
}

// -----

func.func @linear_attention_c7_type(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %b: tensor<?x6x4xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{factor of a rank one part must be 'tensor<?x2x4xf32>' as the keys but is 'tensor<?x6x4xf32>'}}
  %y, %t = llm.linear_attention %q, %q, %v, %g rank_one %q by %b, %s, %batch scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32> rank_one tensor<?x2x4xf32> by tensor<?x6x4xf32>
  return
}

// -----

func.func @linear_attention_c7_delta(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{has delta and a rank one part: what is taken back from the state is said by one of them}}
  %y, %t = llm.linear_attention %q, %q, %v, %g rank_one %q by %q, %s, %batch delta scale 1.0 : tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, !llm.cache<recurrent, [6, 4, 3], f32> rank_one tensor<?x2x4xf32> by tensor<?x2x4xf32>
  return
}

// -----

func.func @linear_attention_c7_one(%q: tensor<?x2x4xf32>, %v: tensor<?x6x3xf32>, %g: tensor<?x6xf32>, %s: !llm.cache<recurrent, [6, 4, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{needs both factors of a rank one part, or neither}}
  %y, %t = "llm.linear_attention"(%q, %q, %v, %g, %q, %s, %batch) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 1, 1>, scale = 1.0 : f64}> : (tensor<?x2x4xf32>, tensor<?x2x4xf32>, tensor<?x6x3xf32>, tensor<?x6xf32>, tensor<?x2x4xf32>, !llm.cache<recurrent, [6, 4, 3], f32>, !llm.batch) -> (tensor<?x6x3xf32>, !llm.cache<recurrent, [6, 4, 3], f32>)
  return
}

// -----

func.func @token_shift_c1_kind(%x: tensor<?x8xf32>, %s: !llm.cache<recurrent, [8, 1, 1], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state must be a conv cache but is recurrent}}
  %y, %t = llm.token_shift %x, %s, %batch : tensor<?x8xf32>, !llm.cache<recurrent, [8, 1, 1], f32>
  return
}

// -----

func.func @token_shift_c1_rows(%x: tensor<?x8xf32>, %s: !llm.cache<conv, [8, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state dimension 1 (3) must be 1: one row of each sequence}}
  %y, %t = llm.token_shift %x, %s, %batch : tensor<?x8xf32>, !llm.cache<conv, [8, 3], f32>
  return
}

// -----

func.func @token_shift_c2(%x: tensor<?x6xf32>, %s: !llm.cache<conv, [8, 1], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{input dimension 1 (6) must equal state dimension 0 (8)}}
  %y, %t = llm.token_shift %x, %s, %batch : tensor<?x6xf32>, !llm.cache<conv, [8, 1], f32>
  return
}
