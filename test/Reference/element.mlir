// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

// y = a f b: add, sub, mul, min, max
// CHECK: binary step 0 result 0: [2, 4]
// CHECK-NEXT: [0.3750000000 -0.3750000000 1.1250000000 -0.7500000000]
// CHECK-NEXT: [-0.2500000000 -0.6250000000 0.8750000000 1.0000000000]
// CHECK-NEXT: binary step 0 result 1: [2, 4]
// CHECK-NEXT: [-3.6250000000 0.1250000000 1.3750000000 -0.7500000000]
// CHECK-NEXT: [-1.0000000000 -1.1250000000 0.8750000000 -3.0000000000]
// CHECK-NEXT: binary step 0 result 2: [2, 4]
// CHECK-NEXT: [-3.2500000000 0.0312500000 -0.1562500000 0.0000000000]
// CHECK-NEXT: [-0.2343750000 -0.2187500000 0.0000000000 -2.0000000000]
// CHECK-NEXT: binary step 0 result 3: [2, 4]
// CHECK-NEXT: [-1.6250000000 -0.2500000000 -0.1250000000 -0.7500000000]
// CHECK-NEXT: [-0.6250000000 -0.8750000000 0.0000000000 -1.0000000000]
// CHECK-NEXT: binary step 0 result 4: [2, 4]
// CHECK-NEXT: [2.0000000000 -0.1250000000 1.2500000000 0.0000000000]
// CHECK-NEXT: [0.3750000000 0.2500000000 0.8750000000 2.0000000000]
func.func @binary(%a: tensor<?x4xf32>, %b: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.625, -0.125, 1.25, -0.75], [-0.625, -0.875, 0.875, -1.0]]> : tensor<2x4xf32>,
      dense<[[2.0, -0.25, -0.125, 0.0], [0.375, 0.25, 0.0, 2.0]]> : tensor<2x4xf32>]}]} {
  %r0 = llm.binary add %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %r1 = llm.binary sub %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %r2 = llm.binary mul %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %r3 = llm.binary min %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %r4 = llm.binary max %a, %b : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  return %r0, %r1, %r2, %r3, %r4 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// One value a head, one a token, one row for all heads, and an outer product.
// CHECK: binary_broadcast step 0 result 0: [2, 2, 3]
// CHECK-NEXT: [3.2812500000 0.8750000000 1.3125000000]
// CHECK-NEXT: [-3.2500000000 -0.7500000000 -2.2500000000]
// CHECK-NEXT: [0.0000000000 0.0000000000 0.0000000000]
// CHECK-NEXT: [-1.2031250000 -1.2031250000 2.0625000000]
// CHECK-NEXT: binary_broadcast step 0 result 1: [2, 2, 3]
// CHECK-NEXT: [3.3750000000 2.0000000000 2.2500000000]
// CHECK-NEXT: [3.1250000000 1.8750000000 2.6250000000]
// CHECK-NEXT: [0.1250000000 -2.3750000000 -3.1250000000]
// CHECK-NEXT: [-2.1250000000 -2.1250000000 0.2500000000]
// CHECK-NEXT: binary_broadcast step 0 result 2: [2, 2, 3]
// CHECK-NEXT: [3.1250000000 1.7500000000 1.6250000000]
// CHECK-NEXT: [2.8750000000 1.6250000000 2.0000000000]
// CHECK-NEXT: [1.8750000000 -1.7500000000 0.1250000000]
// CHECK-NEXT: [-0.3750000000 -1.5000000000 3.5000000000]
// CHECK-NEXT: binary_broadcast step 0 result 3: [2, 2, 3]
// CHECK-NEXT: [2.1875000000 2.1875000000 1.5312500000]
// CHECK-NEXT: [-2.5000000000 -2.5000000000 -1.7500000000]
// CHECK-NEXT: [0.0000000000 0.0000000000 0.0000000000]
// CHECK-NEXT: [0.6875000000 -0.8593750000 2.7500000000]
func.func @binary_broadcast(%x: tensor<?x2x3xf32>, %g: tensor<?x2xf32>, %s: tensor<?x1xf32>, %o: tensor<?x1x3xf32>)
    -> (tensor<?x2x3xf32>, tensor<?x2x3xf32>, tensor<?x2x3xf32>, tensor<?x2x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[[1.875, 0.5, 0.75], [1.625, 0.375, 1.125]], [[1.375, -1.125, -1.875], [-0.875, -0.875, 1.5]]]> : tensor<2x2x3xf32>,
      dense<[[1.75, -2.0], [0.0, 1.375]]> : tensor<2x2xf32>,
      dense<[[-1.5], [1.25]]> : tensor<2x1xf32>,
      dense<[[[1.25, 1.25, 0.875]], [[0.5, -0.625, 2.0]]]> : tensor<2x1x3xf32>]}]} {
  %r0 = llm.binary mul %x, %g : tensor<?x2x3xf32>, tensor<?x2xf32> -> tensor<?x2x3xf32>
  %r1 = llm.binary sub %x, %s : tensor<?x2x3xf32>, tensor<?x1xf32> -> tensor<?x2x3xf32>
  %r2 = llm.binary add %x, %o : tensor<?x2x3xf32>, tensor<?x1x3xf32> -> tensor<?x2x3xf32>
  %r3 = llm.binary mul %g, %o : tensor<?x2xf32>, tensor<?x1x3xf32> -> tensor<?x2x3xf32>
  return %r0, %r1, %r2, %r3 : tensor<?x2x3xf32>, tensor<?x2x3xf32>, tensor<?x2x3xf32>, tensor<?x2x3xf32>
}

// The first operand may be the smaller one: s / d.
// CHECK: binary_left step 0 result 0: [2, 3]
// CHECK-NEXT: [-3.0000000000 0.7500000000 -1.2000000000]
// CHECK-NEXT: [0.3125000000 1.6666666667 -0.8333333333]
func.func @binary_left(%s: tensor<?x1xf32>, %d: tensor<?x3xf32>)
    -> tensor<?x3xf32> attributes {test.steps = [
    {args = [
      dense<[[-1.5], [1.25]]> : tensor<2x1xf32>,
      dense<[[0.5, -2.0, 1.25], [4.0, 0.75, -1.5]]> : tensor<2x3xf32>]}]} {
  %r0 = llm.binary div %s, %d : tensor<?x1xf32>, tensor<?x3xf32> -> tensor<?x3xf32>
  return %r0 : tensor<?x3xf32>
}

// y[t] = w; of two tokens
// CHECK: weight_rows step 0 result 0: [2, 3]
// CHECK-NEXT: [-1.6250000000 -1.8750000000 -0.2500000000]
// CHECK-NEXT: [-1.6250000000 -1.8750000000 -0.2500000000]
// CHECK-NEXT: weight_rows step 0 result 1: [2, 2, 3]
// CHECK-NEXT: [-1.8750000000 -1.5000000000 0.0000000000]
// CHECK-NEXT: [2.0000000000 -0.1250000000 1.2500000000]
// CHECK-NEXT: [-1.8750000000 -1.5000000000 0.0000000000]
// CHECK-NEXT: [2.0000000000 -0.1250000000 1.2500000000]
func.func @weight_rows(%w: !llm.weight<[3], #llm.dense<f32>>, %v: !llm.weight<[2, 3], #llm.dense<f32>>, %batch: !llm.batch)
    -> (tensor<?x3xf32>, tensor<?x2x3xf32>) attributes {test.steps = [
    {batch = [array<i64: 4, 1, 2>], args = [
      dense<[-1.625, -1.875, -0.25]> : tensor<3xf32>,
      dense<[[-1.875, -1.5, 0.0], [2.0, -0.125, 1.25]]> : tensor<2x3xf32>,
      "batch"]}]} {
  %r0 = llm.weight_rows %w, %batch : !llm.weight<[3], #llm.dense<f32>> -> tensor<?x3xf32>
  %r1 = llm.weight_rows %v, %batch : !llm.weight<[2, 3], #llm.dense<f32>> -> tensor<?x2x3xf32>
  return %r0, %r1 : tensor<?x3xf32>, tensor<?x2x3xf32>
}

// y = x + f32(0.3); min(max(x, -0.75), 1); a bound alone
// CHECK: offset_clamp step 0 result 0: [2, 4]
// CHECK-NEXT: [2.0500000119 1.6750000119 0.8000000119 0.0500000119]
// CHECK-NEXT: [0.3000000119 -0.6999999881 0.3000000119 -0.1999999881]
// CHECK-NEXT: offset_clamp step 0 result 1: [2, 4]
// CHECK-NEXT: [1.0000000000 1.0000000000 0.5000000000 -0.2500000000]
// CHECK-NEXT: [0.0000000000 -0.7500000000 0.0000000000 -0.5000000000]
// CHECK-NEXT: offset_clamp step 0 result 2: [2, 4]
// CHECK-NEXT: [1.7500000000 1.3750000000 0.5000000000 0.5000000000]
// CHECK-NEXT: [0.5000000000 0.5000000000 0.5000000000 0.5000000000]
// CHECK-NEXT: offset_clamp step 0 result 3: [2, 4]
// CHECK-NEXT: [0.5000000000 0.5000000000 0.5000000000 -0.2500000000]
// CHECK-NEXT: [0.0000000000 -1.0000000000 0.0000000000 -0.5000000000]
func.func @offset_clamp(%a: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[1.75, 1.375, 0.5, -0.25], [0.0, -1.0, 0.0, -0.5]]> : tensor<2x4xf32>]}]} {
  %r0 = llm.offset %a by 0.3 : tensor<?x4xf32>
  %r1 = llm.clamp %a min -0.75 max 1.0 : tensor<?x4xf32>
  %r2 = llm.clamp %a min 0.5 : tensor<?x4xf32>
  %r3 = llm.clamp %a max 0.5 : tensor<?x4xf32>
  return %r0, %r1, %r2, %r3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// y = exp(x - max x) / sum exp(x - max x), each head by itself
// CHECK: softmax step 0 result 0: [2, 2, 3]
// CHECK-NEXT: [0.6339176110 0.1602794725 0.2058029165]
// CHECK-NEXT: [0.5282521236 0.1513467674 0.3204011090]
// CHECK-NEXT: [0.8921727138 0.0732339960 0.0345932902]
// CHECK-NEXT: [0.0784251405 0.0784251405 0.8431497191]
func.func @softmax(%x: tensor<?x2x3xf32>)
    -> tensor<?x2x3xf32> attributes {test.steps = [
    {args = [
      dense<[[[1.875, 0.5, 0.75], [1.625, 0.375, 1.125]], [[1.375, -1.125, -1.875], [-0.875, -0.875, 1.5]]]> : tensor<2x2x3xf32>]}]} {
  %r0 = llm.softmax %x : tensor<?x2x3xf32>
  return %r0 : tensor<?x2x3xf32>
}

// mean, sqrt(mean((x - mean)^2)), sum, max
// CHECK: row_stat step 0 result 0: [2, 1]
// CHECK-NEXT: [-0.7750000000]
// CHECK-NEXT: [0.7750000000]
// CHECK-NEXT: row_stat step 0 result 1: [2, 1]
// CHECK-NEXT: [1.4282856857]
// CHECK-NEXT: [1.0994316714]
// CHECK-NEXT: row_stat step 0 result 2: [2, 1]
// CHECK-NEXT: [-3.8750000000]
// CHECK-NEXT: [3.8750000000]
// CHECK-NEXT: row_stat step 0 result 3: [2, 1]
// CHECK-NEXT: [2.0000000000]
// CHECK-NEXT: [1.8750000000]
func.func @row_stat(%a: tensor<?x5xf32>)
    -> (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.0, 2.0, -2.0, -1.625, -1.25], [1.875, 0.75, 1.625, -1.25, 0.875]]> : tensor<2x5xf32>]}]} {
  %r0 = llm.row_stat mean %a : tensor<?x5xf32> -> tensor<?x1xf32>
  %r1 = llm.row_stat deviation %a : tensor<?x5xf32> -> tensor<?x1xf32>
  %r2 = llm.row_stat sum %a : tensor<?x5xf32> -> tensor<?x1xf32>
  %r3 = llm.row_stat max %a : tensor<?x5xf32> -> tensor<?x1xf32>
  return %r0, %r1, %r2, %r3 : tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>
}

// x[..., 1:3]; x and o side by side; heads and width exchanged; head 1; head 1 replaced
// CHECK: parts step 0 result 0: [2, 2, 2]
// CHECK-NEXT: [0.5000000000 0.7500000000]
// CHECK-NEXT: [0.3750000000 1.1250000000]
// CHECK-NEXT: [-1.1250000000 -1.8750000000]
// CHECK-NEXT: [-0.8750000000 1.5000000000]
// CHECK-NEXT: parts step 0 result 1: [2, 2, 4]
// CHECK-NEXT: [1.8750000000 0.5000000000 0.7500000000 -0.5000000000]
// CHECK-NEXT: [1.6250000000 0.3750000000 1.1250000000 0.0000000000]
// CHECK-NEXT: [1.3750000000 -1.1250000000 -1.8750000000 -2.0000000000]
// CHECK-NEXT: [-0.8750000000 -0.8750000000 1.5000000000 0.5000000000]
// CHECK-NEXT: parts step 0 result 2: [2, 3, 2]
// CHECK-NEXT: [1.8750000000 1.6250000000]
// CHECK-NEXT: [0.5000000000 0.3750000000]
// CHECK-NEXT: [0.7500000000 1.1250000000]
// CHECK-NEXT: [1.3750000000 -0.8750000000]
// CHECK-NEXT: [-1.1250000000 -0.8750000000]
// CHECK-NEXT: [-1.8750000000 1.5000000000]
// CHECK-NEXT: parts step 0 result 3: [2, 3]
// CHECK-NEXT: [1.6250000000 0.3750000000 1.1250000000]
// CHECK-NEXT: [-0.8750000000 -0.8750000000 1.5000000000]
// CHECK-NEXT: parts step 0 result 4: [2, 2, 3]
// CHECK-NEXT: [1.8750000000 0.5000000000 0.7500000000]
// CHECK-NEXT: [-0.1250000000 -1.1250000000 1.3750000000]
// CHECK-NEXT: [1.3750000000 -1.1250000000 -1.8750000000]
// CHECK-NEXT: [-1.3750000000 1.5000000000 0.5000000000]
func.func @parts(%x: tensor<?x2x3xf32>, %o: tensor<?x2x1xf32>, %n: tensor<?x3xf32>)
    -> (tensor<?x2x2xf32>, tensor<?x2x4xf32>, tensor<?x3x2xf32>, tensor<?x3xf32>, tensor<?x2x3xf32>) attributes {test.steps = [
    {args = [
      dense<[[[1.875, 0.5, 0.75], [1.625, 0.375, 1.125]], [[1.375, -1.125, -1.875], [-0.875, -0.875, 1.5]]]> : tensor<2x2x3xf32>,
      dense<[[[-0.5], [0.0]], [[-2.0], [0.5]]]> : tensor<2x2x1xf32>,
      dense<[[-0.125, -1.125, 1.375], [-1.375, 1.5, 0.5]]> : tensor<2x3xf32>]}]} {
  %r0 = llm.slice %x from 1 size 2 : tensor<?x2x3xf32> -> tensor<?x2x2xf32>
  %r1 = llm.concat %x, %o : tensor<?x2x3xf32>, tensor<?x2x1xf32> -> tensor<?x2x4xf32>
  %r2 = llm.transpose %x : tensor<?x2x3xf32> -> tensor<?x3x2xf32>
  %r3 = llm.take %x[1] : tensor<?x2x3xf32> -> tensor<?x3xf32>
  %r4 = llm.put %x[1], %n : tensor<?x2x3xf32>, tensor<?x3xf32>
  return %r0, %r1, %r2, %r3, %r4 : tensor<?x2x2xf32>, tensor<?x2x4xf32>, tensor<?x3x2xf32>, tensor<?x3xf32>, tensor<?x2x3xf32>
}

// y[t, i] = sum_j c[t, i, j] * x[t, j]
// CHECK: mix step 0 result 0: [2, 3, 3]
// CHECK-NEXT: [3.5937500000 0.9218750000 1.7343750000]
// CHECK-NEXT: [-2.3750000000 -0.6406250000 -0.8906250000]
// CHECK-NEXT: [1.1718750000 0.2031250000 1.3593750000]
// CHECK-NEXT: [3.3281250000 -0.7343750000 -4.9218750000]
// CHECK-NEXT: [-1.6406250000 -1.6406250000 2.8125000000]
// CHECK-NEXT: [1.1250000000 -2.3125000000 -1.2656250000]
func.func @mix(%c: tensor<?x3x2xf32>, %x: tensor<?x2x3xf32>)
    -> tensor<?x3x3xf32> attributes {test.steps = [
    {args = [
      dense<[[[1.375, 0.625], [-1.375, 0.125], [-1.0, 1.875]], [[1.625, -1.25], [0.0, 1.875], [1.375, 0.875]]]> : tensor<2x3x2xf32>,
      dense<[[[1.875, 0.5, 0.75], [1.625, 0.375, 1.125]], [[1.375, -1.125, -1.875], [-0.875, -0.875, 1.5]]]> : tensor<2x2x3xf32>]}]} {
  %r0 = llm.mix %c, %x : tensor<?x3x2xf32>, tensor<?x2x3xf32> -> tensor<?x3x3xf32>
  return %r0 : tensor<?x3x3xf32>
}

// y = 1 + f32(0.1) * log(1 + floor((position + shift) / 3)), shift 1 and 0; positions 2 to 5, and 0
// CHECK: position_scale step 0 result 0: [5, 1]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.1098612305]
// CHECK-NEXT: [1.0000000000]
// CHECK-NEXT: position_scale step 0 result 1: [5, 1]
// CHECK-NEXT: [1.0000000000]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.0693147191]
// CHECK-NEXT: [1.0000000000]
func.func @position_scale(%batch: !llm.batch)
    -> (tensor<?x1xf32>, tensor<?x1xf32>) attributes {test.steps = [
    {batch = [array<i64: 4, 2, 4>, array<i64: 9, 0, 1>], args = [
      "batch"]}]} {
  %r0 = llm.position_scale %batch scale 0.1 period 3 shift 1 : tensor<?x1xf32>
  %r1 = llm.position_scale %batch scale 0.1 period 3 : tensor<?x1xf32>
  return %r0, %r1 : tensor<?x1xf32>, tensor<?x1xf32>
}

// x / (1 + exp(-1.702 x)); max(x, 0)^2; log(1 + exp(x)); exp(x)
// CHECK: more_activations step 0 result 0: [2, 4]
// CHECK-NEXT: [0.4646290767 -0.0740556221 0.8457957659 -0.0558765266]
// CHECK-NEXT: [-0.0962053431 -0.1542042341 0.0691234734 0.7139699656]
// CHECK-NEXT: more_activations step 0 result 1: [2, 4]
// CHECK-NEXT: [0.3906250000 0.0000000000 1.0000000000 0.0000000000]
// CHECK-NEXT: [0.0000000000 0.0000000000 0.0156250000 0.7656250000]
// CHECK-NEXT: more_activations step 0 result 2: [2, 4]
// CHECK-NEXT: [1.0537006783 0.1426750576 1.3132616875 0.6325990353]
// CHECK-NEXT: [0.1797446354 0.3132616875 0.7575990353 1.2234445810]
// CHECK-NEXT: more_activations step 0 result 3: [2, 4]
// CHECK-NEXT: [1.8682459574 0.1533549668 2.7182818285 0.8824969026]
// CHECK-NEXT: [0.1969116752 0.3678794412 1.1331484531 2.3988752940]
func.func @more_activations(%a: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.625, -1.875, 1.0, -0.125], [-1.625, -1.0, 0.125, 0.875]]> : tensor<2x4xf32>]}]} {
  %r0 = llm.activation gelu_quick %a : tensor<?x4xf32>
  %r1 = llm.activation relu2 %a : tensor<?x4xf32>
  %r2 = llm.activation softplus %a : tensor<?x4xf32>
  %r3 = llm.activation exp %a : tensor<?x4xf32>
  return %r0, %r1, %r2, %r3 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// log x, sqrt x, 1 / x
// CHECK: roots step 0 result 0: [2, 4]
// CHECK-NEXT: [-1.3862943611 -0.2876820725 0.5596157879 0.0000000000]
// CHECK-NEXT: [-0.1335313926 -0.1335313926 -0.4700036292 0.6286086594]
// CHECK-NEXT: roots step 0 result 1: [2, 4]
// CHECK-NEXT: [0.5000000000 0.8660254038 1.3228756555 1.0000000000]
// CHECK-NEXT: [0.9354143467 0.9354143467 0.7905694150 1.3693063938]
// CHECK-NEXT: roots step 0 result 2: [2, 4]
// CHECK-NEXT: [4.0000000000 1.3333333333 0.5714285714 1.0000000000]
// CHECK-NEXT: [1.1428571429 1.1428571429 1.6000000000 0.5333333333]
func.func @roots(%a: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.25, 0.75, 1.75, 1.0], [0.875, 0.875, 0.625, 1.875]]> : tensor<2x4xf32>]}]} {
  %r0 = llm.activation log %a : tensor<?x4xf32>
  %r1 = llm.activation sqrt %a : tensor<?x4xf32>
  %r2 = llm.activation reciprocal %a : tensor<?x4xf32>
  return %r0, %r1, %r2 : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>
}

// x / sqrt(mean(x^2) + 0.25); (x - mean) / sqrt(mean((x - mean)^2) + 0.25)
// CHECK: norms_without_scale step 0 result 0: [2, 5]
// CHECK-NEXT: [-1.6962422739 0.5654140913 -0.4523312730 0.3392484548 -0.6784969095]
// CHECK-NEXT: [-0.9704949588 -1.2939932784 -0.4313310928 1.0783277320 -0.3234983196]
// CHECK-NEXT: norms_without_scale step 0 result 1: [2, 5]
// CHECK-NEXT: [-1.4209882769 1.0289915109 -0.0734993936 0.7839935321 -0.3184973724]
// CHECK-NEXT: [-0.6318491092 -0.9828763921 -0.0468036377 1.5913236825 0.0702054566]
func.func @norms_without_scale(%a: tensor<?x5xf32>)
    -> (tensor<?x5xf32>, tensor<?x5xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.875, 0.625, -0.5, 0.375, -0.75], [-1.125, -1.5, -0.5, 1.25, -0.375]]> : tensor<2x5xf32>]}]} {
  %r0 = llm.rms_norm %a eps 0.25 : tensor<?x5xf32>
  %r1 = llm.layer_norm %a eps 0.25 : tensor<?x5xf32>
  return %r0, %r1 : tensor<?x5xf32>, tensor<?x5xf32>
}

// Numbers that count from the layer: y[i + 1] = y[i] for layers 0 and 1.
func.func private @layer(%i: index, %x: tensor<?x3x2xf32>) -> tensor<?x3x2xf32> {
  %a = llm.take %x[%i + 0] : tensor<?x3x2xf32> -> tensor<?x2xf32>
  %y = llm.put %x[%i + 1], %a : tensor<?x3x2xf32>, tensor<?x2xf32>
  return %y : tensor<?x3x2xf32>
}

// Head 0 moved on by two layers.
// CHECK: layers step 0 result 0: [2, 3, 2]
// CHECK-NEXT: [-0.5000000000 0.2500000000]
// CHECK-NEXT: [-0.5000000000 0.2500000000]
// CHECK-NEXT: [-0.5000000000 0.2500000000]
// CHECK-NEXT: [0.3750000000 -0.2500000000]
// CHECK-NEXT: [0.3750000000 -0.2500000000]
// CHECK-NEXT: [0.3750000000 -0.2500000000]
func.func @layers(%x: tensor<?x3x2xf32>)
    -> tensor<?x3x2xf32> attributes {test.steps = [
    {args = [
      dense<[[[-0.5, 0.25], [2.0, -0.5], [0.375, -0.25]], [[0.375, -0.25], [0.625, 0.25], [0.75, 1.875]]]> : tensor<2x3x2xf32>]}]} {
  %r0 = llm.repeat [@layer] from 0 count 2 (%x) : (tensor<?x3x2xf32>)
  return %r0 : tensor<?x3x2xf32>
}
