// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @embedding
func.func @embedding(%tokens: tensor<?xi32>, %table: !llm.weight<[256, 64], #llm.dense<bf16>>) -> tensor<?x64xf32> {
  // CHECK: llm.embedding %{{.*}}, %{{.*}} : tensor<?xi32>, !llm.weight<[256, 64], #llm.dense<bf16>> -> tensor<?x64xf32>
  %x = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[256, 64], #llm.dense<bf16>> -> tensor<?x64xf32>
  return %x : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @logits
func.func @logits(%x: tensor<?x64xf32>, %w: !llm.weight<[256, 64], #llm.dense<f32>>, %batch: !llm.batch) -> tensor<?x256xf32> {
  // CHECK: %[[ROWS:.*]] = llm.select_rows %{{.*}}, %{{.*}} : tensor<?x64xf32>
  %rows = llm.select_rows %x, %batch : tensor<?x64xf32>
  // CHECK: llm.output_head %[[ROWS]], %{{.*}} : tensor<?x64xf32>, !llm.weight<[256, 64], #llm.dense<f32>> -> tensor<?x256xf32>
  %logits = llm.output_head %rows, %w : tensor<?x64xf32>, !llm.weight<[256, 64], #llm.dense<f32>> -> tensor<?x256xf32>
  return %logits : tensor<?x256xf32>
}

// CHECK-LABEL: func.func @positions
func.func @positions(%table: !llm.weight<[34, 64], #llm.dense<f32>>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: llm.position_embedding %{{.*}}, %{{.*}} offset 2 : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %x = llm.position_embedding %batch, %table offset 2 : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // CHECK: llm.position_embedding %{{.*}}, %{{.*}} : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %y = llm.position_embedding %batch, %table : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %z = llm.residual_add %x, %y : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}
