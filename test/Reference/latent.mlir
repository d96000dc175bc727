// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 (numpy) by the formula above each function.

// Over the 2 positions j <= p with the greatest sum_h iw_h max(iq_h . ik_j, 0), ascending:
// s_j = 0.5 q . k_j, a sink s_h beside them, y = sum_j softmax(s)_j k_j[0 .. 2], then w_h y_h.
// CHECK: sparse step 0 result 0: [4, 2]
// CHECK-NEXT: [0.0000000000 -1.0000000000]
// CHECK-NEXT: [0.0000000000 1.0000000000]
// CHECK-NEXT: [1.0000000000 2.0000000000]
// CHECK-NEXT: [0.0000000000 3.0000000000]
// CHECK-NEXT: sparse step 0 result 1: [4, 3, 3]
// CHECK-NEXT: [1.7254087248 -0.6901634899 -0.6901634899]
// CHECK-NEXT: [1.0069526002 -0.4027810401 -0.4027810401]
// CHECK-NEXT: [0.1653563340 -0.0661425336 -0.0661425336]
// CHECK-NEXT: [1.7519344341 -0.6996744928 -0.6447104523]
// CHECK-NEXT: [1.4905753385 -0.5955002138 -0.5590041333]
// CHECK-NEXT: [0.5761473581 -0.2261864270 -0.0125606146]
// CHECK-NEXT: [0.5225428628 -0.2398970339 0.2270205643]
// CHECK-NEXT: [0.3675956636 -0.1266047928 1.0196997310]
// CHECK-NEXT: [0.1116122233 -0.0570500678 -0.0700215943]
// CHECK-NEXT: [1.7999699716 -0.8487196348 -0.3565103994]
// CHECK-NEXT: [0.8926548874 -0.4216095558 -0.1748099057]
// CHECK-NEXT: [0.8125414007 -0.4021317227 -0.1072796311]
// CHECK-NEXT: sparse step 0 result 2: [4, 3, 2]
// CHECK-NEXT: [1.9410848153 0.0431352181]
// CHECK-NEXT: [-1.4097336402 -0.8055620801]
// CHECK-NEXT: [0.3265787597 0.3141770346]
// CHECK-NEXT: [1.9551240767 0.0983501711]
// CHECK-NEXT: [-2.0824259442 -1.1549605481]
// CHECK-NEXT: [1.2703390360 0.6551448714]
// CHECK-NEXT: [0.5290311125 0.4915611280]
// CHECK-NEXT: [-0.3764542318 0.8803240178]
// CHECK-NEXT: [0.2154282316 0.2736711654]
// CHECK-NEXT: [2.1432857458 0.5854828520]
// CHECK-NEXT: [-1.2027299859 -0.5560772110]
// CHECK-NEXT: [1.8083306141 1.1758305701]
// CHECK-NEXT: sparse step 1 result 0: [3, 2]
// CHECK-NEXT: [1.0000000000 3.0000000000]
// CHECK-NEXT: [0.0000000000 -1.0000000000]
// CHECK-NEXT: [0.0000000000 1.0000000000]
// CHECK-NEXT: sparse step 1 result 1: [3, 3, 3]
// CHECK-NEXT: [0.7240032914 -0.4055661932 0.7318236471]
// CHECK-NEXT: [0.5685469483 -0.2696813014 1.0026497437]
// CHECK-NEXT: [0.1405660647 -0.0832608464 0.1024500373]
// CHECK-NEXT: [-1.4504141005 -0.2231406308 -0.4462812617]
// CHECK-NEXT: [-1.5791408959 -0.2429447532 -0.4858895064]
// CHECK-NEXT: [-0.4833886567 -0.0743674857 -0.1487349713]
// CHECK-NEXT: [-1.4497285174 -0.6432637447 -0.2593020516]
// CHECK-NEXT: [-1.2059091849 -0.6564678626 -0.1617408144]
// CHECK-NEXT: [-0.6741395707 -0.1616854830 -0.1816623589]
// CHECK-NEXT: sparse step 1 result 2: [3, 3, 2]
// CHECK-NEXT: [0.7475903865 1.1989767513]
// CHECK-NEXT: [-0.6263587166 0.7593825186]
// CHECK-NEXT: [0.4004458852 -0.0266222855]
// CHECK-NEXT: [-0.0697314471 0.0418388683]
// CHECK-NEXT: [2.3990794380 -0.1822085649]
// CHECK-NEXT: [-0.9342415385 0.0000000000]
// CHECK-NEXT: [0.5664809041 0.8064016621]
// CHECK-NEXT: [2.0348216240 -0.1064389666]
// CHECK-NEXT: [-1.2360758717 -0.0008051625]
func.func @sparse(%q: tensor<?x3x4xf32>, %k: tensor<?x1x4xf32>, %iq: tensor<?x2x3xf32>,
    %iw: tensor<?x2xf32>, %ik: tensor<?x1x3xf32>, %s: !llm.weight<[3], #llm.dense<f32>>,
    %w: !llm.weight<[3, 2, 3], #llm.dense<f32>>, %batch: !llm.batch,
    %c: !llm.cache<latent, [1, 4, 3], f32>, %i: !llm.cache<latent, [1, 3, 0], f32>)
    -> (tensor<?x2xi32>, tensor<?x3x3xf32>, tensor<?x3x2xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 4>], args = [
      dense<[[[-0.375, -0.125, -1.375, 0.75], [-0.875, 1.5, -0.875, 0.25], [-0.375, 0.5, -1.25, -1.25]], [[1.0, 1.0, 0.25, 1.625], [-1.125, 1.375, -1.375, 1.875], [0.5, 0.375, 1.875, 1.125]], [[1.125, -1.75, -0.5, -1.625], [-1.25, -1.125, 1.375, -1.5], [-0.875, -0.0, 1.375, 1.875]], [[0.875, -1.125, 0.125, 0.875], [-1.75, 0.75, -0.5, 0.375], [0.625, 0.625, 0.125, 0.25]]]> : tensor<4x3x4xf32>,
      dense<[[[1.875, -0.75, -0.75, 1.625]], [[0.375, -0.125, 1.125, -1.875]], [[0.875, -0.5, -1.625, 0.625]], [[1.75, -1.125, 0.5, -0.75]]]> : tensor<4x1x4xf32>,
      dense<[[[-1.25, -0.0, -1.5], [-0.125, 0.125, 1.125]], [[-0.375, -1.875, 0.125], [-1.125, 1.0, -0.5]], [[-0.5, 1.625, -0.375], [-0.625, -0.625, -0.125]], [[-1.625, 0.125, 1.625], [0.25, 1.0, 1.75]]]> : tensor<4x2x3xf32>,
      dense<[[1.375, 1.0], [1.25, 1.25], [-1.0, -0.125], [-0.625, -1.0]]> : tensor<4x2xf32>,
      dense<[[[1.0, 0.875, -1.125]], [[1.375, 0.625, 0.75]], [[1.25, -0.25, 1.0]], [[1.5, -1.625, 1.375]]]> : tensor<4x1x3xf32>,
      dense<[-1.625, -1.0, 1.25]> : tensor<3xf32>,
      dense<[[[0.375, -1.625, -0.25], [-0.125, -1.375, 1.0]], [[-1.5, -0.375, 0.125], [-0.25, 0.375, 1.0]], [[1.875, -0.875, 0.625], [0.75, -0.875, -2.0]]]> : tensor<3x2x3xf32>,
      "batch",
      "state",
      "state"]},
    {batch = [array<i64: 0, 4, 1>, array<i64: 5, 0, 2>], args = [
      dense<[[[0.125, 1.75, -1.5, -0.375], [0.625, 1.5, 2.0, -1.375], [0.125, 1.5, -1.75, 0.375]], [[-1.25, 1.125, 1.75, 0.125], [-2.0, -1.75, -0.375, 1.375], [-1.0, 0.625, -0.375, -1.0]], [[0.875, -0.75, -0.5, 1.0], [-0.0, 1.125, 0.125, -1.375], [-0.25, 1.5, 0.25, 1.875]]]> : tensor<3x3x4xf32>,
      dense<[[[0.25, -0.75, 0.5, 0.375]], [[-1.625, -0.25, -0.5, 0.875]], [[-1.625, -1.375, 0.0, -0.375]]]> : tensor<3x1x4xf32>,
      dense<[[[-2.0, -0.625, 1.125], [0.75, 0.25, 0.625]], [[1.5, 0.75, 0.25], [0.25, 0.625, -0.75]], [[0.625, 0.5, 1.125], [-0.125, -1.875, 0.125]]]> : tensor<3x2x3xf32>,
      dense<[[1.375, 0.5], [0.625, -0.375], [-0.625, 0.875]]> : tensor<3x2xf32>,
      dense<[[[0.625, -0.625, -1.25]], [[1.75, -1.0, -1.375]], [[-0.875, -0.625, -1.125]]]> : tensor<3x1x3xf32>,
      dense<[-1.625, -1.0, 1.25]> : tensor<3xf32>,
      dense<[[[0.375, -1.625, -0.25], [-0.125, -1.375, 1.0]], [[-1.5, -0.375, 0.125], [-0.25, 0.375, 1.0]], [[1.875, -0.875, 0.625], [0.75, -0.875, -2.0]]]> : tensor<3x2x3xf32>,
      "batch",
      "state",
      "state"]}]} {
  %c1 = llm.kv_append %k, %c, %batch : tensor<?x1x4xf32>, !llm.cache<latent, [1, 4, 3], f32>
  %i1 = llm.kv_append %ik, %i, %batch : tensor<?x1x3xf32>, !llm.cache<latent, [1, 3, 0], f32>
  %j = llm.select_positions %iq, %iw, %i1, %batch top 2 : tensor<?x2x3xf32>,
      tensor<?x2xf32>, !llm.cache<latent, [1, 3, 0], f32> -> tensor<?x2xi32>
  %y = llm.paged_attention %q, %c1, %batch sinks %s : !llm.weight<[3], #llm.dense<f32>>
      selection %j : tensor<?x2xi32> scale 0.5 : tensor<?x3x4xf32>,
      !llm.cache<latent, [1, 4, 3], f32> -> tensor<?x3x3xf32>
  %h = llm.head_linear %y, %w : tensor<?x3x3xf32>, !llm.weight<[3, 2, 3], #llm.dense<f32>>
      -> tensor<?x3x2xf32>
  return %j, %y, %h : tensor<?x2xi32>, tensor<?x3x3xf32>, tensor<?x3x2xf32>
}

// s_j = 0.5 q . k_j + slope_h (j - p).
// CHECK: slopes step 0 result 0: [4, 2, 2]
// CHECK-NEXT: [-1.3750000000 0.5000000000]
// CHECK-NEXT: [-1.3750000000 0.5000000000]
// CHECK-NEXT: [0.9568995835 1.2772998612]
// CHECK-NEXT: [-0.7068995835 0.7227001388]
// CHECK-NEXT: [-0.4226920266 0.8398908785]
// CHECK-NEXT: [-0.5281382996 0.7867165836]
// CHECK-NEXT: [0.2290353520 -0.0441366851]
// CHECK-NEXT: [-0.2758876049 0.3954759241]
func.func @slopes(%q: tensor<?x2x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch, %c: !llm.cache<paged, [1, 2, 2], f32>)
    -> tensor<?x2x2xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 4>], args = [
      dense<[[[-1.75, 1.5], [1.5, 1.875]], [[-1.5, -1.5], [1.625, -0.375]], [[-0.875, -0.5], [0.625, -1.375]], [[-0.0, 0.625], [0.875, -2.0]]]> : tensor<4x2x2xf32>,
      dense<[[[1.25, -0.25]], [[-0.25, 0.25]], [[-0.875, 1.5]], [[-1.125, 0.125]]]> : tensor<4x1x2xf32>,
      dense<[[[-1.375, 0.5]], [[1.625, 1.5]], [[-1.5, 0.5]], [[1.625, -1.25]]]> : tensor<4x1x2xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 0.5 slopes [0.5, 0.0625] : tensor<?x2x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32> -> tensor<?x2x2xf32>
  return %y : tensor<?x2x2xf32>
}

// Nothing is selected: nothing is seen.
// CHECK: none step 0 result 0: [2, 3]
// CHECK-NEXT: [-1.0000000000 -1.0000000000 -1.0000000000]
// CHECK-NEXT: [-1.0000000000 -1.0000000000 -1.0000000000]
// CHECK-NEXT: none step 0 result 1: [2, 1, 2]
// CHECK-NEXT: [0.0000000000 0.0000000000]
// CHECK-NEXT: [0.0000000000 0.0000000000]
func.func @none(%q: tensor<?x1x2xf32>, %k: tensor<?x1x2xf32>, %batch: !llm.batch,
    %c: !llm.cache<latent, [1, 2, 2], f32>)
    -> (tensor<?x3xi32>, tensor<?x1x2xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[[-0.375, 0.875]], [[1.0, -0.25]]]> : tensor<2x1x2xf32>,
      dense<[[[0.5, 0.625]], [[-0.625, 0.625]]]> : tensor<2x1x2xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %c, %batch : tensor<?x1x2xf32>, !llm.cache<latent, [1, 2, 2], f32>
  %j = llm.no_positions %batch : tensor<?x3xi32>
  %y = llm.paged_attention %q, %c1, %batch selection %j : tensor<?x3xi32> scale 0.5 : tensor<?x1x2xf32>,
      !llm.cache<latent, [1, 2, 2], f32> -> tensor<?x1x2xf32>
  return %j, %y : tensor<?x3xi32>, tensor<?x1x2xf32>
}

// Channels 2 to 5 turn, neighbours and halves.
// CHECK: from step 0 result 0: [3, 1, 6]
// CHECK-NEXT: [0.2500000000 0.7500000000 0.0000000000 -0.6250000000 -0.2500000000 1.7500000000]
// CHECK-NEXT: [-1.2500000000 -1.3750000000 -2.2376272158 -0.9400262990 2.2345906624 0.0812685153]
// CHECK-NEXT: [-0.8750000000 -1.2500000000 -0.1560550637 0.3409865351 1.6220327402 0.4439986369]
// CHECK-NEXT: from step 0 result 1: [3, 1, 6]
// CHECK-NEXT: [0.2500000000 0.7500000000 0.0000000000 -0.6250000000 -0.2500000000 1.7500000000]
// CHECK-NEXT: [-1.2500000000 -1.3750000000 -2.7635465814 1.6861015612 -0.6023373579 -0.2183724463]
// CHECK-NEXT: [-0.8750000000 -1.2500000000 -1.2926768472 0.9466548579 -0.1791970106 -0.6078400941]
func.func @from(%x: tensor<?x1x6xf32>, %batch: !llm.batch)
    -> (tensor<?x1x6xf32>, tensor<?x1x6xf32>) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>], args = [
      dense<[[[0.25, 0.75, 0.0, -0.625, -0.25, 1.75]], [[-1.25, -1.375, -2.0, 1.375, 2.0, -1.0]], [[-0.875, -1.25, 0.375, -0.0, 1.25, -1.125]]]> : tensor<3x1x6xf32>,
      "batch"]}]} {
  %y = llm.rotary %x, %batch rope(#llm.rope<"default", base = 4.0, width = 4, interleaved, magnitude = 1.0, [1.0, 0.5]>) from 2 : tensor<?x1x6xf32>
  %z = llm.rotary %x, %batch rope(#llm.rope<"default", base = 4.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>) from 2 : tensor<?x1x6xf32>
  return %y, %z : tensor<?x1x6xf32>, tensor<?x1x6xf32>
}
