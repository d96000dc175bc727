// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --emit-bytecode | llmc-opt - | FileCheck %s

!conv = !llm.cache<conv, [64, 3], f32>
!state = !llm.cache<recurrent, [4, 16, 32], f32>

// CHECK-LABEL: func.func @causal_conv
func.func @causal_conv(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 1, 4], #llm.dense<bf16>>, %m: !llm.weight<[64, 4], #llm.dense<f32>>, %b: !llm.weight<[64], #llm.dense<f32>>, %s: !conv, %t: !conv, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]], %[[NEXT:.*]] = llm.causal_conv %{{.*}}, %{{.*}} bias %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, !llm.weight<[64, 1, 4], #llm.dense<bf16>>, !llm.cache<conv, [64, 3], f32>, !llm.weight<[64], #llm.dense<f32>>
  %y, %s1 = llm.causal_conv %x, %w bias %b, %s, %batch : tensor<?x64xf32>, !llm.weight<[64, 1, 4], #llm.dense<bf16>>, !conv, !llm.weight<[64], #llm.dense<f32>>
  // CHECK: llm.causal_conv %[[Y]], %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, !llm.weight<[64, 4], #llm.dense<f32>>, !llm.cache<conv, [64, 3], f32>
  %z, %t1 = llm.causal_conv %y, %m, %t, %batch : tensor<?x64xf32>, !llm.weight<[64, 4], #llm.dense<f32>>, !conv
  return %z : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @linear_attention
func.func @linear_attention(%q: tensor<?x2x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x4x32xf32>, %g: tensor<?x4xf32>, %gc: tensor<?x4x16xf32>, %b: tensor<?x4xf32>, %s: !state, %t: !state, %batch: !llm.batch) -> tensor<?x4x32xf32> {
  // CHECK: %[[Y:.*]], %{{.*}} = llm.linear_attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} beta %{{.*}}, %{{.*}}, %{{.*}} delta scale 0.25 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4xf32>, !llm.cache<recurrent, [4, 16, 32], f32>, tensor<?x4xf32>
  %y, %s1 = llm.linear_attention %q, %k, %v, %g beta %b, %s, %batch delta scale 0.25 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4xf32>, !state, tensor<?x4xf32>
  // CHECK: llm.linear_attention %{{.*}}, %{{.*}}, %[[Y]], %{{.*}}, %{{.*}}, %{{.*}} scale 1.0 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4x16xf32>, !llm.cache<recurrent, [4, 16, 32], f32>
  %z, %t1 = llm.linear_attention %q, %k, %y, %gc, %t, %batch scale 1.0 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4x16xf32>, !state
  return %z : tensor<?x4x32xf32>
}

// CHECK-LABEL: func.func @token_shift
func.func @token_shift(%x: tensor<?x64xf32>, %s: !llm.cache<conv, [64, 1], f32>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: %{{.*}}, %{{.*}} = llm.token_shift %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x64xf32>, !llm.cache<conv, [64, 1], f32>
  %y, %s1 = llm.token_shift %x, %s, %batch : tensor<?x64xf32>, !llm.cache<conv, [64, 1], f32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @rank_one
func.func @rank_one(%q: tensor<?x2x16xf32>, %a: tensor<?x2x16xf32>, %b: tensor<?x2x16xf32>, %v: tensor<?x4x32xf32>, %g: tensor<?x4x16xf32>, %s: !state, %batch: !llm.batch) -> tensor<?x4x32xf32> {
  // CHECK: llm.linear_attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} rank_one %{{.*}} by %{{.*}}, %{{.*}}, %{{.*}} before scale 1.0 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4x16xf32>, !llm.cache<recurrent, [4, 16, 32], f32> rank_one tensor<?x2x16xf32> by tensor<?x2x16xf32>
  %y, %s1 = llm.linear_attention %q, %q, %v, %g rank_one %a by %b, %s, %batch before scale 1.0 : tensor<?x2x16xf32>, tensor<?x4x32xf32>, tensor<?x4x16xf32>, !state rank_one tensor<?x2x16xf32> by tensor<?x2x16xf32>
  return %y : tensor<?x4x32xf32>
}
