// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @pool_tokens_c1_rank(%v: tensor<?x2x8xf32>, %b: !llm.weight<[4, 16], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{values must have rank 2 but has rank 3}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch : tensor<?x2x8xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x16xf32>
  return
}

// -----

func.func @pool_tokens_c1_odd(%v: tensor<?x15xf32>, %b: !llm.weight<[4, 15], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{values dimension 1 must be static, and even with overlap, but is 15}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch overlap : tensor<?x15xf32>, !llm.weight<[4, 15], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x16xf32>
  return
}

// -----

func.func @pool_tokens_c2(%v: tensor<?x16xf32>, %b: !llm.weight<[4, 8], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{bias dimension 1 (8) must equal values dimension 1 (16)}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch : tensor<?x16xf32>, !llm.weight<[4, 8], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x16xf32>
  return
}

// -----

func.func @pool_tokens_c3_kind(%v: tensor<?x16xf32>, %b: !llm.weight<[4, 16], #llm.dense<f32>>, %s: !llm.cache<recurrent, [1, 32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state must be of kind conv but is of kind recurrent}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<recurrent, [1, 32, 3], f32> -> tensor<?x16xf32>
  return
}

// -----

func.func @pool_tokens_c3_shape(%v: tensor<?x16xf32>, %b: !llm.weight<[4, 16], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{state must be [32, 7], values and gates of the rows before the last, but is [32, 3]}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch overlap : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x8xf32>
  return
}

// -----

func.func @pool_tokens_c4(%v: tensor<?x16xf32>, %b: !llm.weight<[4, 16], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 1 must be 16 but is 8}}
  %y, %t = llm.pool_tokens %v, %v, %b, %s, %batch : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x8xf32>
  return
}

// -----

func.func @entry_append_c1(%x: tensor<?x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be of kind entries but is of kind latent}}
  %y = llm.entry_append %x, %c, %batch : tensor<?x8xf32>, !llm.cache<latent, [1, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c2(%x: tensor<?x6xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{input dimension 1 (6) must equal cache dimension 1 (8)}}
  %y = llm.entry_append %x, %c, %batch : tensor<?x6xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c3_from(%x: tensor<?x8xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{rotary width (4) from channel 5 on must lie inside the key, cache dimension 1 (8)}}
  %y = llm.entry_append %x, %c, %batch rope(#llm.rope<"default", base = 10000.0, width = 4, interleaved, magnitude = 1.0, [1.0, 0.01]>) from 5 : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c3_nothing(%x: tensor<?x8xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{nothing turns from channel 2 on}}
  %y = llm.entry_append %x, %c, %batch from 2 : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c3_odd(%x: tensor<?x8xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{rotary width must be even but is 3}}
  %y = llm.entry_append %x, %c, %batch rope(#llm.rope<"default", base = 10000.0, width = 3, halves, magnitude = 1.0, [1.0]>) : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c3_count(%x: tensor<?x8xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{number of frequencies (1) must be half the rotary width (2)}}
  %y = llm.entry_append %x, %c, %batch rope(#llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0]>) : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @entry_append_c3_long(%x: tensor<?x8xf32>, %c: !llm.cache<entries, [4, 8, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{an entry turns once}}
  %y = llm.entry_append %x, %c, %batch rope(#llm.rope<"longrope", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0], long [0.5] beyond 8>) : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  return
}

// -----

func.func @select_entries_c1_kind(%q: tensor<?x3x6xf32>, %w: tensor<?x3xf32>, %c: !llm.cache<latent, [1, 6, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be of kind entries but is of kind latent}}
  %y = llm.select_entries %q, %w, %c, %batch top 5 : tensor<?x3x6xf32>, tensor<?x3xf32>, !llm.cache<latent, [1, 6, 0], f32> -> tensor<?x5xi32>
  return
}

// -----

func.func @select_entries_c1_values(%q: tensor<?x3x6xf32>, %w: tensor<?x3xf32>, %c: !llm.cache<entries, [4, 6, 6], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must have no values but has width 6}}
  %y = llm.select_entries %q, %w, %c, %batch top 5 : tensor<?x3x6xf32>, tensor<?x3xf32>, !llm.cache<entries, [4, 6, 6], f32> -> tensor<?x5xi32>
  return
}

// -----

func.func @select_entries_c1_width(%q: tensor<?x3x5xf32>, %w: tensor<?x3xf32>, %c: !llm.cache<entries, [4, 6, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{query dimension 2 (5) must equal cache dimension 1 (6)}}
  %y = llm.select_entries %q, %w, %c, %batch top 5 : tensor<?x3x5xf32>, tensor<?x3xf32>, !llm.cache<entries, [4, 6, 0], f32> -> tensor<?x5xi32>
  return
}

// -----

func.func @select_entries_c2(%q: tensor<?x3x6xf32>, %w: tensor<?x2xf32>, %c: !llm.cache<entries, [4, 6, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{weights dimension 1 (2) must equal query dimension 1 (3)}}
  %y = llm.select_entries %q, %w, %c, %batch top 5 : tensor<?x3x6xf32>, tensor<?x2xf32>, !llm.cache<entries, [4, 6, 0], f32> -> tensor<?x5xi32>
  return
}

// -----

func.func @select_entries_c3_top(%q: tensor<?x3x6xf32>, %w: tensor<?x3xf32>, %c: !llm.cache<entries, [4, 6, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{top must be positive but is 0}}
  %y = llm.select_entries %q, %w, %c, %batch top 0 : tensor<?x3x6xf32>, tensor<?x3xf32>, !llm.cache<entries, [4, 6, 0], f32> -> tensor<?x5xi32>
  return
}

// -----

func.func @select_entries_c3_result(%q: tensor<?x3x6xf32>, %w: tensor<?x3xf32>, %c: !llm.cache<entries, [4, 6, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 1 (4) must equal top (5)}}
  %y = llm.select_entries %q, %w, %c, %batch top 5 : tensor<?x3x6xf32>, tensor<?x3xf32>, !llm.cache<entries, [4, 6, 0], f32> -> tensor<?x4xi32>
  return
}

// -----

func.func @joint_attention_c1_cache(%q: tensor<?x2x8xf32>, %c: !llm.cache<paged, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be of kind latent but is of kind paged}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<paged, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c1_entries(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<latent, [1, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{entries must be of kind entries but is of kind latent}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<latent, [1, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c1_heads(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [2, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must have one head with values but is [2, 8, 8]}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<latent, [2, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c1_widths(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 6], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{entries dimension 2 (6) must equal cache dimension 2 (8)}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 6], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c2_query(%q: tensor<?x2x6xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{query dimension 2 (6) must equal cache dimension 1 (8)}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x6xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c2_result(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 1 (3) must equal query dimension 1 (2)}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x3x8xf32>
  return
}

// -----

func.func @joint_attention_c3_scale(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{scale must be finite and positive but is 0}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.0 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c3_window(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{window must be positive but is 0}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 0 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c4(%q: tensor<?x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[3], #llm.dense<f32>>, %j: tensor<?x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{sinks dimension 0 (3) must equal query dimension 1 (2)}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[3], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 4 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @joint_attention_c5(%q: tensor<3x2x8xf32>, %c: !llm.cache<latent, [1, 8, 8], f32>, %e: !llm.cache<entries, [4, 8, 8], f32>, %s: !llm.weight<[2], #llm.dense<f32>>, %j: tensor<4x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{selection dimension 0 (4) must equal query dimension 0 (3)}}
  %y = llm.joint_attention %q, %c, %e, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<4x5xi32> scale 0.25 window 4 : tensor<3x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<3x2x8xf32>
  return
}

// -----

func.func @sinkhorn_c1(%x: tensor<?x4x5xf32>) {
  // expected-error @+1 {{input dimension 1 (4) must equal input dimension 2 (5)}}
  %y = llm.sinkhorn %x steps 3 eps 0.5 : tensor<?x4x5xf32>
  return
}

// -----

func.func @sinkhorn_c2_steps(%x: tensor<?x4x4xf32>) {
  // expected-error @+1 {{steps must be from 1 to 1000 but are 0}}
  %y = llm.sinkhorn %x steps 0 eps 0.5 : tensor<?x4x4xf32>
  return
}

// -----

func.func @sinkhorn_c2_epsilon(%x: tensor<?x4x4xf32>) {
  // expected-error @+1 {{epsilon must be finite and not negative but is -0.5}}
  %y = llm.sinkhorn %x steps 3 eps -0.5 : tensor<?x4x4xf32>
  return
}
