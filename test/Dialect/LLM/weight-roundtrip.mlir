// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --emit-bytecode | llmc-opt - | FileCheck %s

// CHECK: #q4_1_blocks = #llm.blocks<"q4_1", bits = 4, size = 32, scale = f16, zero = 0, order = halves, min = f16>
// CHECK: #q8_0_blocks = #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>
#q4_1 = #llm.blocks<"q4_1", bits = 4, size = 32, scale = f16, zero = 0, order = halves, min = f16>
#q8_0 = #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>

// CHECK: llm.weight_family @embed "model.embed_tokens.weight" : !llm.weight<[256, 64], #llm.dense<bf16>>
llm.weight_family @embed "model.embed_tokens.weight" : !llm.weight<[256, 64], #llm.dense<bf16>>
// CHECK: llm.weight_family @q "model.layers.{i}.q.weight" from "blk.{i}.attn_q.weight" layers [0, 2, 3, 4] : !llm.weight<[64, 64], #q4_1_blocks>
llm.weight_family @q "model.layers.{i}.q.weight" from "blk.{i}.attn_q.weight" layers [0, 2, 3, 4] : !llm.weight<[64, 64], #q4_1>
// CHECK: llm.weight_family @down "down.{i}" layers [0, 4] : !llm.weight<[8, 64, 32], #q8_0_blocks>
llm.weight_family @down "down.{i}" layers [0, 4] : !llm.weight<[8, 64, 32], #q8_0>
// CHECK: llm.weight_family @k "c_attn.{i}" rows 64 of 192 transposed layers [0, 4] : !llm.weight<[64, 64], #llm.dense<f32>>
llm.weight_family @k "c_attn.{i}" rows 64 of 192 transposed layers [0, 4] : !llm.weight<[64, 64], #llm.dense<f32>>
// CHECK: llm.weight_family @k_bias "c_attn_b.{i}" rows 0 of 192 layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>
llm.weight_family @k_bias "c_attn_b.{i}" rows 0 of 192 layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>
// CHECK: llm.weight_family @up "x.{i}.{e}" from "blk.{i}.up" layers [0, 4] : !llm.weight<[8, 64, 32], #q8_0_blocks>
llm.weight_family @up "x.{i}.{e}" from "blk.{i}.up" layers [0, 4] : !llm.weight<[8, 64, 32], #q8_0>
// CHECK: llm.weight_family @gate "x.{i}" view <stored = [8, 48, 80], first = 1, strides = [3840, 2, 80]> layers [0, 4] : !llm.weight<[8, 40, 48], #llm.dense<f32>>
llm.weight_family @gate "x.{i}" view <stored = [8, 48, 80], first = 1, strides = [3840, 2, 80]> layers [0, 4] : !llm.weight<[8, 40, 48], #llm.dense<f32>>
// CHECK: llm.weight_family @each "y.{e}" view <stored = [48, 80], first = 40, strides = [80, 1]> : !llm.weight<[8, 48, 40], #llm.dense<f32>>
llm.weight_family @each "y.{e}" view <stored = [48, 80], first = 40, strides = [80, 1]> : !llm.weight<[8, 48, 40], #llm.dense<f32>>
// CHECK: llm.weight_family @slopes "slopes.{i}" values [-5.000000e-01, -2.500000e-01, -4.000000e-01, -2.000000e-01] layers [0, 2] : !llm.weight<[2], #llm.dense<f32>>
llm.weight_family @slopes "slopes.{i}" values [-0.5, -0.25, -0.4, -0.2] layers [0, 2] : !llm.weight<[2], #llm.dense<f32>>
// CHECK: llm.state_family @kv layers [0, 4] : !llm.cache<paged, [2, 16, 16], f32>
llm.state_family @kv layers [0, 4] : !llm.cache<paged, [2, 16, 16], f32>

// CHECK-LABEL: func.func @members
func.func @members(%i: index) {
  // CHECK: llm.param @embed : !llm.weight<[256, 64], #llm.dense<bf16>>
  %0 = llm.param @embed : !llm.weight<[256, 64], #llm.dense<bf16>>
  // CHECK: llm.param @q[%{{.*}}] : !llm.weight<[64, 64], #q4_1_blocks>
  %1 = llm.param @q[%i] : !llm.weight<[64, 64], #q4_1>
  // CHECK: llm.state @kv[%{{.*}}] : !llm.cache<paged, [2, 16, 16], f32>
  %2 = llm.state @kv[%i] : !llm.cache<paged, [2, 16, 16], f32>
  return
}
