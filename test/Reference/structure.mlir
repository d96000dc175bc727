// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.
// repeat runs layers 1, 2, 3, 4 as odd, even, odd, even:
// x_{i+1} = x_i + W_i x_i (+ b_i where even).
module attributes {test.weights = {
  "layers.1.w" = dense<[[-1.0, -1.125], [-0.25, -1.0]]> : tensor<2x2xf32>,
  "layers.2.w" = dense<[[-0.875, -1.75], [-1.625, -1.0]]> : tensor<2x2xf32>,
  "layers.3.w" = dense<[[-0.25, 1.5], [1.25, -0.375]]> : tensor<2x2xf32>,
  "layers.4.w" = dense<[[-1.375, -1.125], [-1.875, 1.125]]> : tensor<2x2xf32>,
  "blk.2.b" = dense<[0.625, -0.5]> : tensor<2xf32>,
  "blk.4.b" = dense<[-0.375, 0.625]> : tensor<2xf32>,
  "scale" = dense<[2.0, -0.5]> : tensor<2xf32>}} {

llm.weight_family @w "layers.{i}.w" layers [1, 5] : !llm.weight<[2, 2], #llm.dense<f32>>
llm.weight_family @b "model.layers.{i}.bias" from "blk.{i}.b" layers [2, 3, 4, 5]
    : !llm.weight<[2], #llm.dense<f32>>
llm.weight_family @scale "scale" : !llm.weight<[2], #llm.dense<f32>>
llm.state_family @kv layers [0, 2] : !llm.cache<paged, [1, 2, 2], f32>

func.func @odd(%i: index, %x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = llm.param @w[%i] : !llm.weight<[2, 2], #llm.dense<f32>>
  %d = llm.linear %x, %w : tensor<?x2xf32>, !llm.weight<[2, 2], #llm.dense<f32>> -> tensor<?x2xf32>
  %y = llm.residual_add %x, %d : tensor<?x2xf32>
  llm.observe %y "hidden.{i+1}"[%i] : tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
func.func @even(%i: index, %x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  %w = llm.param @w[%i] : !llm.weight<[2, 2], #llm.dense<f32>>
  %b = llm.param @b[%i] : !llm.weight<[2], #llm.dense<f32>>
  %d = llm.linear %x, %w bias %b : tensor<?x2xf32>, !llm.weight<[2, 2], #llm.dense<f32>>,
      !llm.weight<[2], #llm.dense<f32>> -> tensor<?x2xf32>
  %y = llm.residual_add %x, %d : tensor<?x2xf32>
  llm.observe %y "hidden.{i+1}"[%i] : tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}

// CHECK: repeat step 0 observed input: [3, 2]
// CHECK-NEXT: [-2.0000000000 1.7500000000]
// CHECK-NEXT: [-1.1250000000 1.1250000000]
// CHECK-NEXT: [-0.8750000000 -1.7500000000]
// CHECK-NEXT: repeat step 0 observed hidden.2: [3, 2]
// CHECK-NEXT: [-1.9687500000 0.5000000000]
// CHECK-NEXT: [-1.2656250000 0.2812500000]
// CHECK-NEXT: [1.9687500000 0.2187500000]
// CHECK-NEXT: repeat step 0 observed hidden.3: [3, 2]
// CHECK-NEXT: [-0.4960937500 2.6992187500]
// CHECK-NEXT: [-0.0253906250 1.5566406250]
// CHECK-NEXT: [0.4882812500 -3.6992187500]
// CHECK-NEXT: repeat step 0 observed hidden.4: [3, 2]
// CHECK-NEXT: [3.6767578125 1.0668945312]
// CHECK-NEXT: [2.3159179688 0.9411621094]
// CHECK-NEXT: [-5.1826171875 -1.7016601562]
// CHECK-NEXT: repeat step 0 observed hidden.5: [3, 2]
// CHECK-NEXT: [-2.9540405273 -4.0017700195]
// CHECK-NEXT: [-2.3022766113 -1.7173767090]
// CHECK-NEXT: [3.4828491211 6.7263793945]
// CHECK-NEXT: repeat step 0 result 0: [3, 2]
// CHECK-NEXT: [-2.9540405273 -4.0017700195]
// CHECK-NEXT: [-2.3022766113 -1.7173767090]
// CHECK-NEXT: [3.4828491211 6.7263793945]
func.func @repeat(%x: tensor<?x2xf32>)
    -> tensor<?x2xf32> attributes {test.steps = [
    {args = [
      dense<[[-2.0, 1.75], [-1.125, 1.125], [-0.875, -1.75]]> : tensor<3x2xf32>]}]} {
  llm.observe %x "input" : tensor<?x2xf32>
  %y = llm.repeat [@odd, @even] from 1 count 2 (%x) : (tensor<?x2xf32>)
  return %y : tensor<?x2xf32>
}

// The body gives s = x + x and y = s / sqrt(mean(s * s) + 0.5) * [2, -0.5].
// CHECK: fusion step 0 result 0: [3, 2]
// CHECK-NEXT: [-4.0000000000 3.5000000000]
// CHECK-NEXT: [-2.2500000000 2.2500000000]
// CHECK-NEXT: [-1.7500000000 -3.5000000000]
// CHECK-NEXT: fusion step 0 result 1: [3, 2]
// CHECK-NEXT: [-2.0919054415 -0.4576043153]
// CHECK-NEXT: [-1.9079961840 -0.4769990460]
// CHECK-NEXT: [-1.2255267067 0.6127633533]
func.func @fusion(%x: tensor<?x2xf32>)
    -> (tensor<?x2xf32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[-2.0, 1.75], [-1.125, 1.125], [-0.875, -1.75]]> : tensor<3x2xf32>]}]} {
  %w = llm.param @scale : !llm.weight<[2], #llm.dense<f32>>
  %s, %y = llm.fusion "residual-norm" (%x, %x, %w) : (tensor<?x2xf32>, tensor<?x2xf32>,
      !llm.weight<[2], #llm.dense<f32>>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  ^bb0(%a: tensor<?x2xf32>, %b: tensor<?x2xf32>, %c: !llm.weight<[2], #llm.dense<f32>>):
    %0 = llm.residual_add %a, %b : tensor<?x2xf32>
    %1 = llm.rms_norm %0, %c eps 0.5 : tensor<?x2xf32>, !llm.weight<[2], #llm.dense<f32>>
    llm.yield %0, %1 : tensor<?x2xf32>, tensor<?x2xf32>
  }
  return %s, %y : tensor<?x2xf32>, tensor<?x2xf32>
}

// State of a family lives from step to step and is apart for each layer: layer 1 gets the keys and
// values in the other order. y = sum_j softmax(q . k_j) v_j.
// CHECK: family_state step 0 result 0: [2, 1, 2]
// CHECK-NEXT: [-0.6250000000 0.7500000000]
// CHECK-NEXT: [-0.9154687691 -0.1214063072]
// CHECK-NEXT: family_state step 0 result 1: [2, 1, 2]
// CHECK-NEXT: [-0.3750000000 1.2500000000]
// CHECK-NEXT: [-1.1438598194 -0.5183775846]
// CHECK-NEXT: family_state step 1 result 0: [1, 1, 2]
// CHECK-NEXT: [-0.2710872653 0.4075685029]
// CHECK-NEXT: family_state step 1 result 1: [1, 1, 2]
// CHECK-NEXT: [-0.8008130031 0.2984199949]
func.func @family_state(%q: tensor<?x1x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch)
    -> (tensor<?x1x2xf32>, tensor<?x1x2xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[[1.125, 0.875]], [[-0.125, -0.375]]]> : tensor<2x1x2xf32>,
      dense<[[[-0.375, 1.25]], [[-1.625, -1.625]]]> : tensor<2x1x2xf32>,
      dense<[[[-0.625, 0.75]], [[-1.0, -0.375]]]> : tensor<2x1x2xf32>,
      "batch"]},
    {batch = [array<i64: 0, 2, 1>], args = [
      dense<[[[-0.875, 1.0]]]> : tensor<1x1x2xf32>,
      dense<[[[-1.875, -1.375]]]> : tensor<1x1x2xf32>,
      dense<[[[1.5, -0.375]]]> : tensor<1x1x2xf32>,
      "batch"]}]} {
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %y0 = call @attend(%i0, %q, %k, %v, %batch)
      : (index, tensor<?x1x2xf32>, tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.batch) -> tensor<?x1x2xf32>
  %y1 = call @attend(%i1, %q, %v, %k, %batch)
      : (index, tensor<?x1x2xf32>, tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.batch) -> tensor<?x1x2xf32>
  return %y0, %y1 : tensor<?x1x2xf32>, tensor<?x1x2xf32>
}
func.func @attend(%i: index, %q: tensor<?x1x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch) -> tensor<?x1x2xf32> {
  %c = llm.state @kv[%i] : !llm.cache<paged, [1, 2, 2], f32>
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 1.0 : tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32> -> tensor<?x1x2xf32>
  return %y : tensor<?x1x2xf32>
}
}
