// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

// y[t] = table[tokens[t]]
// CHECK: embedding step 0 result 0: [4, 3]
// CHECK-NEXT: [1.1250000000 -0.8750000000 -0.2500000000]
// CHECK-NEXT: [-0.1250000000 -1.0000000000 0.8750000000]
// CHECK-NEXT: [1.7500000000 0.3750000000 -0.2500000000]
// CHECK-NEXT: [1.1250000000 -0.8750000000 -0.2500000000]
func.func @embedding(%tokens: tensor<?xi32>, %table: !llm.weight<[5, 3], #llm.dense<f32>>)
    -> tensor<?x3xf32> attributes {test.steps = [
    {args = [
      dense<[4, 0, 2, 4]> : tensor<4xi32>,
      dense<[[-0.125, -1.0, 0.875], [1.75, -1.5, -2.0], [1.75, 0.375, -0.25], [-0.5, 1.75, 1.75],
       [1.125, -0.875, -0.25]]> : tensor<5x3xf32>]}]} {
  %y = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[5, 3],
      #llm.dense<f32>> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// y[r] = x[output_rows[r]]; two sequences of one and three tokens
// CHECK: select_rows step 0 result 0: [2, 3]
// CHECK-NEXT: [-1.5000000000 -0.7500000000 -1.7500000000]
// CHECK-NEXT: [1.7500000000 1.0000000000 1.3750000000]
func.func @select_rows(%x: tensor<?x3xf32>, %batch: !llm.batch)
    -> tensor<?x3xf32> attributes {test.steps = [
    {batch = [array<i64: 7, 2, 1>, array<i64: 3, 0, 3>], outputs = array<i64: 1, 3>, args = [
      dense<[[-0.875, 1.0, -2.0], [-1.5, -0.75, -1.75], [0.375, -1.875, 0.125],
       [1.75, 1.0, 1.375]]> : tensor<4x3xf32>,
      "batch"]}]} {
  %y = llm.select_rows %x, %batch : tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// logits[r, v] = sum_k x[r, k] * w[v, k]
// CHECK: output_head step 0 result 0: [2, 6]
// CHECK-NEXT: [-1.0625000000 2.6875000000 0.7500000000 -2.2500000000 -5.1250000000 -1.6250000000]
// CHECK-NEXT: [2.0937500000 -2.1250000000 -0.3906250000 2.5468750000 5.5625000000 2.2187500000]
func.func @output_head(%x: tensor<?x3xf32>, %w: !llm.weight<[6, 3], #llm.dense<f32>>)
    -> tensor<?x6xf32> attributes {test.steps = [
    {args = [
      dense<[[-1.5, -0.75, -1.75], [1.75, 1.0, 1.375]]> : tensor<2x3xf32>,
      dense<[[1.125, 1.5, -1.0], [0.875, -1.25, -1.75], [-1.0, 1.875, -0.375],
       [0.375, 1.375, 0.375], [1.25, 2.0, 1.0], [0.75, 1.25, -0.25]]> : tensor<6x3xf32>]}]} {
  %y = llm.output_head %x, %w : tensor<?x3xf32>, !llm.weight<[6, 3],
      #llm.dense<f32>> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// y[t] = table[position + 1]; positions 1, 2 and 0
// CHECK: position_embedding step 0 result 0: [3, 3]
// CHECK-NEXT: [1.7500000000 0.3750000000 -0.2500000000]
// CHECK-NEXT: [-0.5000000000 1.7500000000 1.7500000000]
// CHECK-NEXT: [1.7500000000 -1.5000000000 -2.0000000000]
func.func @position_embedding(%batch: !llm.batch, %table: !llm.weight<[4, 3], #llm.dense<f32>>)
    -> tensor<?x3xf32> attributes {test.steps = [
    {batch = [array<i64: 4, 1, 2>, array<i64: 5, 0, 1>], args = ["batch",
      dense<[[-0.125, -1.0, 0.875], [1.75, -1.5, -2.0], [1.75, 0.375, -0.25],
       [-0.5, 1.75, 1.75]]> : tensor<4x3xf32>]}]} {
  %y = llm.position_embedding %batch, %table offset 1 : !llm.weight<[4, 3],
      #llm.dense<f32>> -> tensor<?x3xf32>
  return %y : tensor<?x3xf32>
}

// Tokens 4 and -1 are outside of the table and read its row 1.
// CHECK: otherwise step 0 result 0: [4, 2]
// CHECK-NEXT: [0.5000000000 -1.5000000000]
// CHECK-NEXT: [0.2500000000 2.0000000000]
// CHECK-NEXT: [1.7500000000 0.3750000000]
// CHECK-NEXT: [0.5000000000 -1.5000000000]
func.func @otherwise(%tokens: tensor<?xi32>, %table: !llm.weight<[3, 2], #llm.dense<f32>>)
    -> tensor<?x2xf32> attributes {test.steps = [
    {args = [
      dense<[4, 0, 2, -1]> : tensor<4xi32>,
      dense<[[0.25, 2.0], [0.5, -1.5], [1.75, 0.375]]> : tensor<3x2xf32>]}]} {
  %y = llm.embedding %tokens, %table otherwise 1 : tensor<?xi32>, !llm.weight<[3, 2],
      #llm.dense<f32>> -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
