// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 (numpy) by the formula above each function.

// softmax over all, then the two largest
// CHECK: softmax step 0 result 0: [3, 2]
// CHECK-NEXT: [1.0000000000 5.0000000000]
// CHECK-NEXT: [0.0000000000 7.0000000000]
// CHECK-NEXT: [0.0000000000 3.0000000000]
// CHECK-NEXT: softmax step 0 result 1: [3, 2]
// CHECK-NEXT: [0.2714027712 0.2395121050]
// CHECK-NEXT: [0.4015223366 0.1477118128]
// CHECK-NEXT: [0.3376061066 0.3376061066]
func.func @softmax(%l: tensor<?x8xf32>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>]}]} {
  %c, %w = llm.route softmax %l top 2
      : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %w : tensor<?x2xi32>, tensor<?x2xf32>
}

// the chosen divided by their sum, times a scale
// CHECK: normalised step 0 result 0: [3, 3]
// CHECK-NEXT: [1.0000000000 5.0000000000 7.0000000000]
// CHECK-NEXT: [0.0000000000 7.0000000000 6.0000000000]
// CHECK-NEXT: [0.0000000000 3.0000000000 1.0000000000]
// CHECK-NEXT: normalised step 0 result 1: [3, 3]
// CHECK-NEXT: [0.5837061507 0.5151188700 0.4011749793]
// CHECK-NEXT: [0.9066817524 0.3335495764 0.2597686713]
// CHECK-NEXT: [0.6206394853 0.6206394853 0.2587210293]
func.func @normalised(%l: tensor<?x8xf32>)
    -> (tensor<?x3xi32>, tensor<?x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>]}]} {
  %c, %w = llm.route softmax %l top 3 normalise sum scale 1.5
      : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return %c, %w : tensor<?x3xi32>, tensor<?x3xf32>
}

// top-k, then softmax over the chosen
// CHECK: after step 0 result 0: [3, 2]
// CHECK-NEXT: [1.0000000000 5.0000000000]
// CHECK-NEXT: [0.0000000000 7.0000000000]
// CHECK-NEXT: [0.0000000000 3.0000000000]
// CHECK-NEXT: after step 0 result 1: [3, 2]
// CHECK-NEXT: [0.5312093734 0.4687906266]
// CHECK-NEXT: [0.7310585786 0.2689414214]
// CHECK-NEXT: [0.5000000000 0.5000000000]
func.func @after(%l: tensor<?x8xf32>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>]}]} {
  %c, %w = llm.route identity %l top 2 normalise softmax
      : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %w : tensor<?x2xi32>, tensor<?x2xf32>
}

// a bias that chooses and does not weigh
// CHECK: biased step 0 result 0: [3, 3]
// CHECK-NEXT: [3.0000000000 1.0000000000 4.0000000000]
// CHECK-NEXT: [3.0000000000 4.0000000000 6.0000000000]
// CHECK-NEXT: [3.0000000000 1.0000000000 4.0000000000]
// CHECK-NEXT: biased step 0 result 1: [3, 3]
// CHECK-NEXT: [0.1748871044 0.5961820948 0.2289308008]
// CHECK-NEXT: [0.2767372458 0.2529650605 0.4702976938]
// CHECK-NEXT: [0.4683105308 0.4013803486 0.1303091205]
func.func @biased(%l: tensor<?x8xf32>, %b: !llm.weight<[8], #llm.dense<f32>>)
    -> (tensor<?x3xi32>, tensor<?x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>,
      dense<[-1.875, 0.0, -0.125, 1.625, 0.5, 0.0, -0.0, -1.0]> : tensor<8xf32>]}]} {
  %c, %w = llm.route sigmoid %l bias %b top 3 normalise sum
      : (tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return %c, %w : tensor<?x3xi32>, tensor<?x3xf32>
}

// four groups of two, the best two by their largest
// CHECK: groups_max step 0 result 0: [3, 3]
// CHECK-NEXT: [1.0000000000 5.0000000000 0.0000000000]
// CHECK-NEXT: [0.0000000000 7.0000000000 6.0000000000]
// CHECK-NEXT: [0.0000000000 3.0000000000 1.0000000000]
// CHECK-NEXT: groups_max step 0 result 1: [3, 3]
// CHECK-NEXT: [0.2714027712 0.2395121050 0.0881115793]
// CHECK-NEXT: [0.4015223366 0.1477118128 0.1150380755]
// CHECK-NEXT: [0.3376061066 0.3376061066 0.1407351635]
func.func @groups_max(%l: tensor<?x8xf32>)
    -> (tensor<?x3xi32>, tensor<?x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>]}]} {
  %c, %w = llm.route softmax %l groups 4 keep 2 by max top 3
      : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return %c, %w : tensor<?x3xi32>, tensor<?x3xf32>
}

// two groups of four, the better by its two largest, with a bias; the scale, then one an expert
// CHECK: groups_top2 step 0 result 0: [3, 2]
// CHECK-NEXT: [3.0000000000 1.0000000000]
// CHECK-NEXT: [3.0000000000 1.0000000000]
// CHECK-NEXT: [3.0000000000 1.0000000000]
// CHECK-NEXT: groups_top2 step 0 result 1: [3, 2]
// CHECK-NEXT: [-0.7087848946 -2.4162151054]
// CHECK-NEXT: [-1.2050000543 -1.9199999457]
// CHECK-NEXT: [-1.6827477940 -1.4422522060]
func.func @groups_top2(%l: tensor<?x8xf32>, %b: !llm.weight<[8], #llm.dense<f32>>, %s: !llm.weight<[8], #llm.dense<f32>>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>,
      dense<[-1.875, 0.0, -0.125, 1.625, 0.5, 0.0, -0.0, -1.0]> : tensor<8xf32>,
      dense<[-2.0, -1.25, 0.75, -1.25, -0.5, -2.0, 1.375, -1.375]> : tensor<8xf32>]}]} {
  %c, %w = llm.route sigmoid %l bias %b groups 2 keep 1 by top2 top 2 normalise sum scale 2.5 times %s
      : (tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>, !llm.weight<[8], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %w : tensor<?x2xi32>, tensor<?x2xf32>
}

// the experts that a table has for the token
// CHECK: table step 0 result 0: [3, 2]
// CHECK-NEXT: [2.0000000000 5.0000000000]
// CHECK-NEXT: [7.0000000000 0.0000000000]
// CHECK-NEXT: [3.0000000000 3.0000000000]
// CHECK-NEXT: table step 0 result 1: [3, 2]
// CHECK-NEXT: [0.7142888355 0.7857111645]
// CHECK-NEXT: [0.6387058394 0.8612941606]
// CHECK-NEXT: [0.7500000000 0.7500000000]
func.func @table(%l: tensor<?x8xf32>, %t: !llm.weight<[4, 2], #llm.dense<f32>>, %k: tensor<?xi32>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [2.0, 1.125, 0.5, 2.0, -1.125, -1.375, 0.5, -1.875]]> : tensor<3x8xf32>,
      dense<[[7.0, 0.0], [3.0, 3.0], [1.0, 6.0], [2.0, 5.0]]> : tensor<4x2xf32>,
      dense<[3, 0, 1]> : tensor<3xi32>]}]} {
  %c, %w = llm.route sqrt_softplus %l table %t of %k top 2 normalise sum scale 1.5
      : (tensor<?x8xf32>, !llm.weight<[4, 2], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %w : tensor<?x2xi32>, tensor<?x2xf32>
}

// of equal logits, and of groups of equal values, the lower number goes first
// CHECK: ties step 0 result 0: [1, 3]
// CHECK-NEXT: [1.0000000000 2.0000000000 0.0000000000]
// CHECK-NEXT: ties step 0 result 1: [1, 3]
// CHECK-NEXT: [2.0000000000 2.0000000000 1.0000000000]
func.func @ties(%l: tensor<?x8xf32>)
    -> (tensor<?x3xi32>, tensor<?x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[1.0, 2.0, 2.0, 0.0, 2.0, 1.0, -1.0, 2.0]]> : tensor<1x8xf32>]}]} {
  %c, %w = llm.route identity %l groups 4 keep 2 by max top 3
      : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return %c, %w : tensor<?x3xi32>, tensor<?x3xf32>
}

// y[t, j] = w[choice[t, j]] x[t]
// CHECK: expert_linear step 0 result 0: [3, 2, 5]
// CHECK-NEXT: [1.8593750000 -1.1718750000 -0.5312500000 -1.2187500000 2.9687500000]
// CHECK-NEXT: [-1.1093750000 -1.3281250000 -1.4687500000 -3.5156250000 -4.3593750000]
// CHECK-NEXT: [3.9843750000 1.9218750000 0.5625000000 0.9062500000 2.0468750000]
// CHECK-NEXT: [3.9843750000 1.9218750000 0.5625000000 0.9062500000 2.0468750000]
// CHECK-NEXT: [-0.8906250000 -1.5468750000 -0.1406250000 -1.9218750000 -2.2812500000]
// CHECK-NEXT: [1.1250000000 -0.3750000000 1.1093750000 -0.8437500000 0.2968750000]
func.func @expert_linear(%x: tensor<?x4xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[3, 5, 4], #llm.dense<f32>>)
    -> (tensor<?x2x5xf32>) attributes {test.steps = [
    {args = [
      dense<[[-0.875, 1.5, 0.0, 1.375], [0.5, 1.0, -1.625, 0.125], [0.0, 1.5, -0.5, 0.375]]> : tensor<3x4xf32>,
      dense<[[2, 0], [1, 1], [0, 2]]> : tensor<3x2xi32>,
      dense<[[[-1.75, -0.5, -0.75, -1.375], [1.25, -0.5, 1.875, 0.375], [0.375, 0.5, 0.75, -1.375], [-0.25, -1.0, -0.375, -1.625], [1.875, -1.125, 0.625, -0.75]], [[1.5, 0.625, -1.5, 1.375], [1.75, 1.625, 0.25, -1.375], [-1.25, 1.75, 0.25, -1.25], [1.5, 0.625, 0.25, -0.5], [-0.375, -1.0, -1.875, 1.5]], [[-0.125, 0.25, -0.75, 1.0], [-1.875, -0.5, -1.875, -1.5], [1.875, 0.625, -0.25, 0.125], [1.5, -0.625, 0.375, 0.75], [-0.625, 0.125, 1.0, 1.625]]]> : tensor<3x5x4xf32>]}]} {
  %y = llm.expert_linear %x, %c, %w
      : (tensor<?x4xf32>, tensor<?x2xi32>, !llm.weight<[3, 5, 4], #llm.dense<f32>>) -> (tensor<?x2x5xf32>)
  return %y : tensor<?x2x5xf32>
}

// y[t, j] = w[choice[t, j]] x[t, j] + b[choice[t, j]]
// CHECK: expert_linear_bias step 0 result 0: [3, 2, 5]
// CHECK-NEXT: [3.0937500000 0.1093750000 -0.4687500000 -0.0156250000 1.1250000000]
// CHECK-NEXT: [-3.2500000000 1.3906250000 -5.2812500000 -0.9531250000 0.5625000000]
// CHECK-NEXT: [-0.5312500000 2.0625000000 4.6875000000 -1.2656250000 -1.0937500000]
// CHECK-NEXT: [0.6562500000 4.5312500000 1.3750000000 1.2812500000 -2.1875000000]
// CHECK-NEXT: [-2.7187500000 6.4375000000 2.0937500000 3.1875000000 6.8906250000]
// CHECK-NEXT: [-1.1250000000 -1.3750000000 -0.0781250000 -1.6718750000 -0.9531250000]
func.func @expert_linear_bias(%x: tensor<?x2x4xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[3, 5, 4], #llm.dense<f32>>, %b: !llm.weight<[3, 5], #llm.dense<f32>>)
    -> (tensor<?x2x5xf32>) attributes {test.steps = [
    {args = [
      dense<[[[-0.5, -1.25, -0.625, 1.75], [0.25, -0.625, -0.875, 1.75]], [[-0.25, 1.875, 0.0, 0.125], [1.625, 1.0, 0.375, -0.25]], [[1.5, -0.375, 1.75, -1.75], [-0.25, 0.125, 1.75, -1.0]]]> : tensor<3x2x4xf32>,
      dense<[[2, 0], [1, 1], [0, 2]]> : tensor<3x2xi32>,
      dense<[[[-1.75, -0.5, -0.75, -1.375], [1.25, -0.5, 1.875, 0.375], [0.375, 0.5, 0.75, -1.375], [-0.25, -1.0, -0.375, -1.625], [1.875, -1.125, 0.625, -0.75]], [[1.5, 0.625, -1.5, 1.375], [1.75, 1.625, 0.25, -1.375], [-1.25, 1.75, 0.25, -1.25], [1.5, 0.625, 0.25, -0.5], [-0.375, -1.0, -1.875, 1.5]], [[-0.125, 0.25, -0.75, 1.0], [-1.875, -0.5, -1.875, -1.5], [1.875, 0.625, -0.25, 0.125], [1.5, -0.625, 0.375, 0.75], [-0.625, 0.125, 1.0, 1.625]]]> : tensor<3x5x4xf32>,
      dense<[[-1.375, 1.75, -2.0, 1.0, 1.25], [-1.5, -0.375, 1.25, -2.0, 0.5], [1.125, 0.0, 0.875, -1.125, -1.25]]> : tensor<3x5xf32>]}]} {
  %y = llm.expert_linear %x, %c, %w bias %b
      : (tensor<?x2x4xf32>, tensor<?x2xi32>, !llm.weight<[3, 5, 4], #llm.dense<f32>>, !llm.weight<[3, 5], #llm.dense<f32>>) -> (tensor<?x2x5xf32>)
  return %y : tensor<?x2x5xf32>
}

// y[t] = sum_j weights[t, j] x[t, j]
// CHECK: expert_sum step 0 result 0: [3, 4]
// CHECK-NEXT: [-0.4375000000 -2.0312500000 -1.4375000000 3.5000000000]
// CHECK-NEXT: [0.5937500000 2.1406250000 0.1875000000 -0.0156250000]
// CHECK-NEXT: [2.9687500000 -0.7812500000 2.1875000000 -2.6562500000]
func.func @expert_sum(%x: tensor<?x2x4xf32>, %p: tensor<?x2xf32>)
    -> (tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[[-0.5, -1.25, -0.625, 1.75], [0.25, -0.625, -0.875, 1.75]], [[-0.25, 1.875, 0.0, 0.125], [1.625, 1.0, 0.375, -0.25]], [[1.5, -0.375, 1.75, -1.75], [-0.25, 0.125, 1.75, -1.0]]]> : tensor<3x2x4xf32>,
      dense<[[1.25, 0.75], [0.875, 0.5], [1.875, -0.625]]> : tensor<3x2xf32>]}]} {
  %y = llm.expert_sum %x by %p : (tensor<?x2x4xf32>, tensor<?x2xf32>) -> (tensor<?x4xf32>)
  return %y : tensor<?x4xf32>
}

// y[t] = sum_j x[t, j]
// CHECK: expert_sum_plain step 0 result 0: [3, 4]
// CHECK-NEXT: [-0.2500000000 -1.8750000000 -1.5000000000 3.5000000000]
// CHECK-NEXT: [1.3750000000 2.8750000000 0.3750000000 -0.1250000000]
// CHECK-NEXT: [1.2500000000 -0.2500000000 3.5000000000 -2.7500000000]
func.func @expert_sum_plain(%x: tensor<?x2x4xf32>)
    -> (tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[[-0.5, -1.25, -0.625, 1.75], [0.25, -0.625, -0.875, 1.75]], [[-0.25, 1.875, 0.0, 0.125], [1.625, 1.0, 0.375, -0.25]], [[1.5, -0.375, 1.75, -1.75], [-0.25, 0.125, 1.75, -1.0]]]> : tensor<3x2x4xf32>]}]} {
  %y = llm.expert_sum %x : (tensor<?x2x4xf32>) -> (tensor<?x4xf32>)
  return %y : tensor<?x4xf32>
}

// y[t, j] = weights[t, j] x[t]
// CHECK: expert_spread step 0 result 0: [3, 2, 4]
// CHECK-NEXT: [-1.0937500000 1.8750000000 0.0000000000 1.7187500000]
// CHECK-NEXT: [-0.6562500000 1.1250000000 0.0000000000 1.0312500000]
// CHECK-NEXT: [0.4375000000 0.8750000000 -1.4218750000 0.1093750000]
// CHECK-NEXT: [0.2500000000 0.5000000000 -0.8125000000 0.0625000000]
// CHECK-NEXT: [0.0000000000 2.8125000000 -0.9375000000 0.7031250000]
// CHECK-NEXT: [0.0000000000 -0.9375000000 0.3125000000 -0.2343750000]
func.func @expert_spread(%x: tensor<?x4xf32>, %p: tensor<?x2xf32>)
    -> (tensor<?x2x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-0.875, 1.5, 0.0, 1.375], [0.5, 1.0, -1.625, 0.125], [0.0, 1.5, -0.5, 0.375]]> : tensor<3x4xf32>,
      dense<[[1.25, 0.75], [0.875, 0.5], [1.875, -0.625]]> : tensor<3x2xf32>]}]} {
  %y = llm.expert_spread %x by %p : (tensor<?x4xf32>, tensor<?x2xf32>) -> (tensor<?x2x4xf32>)
  return %y : tensor<?x2x4xf32>
}

// each of the chosen weighed by the softmax over what is left and within two fifths of it
// CHECK: margin step 0 result 0: [3, 3]
// CHECK-NEXT: [1.0000000000 5.0000000000 7.0000000000]
// CHECK-NEXT: [0.0000000000 7.0000000000 6.0000000000]
// CHECK-NEXT: [2.0000000000 6.0000000000 1.0000000000]
// CHECK-NEXT: margin step 0 result 1: [3, 3]
// CHECK-NEXT: [0.3148300532 0.4055001946 0.5312093734]
// CHECK-NEXT: [1.0000000000 1.0000000000 1.0000000000]
// CHECK-NEXT: [0.5000000000 1.0000000000 0.3075818304]
func.func @margin(%l: tensor<?x8xf32>)
    -> (tensor<?x3xi32>, tensor<?x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, 1.625, 1.125, -1.125, -0.75, 1.5, -2.0, 1.25], [1.25, -0.125, -0.75, -0.875, -1.0, -0.25, 0.0, 0.25], [-2.0, -1.125, -0.5, -2.0, -1.125, -1.375, -0.5, -1.875]]> : tensor<3x8xf32>]}]} {
  %c, %w = llm.route identity %l top 3 normalise margin within 0.4
      : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return %c, %w : tensor<?x3xi32>, tensor<?x3xf32>
}
