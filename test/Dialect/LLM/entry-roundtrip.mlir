// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --emit-bytecode | llmc-opt - | FileCheck %s

!entries = !llm.cache<entries, [4, 8, 8], f32>
!index = !llm.cache<entries, [4, 6, 0], f32>
!near = !llm.cache<latent, [1, 8, 8], f32>

// CHECK-LABEL: func.func @pool_tokens
func.func @pool_tokens(%v: tensor<?x16xf32>, %g: tensor<?x16xf32>, %b: !llm.weight<[4, 16], #llm.dense<f32>>, %s: !llm.cache<conv, [32, 7], f32>, %t: !llm.cache<conv, [32, 3], f32>, %batch: !llm.batch) -> tensor<?x16xf32> {
  // CHECK: llm.pool_tokens %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} overlap : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 7], f32> -> tensor<?x8xf32>
  %y, %s1 = llm.pool_tokens %v, %g, %b, %s, %batch overlap : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 7], f32> -> tensor<?x8xf32>
  // CHECK: %[[Z:.*]], %{{.*}} = llm.pool_tokens %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x16xf32>
  %z, %t1 = llm.pool_tokens %v, %g, %b, %t, %batch : tensor<?x16xf32>, !llm.weight<[4, 16], #llm.dense<f32>>, !llm.cache<conv, [32, 3], f32> -> tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @joint_attention
func.func @joint_attention(%x: tensor<?x8xf32>, %i: tensor<?x6xf32>, %q: tensor<?x2x8xf32>, %p: tensor<?x3x6xf32>, %w: tensor<?x3xf32>, %n: !near, %e: !entries, %k: !index, %s: !llm.weight<[2], #llm.dense<f32>>, %batch: !llm.batch) -> tensor<?x2x8xf32> {
  // CHECK: %[[E:.*]] = llm.entry_append %{{.*}}, %{{.*}}, %{{.*}} rope(#rope) from 4 : tensor<?x8xf32>, !llm.cache<entries, [4, 8, 8], f32>
  %e1 = llm.entry_append %x, %e, %batch rope(#llm.rope<"default", base = 10000.0, width = 4, interleaved, magnitude = 1.0, [1.0, 0.01]>) from 4 : tensor<?x8xf32>, !entries
  // CHECK: %[[K:.*]] = llm.entry_append %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x6xf32>, !llm.cache<entries, [4, 6, 0], f32>
  %k1 = llm.entry_append %i, %k, %batch : tensor<?x6xf32>, !index
  // CHECK: %[[J:.*]] = llm.select_entries %{{.*}}, %{{.*}}, %[[K]], %{{.*}} top 5 : tensor<?x3x6xf32>, tensor<?x3xf32>, !llm.cache<entries, [4, 6, 0], f32> -> tensor<?x5xi32>
  %j = llm.select_entries %p, %w, %k1, %batch top 5 : tensor<?x3x6xf32>, tensor<?x3xf32>, !index -> tensor<?x5xi32>
  // CHECK: llm.joint_attention %{{.*}}, %{{.*}}, %[[E]], %{{.*}} sinks %{{.*}} : !llm.weight<[2], #llm.dense<f32>> selection %[[J]] : tensor<?x5xi32> scale 0.25 window 128 : tensor<?x2x8xf32>, !llm.cache<latent, [1, 8, 8], f32>, !llm.cache<entries, [4, 8, 8], f32> -> tensor<?x2x8xf32>
  %y = llm.joint_attention %q, %n, %e1, %batch sinks %s : !llm.weight<[2], #llm.dense<f32>> selection %j : tensor<?x5xi32> scale 0.25 window 128 : tensor<?x2x8xf32>, !near, !entries -> tensor<?x2x8xf32>
  // CHECK: llm.joint_attention %{{.*}}, %{{.*}}, %[[E]], %{{.*}} scale 0.25 : tensor<?x2x8xf32>
  %z = llm.joint_attention %y, %n, %e1, %batch scale 0.25 : tensor<?x2x8xf32>, !near, !entries -> tensor<?x2x8xf32>
  return %z : tensor<?x2x8xf32>
}

// CHECK-LABEL: func.func @sinkhorn
func.func @sinkhorn(%x: tensor<?x4x4xf32>) -> tensor<?x4x4xf32> {
  // CHECK: llm.sinkhorn %{{.*}} steps 20 eps 1.0e-06 : tensor<?x4x4xf32>
  %y = llm.sinkhorn %x steps 20 eps 1.0e-6 : tensor<?x4x4xf32>
  return %y : tensor<?x4x4xf32>
}
