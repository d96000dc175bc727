// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

#q4_1 = #llm.blocks<"q4_1", bits = 4, size = 32, scale = f16, zero = 0, order = halves, min = f16>

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<?x64xf32>, %w: !llm.weight<[32, 64], #q4_1>) -> tensor<?x32xf32> {
  // CHECK: llm.linear %{{.*}}, %{{.*}} : tensor<?x64xf32>, !llm.weight<[32, 64], #q4_1_blocks> -> tensor<?x32xf32>
  %y = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[32, 64], #q4_1> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// CHECK-LABEL: func.func @linear_with_bias
func.func @linear_with_bias(%x: tensor<5x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<f16>>, %b: !llm.weight<[32], #llm.dense<f32>>) -> tensor<?x32xf32> {
  // CHECK: llm.linear %{{.*}}, %{{.*}} bias %{{.*}} : tensor<5x64xf32>, !llm.weight<[32, 64], #llm.dense<f16>>, !llm.weight<[32], #llm.dense<f32>> -> tensor<?x32xf32>
  %y = llm.linear %x, %w bias %b : tensor<5x64xf32>, !llm.weight<[32, 64], #llm.dense<f16>>, !llm.weight<[32], #llm.dense<f32>> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
