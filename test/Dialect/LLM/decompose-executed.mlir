// Executed twins: every composition gives the numbers of the operation, to the last few bits.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.whole
// RUN: llmc-opt %s --llm-decompose --test-evaluate-function -o /dev/null > %t.parts
// RUN: %python %source_dir/utils/compare_numbers.py %t.whole %t.parts 1e-8
// RUN: llmc-opt %s --llm-decompose | FileCheck %s
// CHECK-NOT: llm.gate
// CHECK-NOT: llm.softcap
// CHECK-NOT: llm.softmax
// CHECK-NOT: llm.rms_norm
// CHECK-NOT: llm.layer_norm
// CHECK-NOT: llm.row_stat deviation
// CHECK-NOT: llm.expert_sum
// CHECK-NOT: llm.expert_spread
// CHECK-NOT: llm.activation gelu_tanh
// CHECK-NOT: llm.sinkhorn

!w4 = !llm.weight<[4], #llm.dense<f32>>

func.func @rows(%x: tensor<?x4xf32>, %u: tensor<?x4xf32>, %w: !w4, %b: !w4, %batch: !llm.batch)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x4xf32>, tensor<?x4xf32>)
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -3.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5]]> : tensor<2x4xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>,
      dense<[1.0, 0.125, -1.0, -1.375]> : tensor<4xf32>,
      "batch"]}]} {
  %0 = llm.gate silu %x, %u : tensor<?x4xf32>
  %1 = llm.softcap %x cap 0.75 : tensor<?x4xf32>
  %2 = llm.softmax %x : tensor<?x4xf32>
  %3 = llm.rms_norm %x, %w eps 0.25 offset 1.0 : tensor<?x4xf32>, !w4
  %4 = llm.layer_norm %x, %w bias %b eps 0.25 : tensor<?x4xf32>, !w4, !w4
  %5 = llm.activation gelu_tanh %x : tensor<?x4xf32>
  %6 = llm.row_stat deviation %x : tensor<?x4xf32> -> tensor<?x1xf32>
  %7 = llm.activation relu2 %x : tensor<?x4xf32>
  %8 = llm.residual_add %x, %u : tensor<?x4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x1xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

func.func @experts(%x: tensor<?x4xf32>, %w: tensor<?x2xf32>) -> (tensor<?x2x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -3.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5], [1.25, 1.375]]> : tensor<2x2xf32>]}]} {
  %0 = llm.expert_spread %x by %w : (tensor<?x4xf32>, tensor<?x2xf32>) -> tensor<?x2x4xf32>
  %1 = llm.expert_sum %0 by %w : (tensor<?x2x4xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  return %0, %1 : tensor<?x2x4xf32>, tensor<?x4xf32>
}

func.func @sinkhorn(%x: tensor<?x3x3xf32>) -> (tensor<?x3x3xf32>, tensor<?x3x3xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 1>], args = [
      dense<[[[0.75, 1.0, 0.375], [0.125, 3.125, 0.5], [0.25, 0.875, 1.5]]]> : tensor<1x3x3xf32>]}]} {
  %0 = llm.sinkhorn %x steps 3 eps 0.015625 : tensor<?x3x3xf32>
  %1 = llm.sinkhorn %x steps 1 eps 0.0 : tensor<?x3x3xf32>
  return %0, %1 : tensor<?x3x3xf32>, tensor<?x3x3xf32>
}
