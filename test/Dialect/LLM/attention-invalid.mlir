// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @split_heads_c1_width(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{input dimension 1 (64) must equal result heads times width (3 * 16 = 48)}}
  %y = llm.split_heads %x : tensor<?x64xf32> -> tensor<?x3x16xf32>
  return
}

// -----

func.func @split_heads_c1_rank(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{result must have rank 3 but has rank 2}}
  %y = llm.split_heads %x : tensor<?x64xf32> -> tensor<?x64xf32>
  return
}

// -----

func.func @split_heads_c1_rows(%x: tensor<3x64xf32>) {
  // expected-error @+1 {{input dimension 0 (3) must equal result dimension 0 (4)}}
  %y = llm.split_heads %x : tensor<3x64xf32> -> tensor<4x4x16xf32>
  return
}

// -----

func.func @merge_heads_c1_width(%x: tensor<?x4x16xf32>) {
  // expected-error @+1 {{result dimension 1 (48) must equal input heads times width (4 * 16 = 64)}}
  %y = llm.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x48xf32>
  return
}

// -----

func.func @merge_heads_c1_dynamic(%x: tensor<?x?x16xf32>) {
  // expected-error @+1 {{input dimension 1 must be static}}
  %y = llm.merge_heads %x : tensor<?x?x16xf32> -> tensor<?x64xf32>
  return
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>
func.func @rotary_c1(%x: tensor<?x64xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{input must have rank 3 but has rank 2}}
  %y = llm.rotary %x, %batch rope(#rope) : tensor<?x64xf32>
  return
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 5, halves, magnitude = 1.0, [1.0, 0.5]>
func.func @rotary_c2_odd(%x: tensor<?x4x16xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{rotary width must be even but is 5}}
  %y = llm.rotary %x, %batch rope(#rope) : tensor<?x4x16xf32>
  return
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>
func.func @rotary_c2_wide(%x: tensor<?x4x2xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{rotary width (4) must be at most the head width, input dimension 2 (2)}}
  %y = llm.rotary %x, %batch rope(#rope) : tensor<?x4x2xf32>
  return
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 8, halves, magnitude = 1.0, [1.0, 0.5]>
func.func @rotary_c3(%x: tensor<?x4x16xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{number of frequencies (2) must be half the rotary width (4)}}
  %y = llm.rotary %x, %batch rope(#rope) : tensor<?x4x16xf32>
  return
}

// -----

func.func @kv_append_c1(%k: tensor<?x2x16xf32>, %cache: !llm.cache<conv, [2, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be paged, window or latent but is conv}}
  %y = llm.kv_append %k, %k, %cache, %batch : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !llm.cache<conv, [2, 16], f32>
  return
}

// -----

func.func @kv_append_c3_latent(%k: tensor<?x1x16xf32>, %cache: !llm.cache<latent, [1, 16, 8], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{takes no value: a latent cache keeps keys alone}}
  %y = llm.kv_append %k, %k, %cache, %batch : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !llm.cache<latent, [1, 16, 8], f32>
  return
}

// -----

func.func @kv_append_c3_paged(%k: tensor<?x2x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{needs a value: only a latent cache keeps keys alone}}
  %y = llm.kv_append %k, %cache, %batch : tensor<?x2x16xf32>, !llm.cache<paged, [2, 16, 16], f32>
  return
}

// -----

func.func @kv_append_operands(%k: tensor<?x2x16xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{expected a key, a value unless the cache is latent, the cache and the batch, got 2 operands}}
  %y = llm.kv_append %k, %batch : tensor<?x2x16xf32>
  return
}

// -----

func.func @kv_append_c2_heads(%k: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{key dimension 1 (4) must equal cache dimension 0 (2)}}
  %y = llm.kv_append %k, %k, %cache, %batch : tensor<?x4x16xf32>, tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32>
  return
}

// -----

func.func @kv_append_c2_value(%k: tensor<?x2x16xf32>, %v: tensor<?x2x8xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{value dimension 2 (8) must equal cache dimension 2 (16)}}
  %y = llm.kv_append %k, %v, %cache, %batch : tensor<?x2x16xf32>, tensor<?x2x8xf32>, !llm.cache<paged, [2, 16, 16], f32>
  return
}

// -----

func.func @paged_attention_c1_kind(%q: tensor<?x4x16xf32>, %cache: !llm.cache<conv, [2, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be paged, window or latent but is conv}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 : tensor<?x4x16xf32>, !llm.cache<conv, [2, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c1_index(%q: tensor<?x4x16xf32>, %cache: !llm.cache<latent, [1, 16, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{needs a cache with values, its value width is 0}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 : tensor<?x4x16xf32>, !llm.cache<latent, [1, 16, 0], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c4_sinks(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %s: !llm.weight<[3], #llm.dense<f32>>, %batch: !llm.batch) {
  // expected-error @+1 {{sinks dimension 0 (3) must equal query dimension 1 (4)}}
  %y = llm.paged_attention %q, %cache, %batch sinks %s : !llm.weight<[3], #llm.dense<f32>> scale 0.25 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c4_slopes(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{number of slopes (2) must equal query dimension 1 (4)}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 slopes [1.0, 0.5] : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c5(%q: tensor<3x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %j: tensor<4x5xi32>, %batch: !llm.batch) {
  // expected-error @+1 {{selection dimension 0 (4) must equal query dimension 0 (3)}}
  %y = llm.paged_attention %q, %cache, %batch selection %j : tensor<4x5xi32> scale 0.25 : tensor<3x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<3x4x16xf32>
  return
}

// -----

func.func @select_positions_c1_kind(%q: tensor<?x4x16xf32>, %w: tensor<?x4xf32>, %cache: !llm.cache<paged, [1, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must be latent but is paged}}
  %y = llm.select_positions %q, %w, %cache, %batch top 3 : tensor<?x4x16xf32>, tensor<?x4xf32>, !llm.cache<paged, [1, 16, 16], f32> -> tensor<?x3xi32>
  return
}

// -----

func.func @select_positions_c1_heads(%q: tensor<?x4x16xf32>, %w: tensor<?x4xf32>, %cache: !llm.cache<latent, [2, 16, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{cache must have one head without values but is [2, 16, 0]}}
  %y = llm.select_positions %q, %w, %cache, %batch top 3 : tensor<?x4x16xf32>, tensor<?x4xf32>, !llm.cache<latent, [2, 16, 0], f32> -> tensor<?x3xi32>
  return
}

// -----

func.func @select_positions_c2(%q: tensor<?x4x16xf32>, %w: tensor<?x3xf32>, %cache: !llm.cache<latent, [1, 16, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{weights dimension 1 (3) must equal query dimension 1 (4)}}
  %y = llm.select_positions %q, %w, %cache, %batch top 3 : tensor<?x4x16xf32>, tensor<?x3xf32>, !llm.cache<latent, [1, 16, 0], f32> -> tensor<?x3xi32>
  return
}

// -----

func.func @select_positions_c3(%q: tensor<?x4x16xf32>, %w: tensor<?x4xf32>, %cache: !llm.cache<latent, [1, 16, 0], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 1 (3) must equal top (4)}}
  %y = llm.select_positions %q, %w, %cache, %batch top 4 : tensor<?x4x16xf32>, tensor<?x4xf32>, !llm.cache<latent, [1, 16, 0], f32> -> tensor<?x3xi32>
  return
}

// -----

func.func @head_linear_c1(%x: tensor<?x4x16xf32>, %w: !llm.weight<[4, 8, 15], #llm.dense<f32>>) {
  // expected-error @+1 {{weight dimension 2 (15) must equal input dimension 2 (16)}}
  %y = llm.head_linear %x, %w : tensor<?x4x16xf32>, !llm.weight<[4, 8, 15], #llm.dense<f32>> -> tensor<?x4x8xf32>
  return
}

// -----

func.func @head_linear_c2(%x: tensor<?x4x16xf32>, %w: !llm.weight<[4, 8, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 2 (16) must equal weight dimension 1 (8)}}
  %y = llm.head_linear %x, %w : tensor<?x4x16xf32>, !llm.weight<[4, 8, 16], #llm.dense<f32>> -> tensor<?x4x16xf32>
  return
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>
func.func @rotary_c2_from(%x: tensor<?x4x16xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{rotary width (4) from channel 13 on must lie inside the head width, input dimension 2 (16)}}
  %y = llm.rotary %x, %batch rope(#rope) from 13 : tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c1_heads(%q: tensor<?x3x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{query dimension 1 (3) must be a multiple of the kv heads, cache dimension 0 (2)}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 : tensor<?x3x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x3x16xf32>
  return
}

// -----

func.func @paged_attention_c1_key_width(%q: tensor<?x4x8xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{query dimension 2 (8) must equal cache dimension 1 (16)}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 : tensor<?x4x8xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c2(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 32], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 2 (16) must equal cache dimension 2 (32)}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 32], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c3_scale(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{scale must be finite and positive but is -0.25}}
  %y = llm.paged_attention %q, %cache, %batch scale -0.25 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c3_window(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{window must be positive but is -4}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 window -4 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c3_chunk(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{chunk must be positive but is 0}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 chunk 0 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @paged_attention_c3_softcap(%q: tensor<?x4x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // expected-error @+1 {{softcap must be finite and positive but is 0}}
  %y = llm.paged_attention %q, %cache, %batch scale 0.25 softcap 0.0 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  return
}

// -----

#rope = #llm.rope<"longrope", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5], long [1.0] beyond 8>
func.func @rotary_c3_long(%x: tensor<?x4x16xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{number of long frequencies (1) must be half the rotary width (2)}}
  %y = llm.rotary %x, %batch rope(#rope) : tensor<?x4x16xf32>
  return
}
