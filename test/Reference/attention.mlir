// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

// For a query at position p and head h over j <= p of its sequence: s_j = 0.5 q . k_j,
// y = sum_j softmax(s)_j v_j with kv head h / 2. Two sequences in each of two steps.
// CHECK: grouped step 0 result 0: [4, 4, 3]
// CHECK-NEXT: [0.1250000000 0.1250000000 0.6250000000]
// CHECK-NEXT: [0.1250000000 0.1250000000 0.6250000000]
// CHECK-NEXT: [-1.2500000000 0.8750000000 0.2500000000]
// CHECK-NEXT: [-1.2500000000 0.8750000000 0.2500000000]
// CHECK-NEXT: [0.2417113988 0.8252683930 0.1581544047]
// CHECK-NEXT: [0.1564806912 0.3138841473 0.4990772352]
// CHECK-NEXT: [-0.3115700316 -0.1356168891 -0.6162430478]
// CHECK-NEXT: [0.2327087608 -0.7217632808 -1.1186542407]
// CHECK-NEXT: [-0.5878831429 1.7077764057 -0.1662169162]
// CHECK-NEXT: [0.0683633752 0.4256007549 0.4534472672]
// CHECK-NEXT: [-1.0135559565 0.6377622148 0.0466533270]
// CHECK-NEXT: [-0.3434120185 -0.0160006467 -0.5137148400]
// CHECK-NEXT: [1.0000000000 -0.7500000000 1.5000000000]
// CHECK-NEXT: [1.0000000000 -0.7500000000 1.5000000000]
// CHECK-NEXT: [-1.7500000000 -1.6250000000 1.2500000000]
// CHECK-NEXT: [-1.7500000000 -1.6250000000 1.2500000000]
// CHECK-NEXT: grouped step 1 result 0: [2, 4, 3]
// CHECK-NEXT: [0.7321762248 -0.6543486517 1.3278275731]
// CHECK-NEXT: [0.5347091721 -0.5838247043 1.2008844678]
// CHECK-NEXT: [-1.3447605457 0.7051268624 -0.3709578173]
// CHECK-NEXT: [-1.2585226586 1.2009947129 -0.7159093655]
// CHECK-NEXT: [-0.9327999552 1.5505694190 0.0827490698]
// CHECK-NEXT: [-1.0070209296 1.6311745956 0.0445457633]
// CHECK-NEXT: [-0.8102884554 0.4814566989 0.0279861671]
// CHECK-NEXT: [0.8759341176 -0.7676145864 0.1523106552]
func.func @grouped(%q: tensor<?x4x2xf32>, %k: tensor<?x2x2xf32>, %v: tensor<?x2x3xf32>,
    %batch: !llm.batch, %c: !llm.cache<paged, [2, 2, 3], f32>)
    -> tensor<?x4x3xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>, array<i64: 9, 0, 1>], args = [
      dense<[[[0.25, -1.375], [-1.875, 0.375], [1.375, 1.0], [0.75, -1.0]], [[-0.5, 0.125],
       [1.5, -2.0], [-0.25, 1.625], [-1.875, -1.25]], [[-1.375, 1.875], [1.25, -1.875],
       [2.0, 1.375], [0.75, -1.625]], [[-0.375, -1.75], [0.875, -0.625], [-0.375, 0.875],
       [0.875, 0.25]]]> : tensor<4x4x2xf32>,
      dense<[[[0.5, -1.375], [1.75, -0.625]], [[1.75, 1.5], [-0.75, -0.625]], [[-0.625, 0.5],
       [-0.5, -1.125]], [[-1.375, -1.25], [1.375, -1.75]]]> : tensor<4x2x2xf32>,
      dense<[[[0.125, 0.125, 0.625], [-1.25, 0.875, 0.25]], [[0.375, 1.625, -0.375],
       [0.375, -0.875, -1.25]], [[-1.125, 1.875, -0.125], [0.625, -0.875, -1.25]],
       [[1.0, -0.75, 1.5], [-1.75, -1.625, 1.25]]]> : tensor<4x2x3xf32>,
      "batch",
      "state"]},
    {batch = [array<i64: 9, 1, 1>, array<i64: 0, 3, 1>], args = [
      dense<[[[1.125, -1.875], [-0.75, -0.25], [-2.0, -0.25], [-1.625, 1.5]], [[-1.375, 0.75],
       [-1.875, 1.0], [1.875, -0.5], [-1.75, -1.5]]]> : tensor<2x4x2xf32>,
      dense<[[[0.375, 1.625], [-0.5, 1.625]], [[0.25, -0.375],
       [-1.375, -1.25]]]> : tensor<2x2x2xf32>,
      dense<[[[-0.75, -0.125, 0.375], [-1.25, 1.25, -0.75]], [[-2.0, 1.5, 0.625],
       [1.25, -0.75, 1.25]]]> : tensor<2x2x3xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x2x2xf32>, tensor<?x2x3xf32>,
      !llm.cache<paged, [2, 2, 3], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 0.5 : tensor<?x4x2xf32>,
      !llm.cache<paged, [2, 2, 3], f32> -> tensor<?x4x3xf32>
  return %y : tensor<?x4x3xf32>
}

// The same over p - 2 < j <= p: the present position and the one before.
// CHECK: windowed step 0 result 0: [4, 2, 2]
// CHECK-NEXT: [1.0000000000 -1.8750000000]
// CHECK-NEXT: [1.0000000000 -1.8750000000]
// CHECK-NEXT: [0.0131073006 -0.2959716809]
// CHECK-NEXT: [-0.5196479538 0.5564367260]
// CHECK-NEXT: [-0.5341366117 -0.9201803299]
// CHECK-NEXT: [-0.8143655611 0.7611933668]
// CHECK-NEXT: [-0.3812947104 -1.7900214093]
// CHECK-NEXT: [-0.5776197272 0.8603663168]
// CHECK-NEXT: windowed step 1 result 0: [1, 2, 2]
// CHECK-NEXT: [0.3692697535 0.3814465273]
// CHECK-NEXT: [0.3426556676 0.4113873739]
func.func @windowed(%q: tensor<?x2x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch, %c: !llm.cache<paged, [1, 2, 2], f32>)
    -> tensor<?x2x2xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 4>], args = [
      dense<[[[-1.5, -0.125], [0.25, 1.375]], [[1.25, 0.375], [-1.625, 0.25]], [[-1.25, -1.875],
       [-1.0, 0.625]], [[1.375, -0.125], [-0.75, -1.375]]]> : tensor<4x2x2xf32>,
      dense<[[[0.625, -1.125]], [[-0.125, 1.75]], [[1.5, 0.125]],
       [[-2.0, 0.625]]]> : tensor<4x1x2xf32>,
      dense<[[[1.0, -1.875]], [[-0.875, 1.125]], [[-0.375, -1.875]],
       [[-0.625, 1.5]]]> : tensor<4x1x2xf32>,
      "batch",
      "state"]},
    {batch = [array<i64: 0, 4, 1>], args = [
      dense<[[[1.375, -1.375], [1.25, 0.125]]]> : tensor<1x2x2xf32>,
      dense<[[[1.75, -0.625]]]> : tensor<1x1x2xf32>,
      dense<[[[0.375, 0.375]]]> : tensor<1x1x2xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 0.75 window 2 : tensor<?x2x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32> -> tensor<?x2x2xf32>
  return %y : tensor<?x2x2xf32>
}

// A step that starts at an earlier position drops what was there: positions 1 and 2 are replaced.
// CHECK: rewound step 0 result 0: [3, 1, 2]
// CHECK-NEXT: [0.3750000000 0.1250000000]
// CHECK-NEXT: [0.5489895813 -0.4839635344]
// CHECK-NEXT: [0.7327811622 -0.9824007359]
// CHECK-NEXT: rewound step 1 result 0: [1, 1, 2]
// CHECK-NEXT: [0.3252369422 0.1498815289]
func.func @rewound(%q: tensor<?x1x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch, %c: !llm.cache<paged, [1, 2, 2], f32>)
    -> tensor<?x1x2xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>], args = [
      dense<[[[-1.375, -0.25]], [[-1.625, 1.875]], [[1.0, -1.875]]]> : tensor<3x1x2xf32>,
      dense<[[[1.625, 1.25]], [[0.25, 0.5]], [[1.25, 0.75]]]> : tensor<3x1x2xf32>,
      dense<[[[0.375, 0.125]], [[0.625, -0.75]], [[1.0, -1.75]]]> : tensor<3x1x2xf32>,
      "batch",
      "state"]},
    {batch = [array<i64: 0, 1, 1>], args = [
      dense<[[[1.25, 1.75]]]> : tensor<1x1x2xf32>,
      dense<[[[0.375, 0.125]]]> : tensor<1x1x2xf32>,
      dense<[[[-1.375, 1.0]]]> : tensor<1x1x2xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 1.0 : tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32> -> tensor<?x1x2xf32>
  return %y : tensor<?x1x2xf32>
}

// Chunks of 3 positions and s_j = c * tanh(0.75 q . k_j / c), c = f32(0.7).
// CHECK: chunked step 0 result 0: [4, 2, 2]
// CHECK-NEXT: [1.0000000000 -1.8750000000]
// CHECK-NEXT: [1.0000000000 -1.8750000000]
// CHECK-NEXT: [0.0222780175 -0.3106448281]
// CHECK-NEXT: [-0.3835695760 0.3387113217]
// CHECK-NEXT: [0.4327729161 -1.3543664605]
// CHECK-NEXT: [-0.4363392031 0.0210708286]
// CHECK-NEXT: [-0.6250000000 1.5000000000]
// CHECK-NEXT: [-0.6250000000 1.5000000000]
// CHECK-NEXT: chunked step 1 result 0: [1, 2, 2]
// CHECK-NEXT: [0.1768837057 0.5978808311]
// CHECK-NEXT: [0.1735346955 0.6016484675]
func.func @chunked(%q: tensor<?x2x2xf32>, %k: tensor<?x1x2xf32>, %v: tensor<?x1x2xf32>,
    %batch: !llm.batch, %c: !llm.cache<paged, [1, 2, 2], f32>)
    -> tensor<?x2x2xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 4>], args = [
      dense<[[[-1.5, -0.125], [0.25, 1.375]], [[1.25, 0.375], [-1.625, 0.25]], [[-1.25, -1.875],
       [-1.0, 0.625]], [[1.375, -0.125], [-0.75, -1.375]]]> : tensor<4x2x2xf32>,
      dense<[[[0.625, -1.125]], [[-0.125, 1.75]], [[1.5, 0.125]],
       [[-2.0, 0.625]]]> : tensor<4x1x2xf32>,
      dense<[[[1.0, -1.875]], [[-0.875, 1.125]], [[-0.375, -1.875]],
       [[-0.625, 1.5]]]> : tensor<4x1x2xf32>,
      "batch",
      "state"]},
    {batch = [array<i64: 0, 4, 1>], args = [
      dense<[[[1.375, -1.375], [1.25, 0.125]]]> : tensor<1x2x2xf32>,
      dense<[[[1.75, -0.625]]]> : tensor<1x1x2xf32>,
      dense<[[[0.375, 0.375]]]> : tensor<1x1x2xf32>,
      "batch",
      "state"]}]} {
  %c1 = llm.kv_append %k, %v, %c, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32>
  %y = llm.paged_attention %q, %c1, %batch scale 0.75 chunk 3 softcap 0.7 : tensor<?x2x2xf32>,
      !llm.cache<paged, [1, 2, 2], f32> -> tensor<?x2x2xf32>
  return %y : tensor<?x2x2xf32>
}
