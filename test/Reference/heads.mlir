// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

#halves = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.25]>
#interleaved = #llm.rope<"yarn", base = 500.0, width = 4, interleaved, magnitude = 1.25,
    [0.75, 0.1]>
#long = #llm.rope<"longrope", base = 100.0, width = 4, halves, magnitude = 1.25, [1.0, 0.5],
    long [0.75, 0.0] beyond 5>

// y[t, h, d] = x[t, h * 3 + d]
// CHECK: split_heads step 0 result 0: [2, 2, 3]
// CHECK-NEXT: [1.2500000000 0.3750000000 0.8750000000]
// CHECK-NEXT: [0.2500000000 -0.6250000000 0.1250000000]
// CHECK-NEXT: [-1.1250000000 -1.8750000000 -0.1250000000]
// CHECK-NEXT: [1.0000000000 1.2500000000 0.3750000000]
func.func @split_heads(%x: tensor<?x6xf32>)
    -> tensor<?x2x3xf32> attributes {test.steps = [
    {args = [
      dense<[[1.25, 0.375, 0.875, 0.25, -0.625, 0.125],
       [-1.125, -1.875, -0.125, 1.0, 1.25, 0.375]]> : tensor<2x6xf32>]}]} {
  %y = llm.split_heads %x : tensor<?x6xf32> -> tensor<?x2x3xf32>
  return %y : tensor<?x2x3xf32>
}

// y[t, h * 3 + d] = x[t, h, d]
// CHECK: merge_heads step 0 result 0: [2, 6]
// CHECK-NEXT: [1.2500000000 0.3750000000 0.8750000000 0.2500000000 -0.6250000000 0.1250000000]
// CHECK-NEXT: [-1.1250000000 -1.8750000000 -0.1250000000 1.0000000000 1.2500000000 0.3750000000]
func.func @merge_heads(%x: tensor<?x2x3xf32>)
    -> tensor<?x6xf32> attributes {test.steps = [
    {args = [
      dense<[[[1.25, 0.375, 0.875], [0.25, -0.625, 0.125]], [[-1.125, -1.875, -0.125],
       [1.0, 1.25, 0.375]]]> : tensor<2x2x3xf32>]}]} {
  %y = llm.merge_heads %x : tensor<?x2x3xf32> -> tensor<?x6xf32>
  return %y : tensor<?x6xf32>
}

// Channels j and j + 2 of the first 4 turn by a = position * f_j: y_j = x_j cos a - x_{j+2} sin a,
// y_{j+2} = x_{j+2} cos a + x_j sin a; channels 4 and 5 pass. Positions 5, 6, 7 and 0.
// CHECK: rotary_halves step 0 result 0: [4, 2, 6]
// CHECK-NEXT: [1.6461141799 1.1066458006 -1.5987285907 0.1591699473 -1.6250000000 -1.0000000000]
// CHECK-NEXT: [-0.5014276957 -0.8690224542 0.3730888178 -0.6332850654 -1.1250000000 -1.5000000000]
// CHECK-NEXT: [-0.0241324525 -1.9065684711 -1.4250149560 1.3883431366 1.7500000000 -0.8750000000]
// CHECK-NEXT: [1.3748475447 2.0117775032 0.2508370564 1.8623577201 1.3750000000 0.8750000000]
// CHECK-NEXT: [-0.1574879404 -1.8556599488 -2.2926943862 0.4260588628 0.8750000000 -2.0000000000]
// CHECK-NEXT: [1.5872499597 0.3912754870 -0.1090301126 -0.0561559725 -0.1250000000 0.8750000000]
// CHECK-NEXT: [-1.6250000000 0.1250000000 -1.5000000000 0.1250000000 -0.5000000000 -1.0000000000]
// CHECK-NEXT: [0.3750000000 0.3750000000 0.7500000000 0.5000000000 -0.7500000000 0.6250000000]
func.func @rotary_halves(%x: tensor<?x2x6xf32>, %batch: !llm.batch)
    -> tensor<?x2x6xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 5, 3>, array<i64: 1, 0, 1>], args = [
      dense<[[[2.0, 0.5, 1.125, -1.0, -1.625, -1.0], [-0.5, -0.875, -0.375, 0.625, -1.125, -1.5]],
       [[0.375, 1.25, -1.375, 2.0, 1.75, -0.875], [1.25, 2.0, 0.625, -1.875, 1.375, 0.875]],
       [[-1.625, 0.75, -1.625, 1.75, 0.875, -2.0], [1.125, -0.125, -1.125, -0.375, -0.125, 0.875]],
       [[-1.625, 0.125, -1.5, 0.125, -0.5, -1.0],
       [0.375, 0.375, 0.75, 0.5, -0.75, 0.625]]]> : tensor<4x2x6xf32>,
      "batch"]}]} {
  %y = llm.rotary %x, %batch rope(#halves) : tensor<?x2x6xf32>
  return %y : tensor<?x2x6xf32>
}

// Channels 2j and 2j + 1 turn together; cos and sin times 1.25.
// CHECK: rotary_interleaved step 0 result 0: [4, 1, 4]
// CHECK-NEXT: [1.3714304519 0.7648521610 1.8841752365 -1.8194051887]
// CHECK-NEXT: [1.3446134529 1.7879869895 -3.0813103747 0.3530821432]
// CHECK-NEXT: [1.9589325602 0.9859784669 -1.1509496198 -1.7865935563]
// CHECK-NEXT: [0.4687500000 0.4687500000 -1.8750000000 2.3437500000]
func.func @rotary_interleaved(%x: tensor<?x1x4xf32>, %batch: !llm.batch)
    -> tensor<?x1x4xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 5, 3>, array<i64: 1, 0, 1>], args = [
      dense<[[[-1.25, 0.125, 0.625, -2.0]], [[-1.625, 0.75, -1.875, 1.625]],
       [[0.125, 1.75, -1.625, -0.5]], [[0.375, 0.375, -1.5, 1.875]]]> : tensor<4x1x4xf32>,
      "batch"]}]} {
  %y = llm.rotary %x, %batch rope(#interleaved) : tensor<?x1x4xf32>
  return %y : tensor<?x1x4xf32>
}

// Sequence 1 has 9 known tokens, more than 5: its one, at position 6, turns by the long
// frequencies; the others turn by the short ones.
// CHECK: rotary_long step 0 result 0: [4, 1, 4]
// CHECK-NEXT: [1.4366132696 2.5047901543 -0.9939316506 -0.0209844125]
// CHECK-NEXT: [-0.4460422435 -2.2371480575 3.0692323050 0.0071680759]
// CHECK-NEXT: [-2.0185448952 2.1875000000 0.2754398867 -0.6250000000]
// CHECK-NEXT: [1.5098638457 -1.7189309148 1.2065084874 1.6607730535]
func.func @rotary_long(%x: tensor<?x1x4xf32>, %batch: !llm.batch)
    -> tensor<?x1x4xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 3, 2>, array<i64: 1, 6, 1, 9>, array<i64: 2, 2, 1>], args = [
      dense<[[[-1.25, 0.125, 0.625, -2.0]], [[-1.625, 0.75, -1.875, 1.625]],
       [[0.125, 1.75, -1.625, -0.5]], [[0.375, 0.375, -1.5, 1.875]]]> : tensor<4x1x4xf32>,
      "batch"]}]} {
  %y = llm.rotary %x, %batch rope(#long) : tensor<?x1x4xf32>
  return %y : tensor<?x1x4xf32>
}
