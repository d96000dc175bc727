// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --emit-bytecode | llmc-opt - | FileCheck %s

// CHECK: #[[$ROPE:.*]] = #llm.rope<"yarn", base = 500000.0, width = 8, interleaved, magnitude = 1.25, [1.0, 0.5, 0.33333334, 1.25e-05]>
#yarn = #llm.rope<"yarn", base = 500000.0, width = 8, interleaved, magnitude = 1.25, [1.0, 0.5, 0.33333333, 1.25e-5]>
// CHECK: #[[$LONG:.*]] = #llm.rope<"longrope", base = 10000.0, width = 4, halves, magnitude = 1.5, [1.0, 0.5], long [0.75, 0.0] beyond 4096>
#long = #llm.rope<"longrope", base = 10000.0, width = 4, halves, magnitude = 1.5, [1.0, 0.5], long [0.75, 0.0] beyond 4096>
!kv = !llm.cache<paged, [2, 16, 32], f32>

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<?x64xf32>, %k: tensor<?x32xf32>, %v: tensor<?x64xf32>, %cache: !kv, %batch: !llm.batch) -> tensor<?x128xf32> {
  // CHECK: %[[Q:.*]] = llm.split_heads %{{.*}} : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %qh = llm.split_heads %q : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %kh = llm.split_heads %k : tensor<?x32xf32> -> tensor<?x2x16xf32>
  %vh = llm.split_heads %v : tensor<?x64xf32> -> tensor<?x2x32xf32>
  // CHECK: %[[TURNED:.*]] = llm.rotary %[[Q]], %{{.*}} rope(#[[$ROPE]]) : tensor<?x4x16xf32>
  %qr = llm.rotary %qh, %batch rope(#yarn) : tensor<?x4x16xf32>
  %kr = llm.rotary %kh, %batch rope(#yarn) : tensor<?x2x16xf32>
  // CHECK: %[[CACHE:.*]] = llm.kv_append %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2x16xf32>, tensor<?x2x32xf32>, !llm.cache<paged, [2, 16, 32], f32>
  %after = llm.kv_append %kr, %vh, %cache, %batch : tensor<?x2x16xf32>, tensor<?x2x32xf32>, !kv
  // CHECK: llm.paged_attention %[[TURNED]], %[[CACHE]], %{{.*}} scale 0.25 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 32], f32> -> tensor<?x4x32xf32>
  %a = llm.paged_attention %qr, %after, %batch scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x32xf32>
  // CHECK: llm.merge_heads %{{.*}} : tensor<?x4x32xf32> -> tensor<?x128xf32>
  %m = llm.merge_heads %a : tensor<?x4x32xf32> -> tensor<?x128xf32>
  return %m : tensor<?x128xf32>
}

// CHECK-LABEL: func.func @window
func.func @window(%q: tensor<?x4x16xf32>, %cache: !llm.cache<window, [2, 16, 16], bf16>, %batch: !llm.batch) -> tensor<?x4x16xf32> {
  // CHECK: llm.paged_attention {{.*}} scale 0.25 window 128 : tensor<?x4x16xf32>, !llm.cache<window, [2, 16, 16], bf16> -> tensor<?x4x16xf32>
  %a = llm.paged_attention %q, %cache, %batch scale 0.25 window 128 : tensor<?x4x16xf32>, !llm.cache<window, [2, 16, 16], bf16> -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @bounded
func.func @bounded(%q: tensor<?x4x16xf32>, %cache: !kv, %batch: !llm.batch) -> tensor<?x4x32xf32> {
  // CHECK: llm.rotary %{{.*}}, %{{.*}} rope(#[[$LONG]])
  %t = llm.rotary %q, %batch rope(#long) : tensor<?x4x16xf32>
  // CHECK: llm.paged_attention {{.*}} scale 0.25 window 128 chunk 64 softcap 50.0 : tensor<?x4x16xf32>
  %a = llm.paged_attention %t, %cache, %batch scale 0.25 window 128 chunk 64 softcap 50.0 : tensor<?x4x16xf32>, !kv -> tensor<?x4x32xf32>
  return %a : tensor<?x4x32xf32>
}

// CHECK-LABEL: func.func @latent
func.func @latent(%k: tensor<?x1x24xf32>, %ik: tensor<?x1x16xf32>, %q: tensor<?x6x24xf32>,
    %iq: tensor<?x4x16xf32>, %iw: tensor<?x4xf32>, %w: !llm.weight<[6, 10, 20], #llm.dense<f32>>,
    %sinks: !llm.weight<[6], #llm.dense<f32>>, %batch: !llm.batch,
    %c: !llm.cache<latent, [1, 24, 20], f32>, %i: !llm.cache<latent, [1, 16, 0], f32>) {
  // CHECK: llm.kv_append %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x1x24xf32>, !llm.cache<latent, [1, 24, 20], f32>
  %c1 = llm.kv_append %k, %c, %batch : tensor<?x1x24xf32>, !llm.cache<latent, [1, 24, 20], f32>
  %i1 = llm.kv_append %ik, %i, %batch : tensor<?x1x16xf32>, !llm.cache<latent, [1, 16, 0], f32>
  // CHECK: llm.select_positions %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} top 11 : tensor<?x4x16xf32>, tensor<?x4xf32>, !llm.cache<latent, [1, 16, 0], f32> -> tensor<?x11xi32>
  %j = llm.select_positions %iq, %iw, %i1, %batch top 11 : tensor<?x4x16xf32>, tensor<?x4xf32>,
      !llm.cache<latent, [1, 16, 0], f32> -> tensor<?x11xi32>
  // CHECK: llm.no_positions %{{.*}} : tensor<?x11xi32>
  %n = llm.no_positions %batch : tensor<?x11xi32>
  // CHECK: llm.paged_attention %{{.*}}, %{{.*}}, %{{.*}} sinks %{{.*}} : !llm.weight<[6], #llm.dense<f32>> selection %{{.*}} : tensor<?x11xi32> scale 0.5 : tensor<?x6x24xf32>, !llm.cache<latent, [1, 24, 20], f32> -> tensor<?x6x20xf32>
  %y = llm.paged_attention %q, %c1, %batch sinks %sinks : !llm.weight<[6], #llm.dense<f32>>
      selection %j : tensor<?x11xi32> scale 0.5
      : tensor<?x6x24xf32>, !llm.cache<latent, [1, 24, 20], f32> -> tensor<?x6x20xf32>
  // CHECK: llm.paged_attention %{{.*}}, %{{.*}}, %{{.*}} scale 0.5 slopes [1.000000e+00, 5.000000e-01, 2.500000e-01, 1.250000e-01, 6.250000e-02, 3.125000e-02]
  %z = llm.paged_attention %q, %c1, %batch scale 0.5 slopes [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125]
      : tensor<?x6x24xf32>, !llm.cache<latent, [1, 24, 20], f32> -> tensor<?x6x20xf32>
  // CHECK: llm.head_linear %{{.*}}, %{{.*}} : tensor<?x6x20xf32>, !llm.weight<[6, 10, 20], #llm.dense<f32>> -> tensor<?x6x10xf32>
  %h = llm.head_linear %y, %w : tensor<?x6x20xf32>, !llm.weight<[6, 10, 20], #llm.dense<f32>>
      -> tensor<?x6x10xf32>
  return
}

#part = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>
// CHECK-LABEL: func.func @rotary_from
func.func @rotary_from(%x: tensor<?x4x16xf32>, %batch: !llm.batch) {
  // CHECK: llm.rotary %{{.*}}, %{{.*}} rope(#{{.*}}) from 12 : tensor<?x4x16xf32>
  %y = llm.rotary %x, %batch rope(#part) from 12 : tensor<?x4x16xf32>
  return
}
