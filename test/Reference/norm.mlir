// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

// y = x / sqrt(mean(x * x) + 0.25) * scale
// CHECK: rms_norm step 0 result 0: [2, 5]
// CHECK-NEXT: [1.4150873428 0.3832528220 -0.8254676167 -1.7295511968 0.5503117444]
// CHECK-NEXT: [-0.6421760112 0.5137408089 -1.0488874849 0.5886613436 1.4984106927]
func.func @rms_norm(%x: tensor<?x5xf32>, %s: !llm.weight<[5], #llm.dense<f32>>)
    -> tensor<?x5xf32> attributes {test.steps = [
    {args = [
      dense<[[1.5, 1.625, 1.5, 2.0, -0.5], [-0.625, 2.0, 1.75, -0.625, -1.25]]> : tensor<2x5xf32>,
      dense<[1.5, 0.375, -0.875, -1.375, -1.75]> : tensor<5xf32>]}]} {
  %y = llm.rms_norm %x, %s eps 2.5e-1 : tensor<?x5xf32>, !llm.weight<[5], #llm.dense<f32>>
  return %y : tensor<?x5xf32>
}

// Every head of [tokens, heads, width] by itself, offset 1:
// y = x / sqrt(mean(x * x) + 0.125) * (scale + 1)
// CHECK: rms_norm_heads step 0 result 0: [2, 2, 3]
// CHECK-NEXT: [1.1188618556 0.4518480571 -0.9036961141]
// CHECK-NEXT: [0.0846162191 0.4759662324 2.8875284768]
// CHECK-NEXT: [-0.4898979486 -0.5511351921 -1.2859821150]
// CHECK-NEXT: [0.2160847218 -0.0810317707 4.2541679608]
func.func @rms_norm_heads(%x: tensor<?x2x3xf32>, %s: !llm.weight<[3], #llm.dense<f32>>)
    -> tensor<?x2x3xf32> attributes {test.steps = [
    {args = [
      dense<[[[-1.625, -1.75, -0.5], [-0.125, -1.875, 1.625]], [[0.5, 1.5, -0.5],
       [-0.25, 0.25, 1.875]]]> : tensor<2x2x3xf32>,
      dense<[-2.0, -1.375, 1.625]> : tensor<3xf32>]}]} {
  %y = llm.rms_norm %x, %s eps 1.25e-1 offset 1.0 : tensor<?x2x3xf32>, !llm.weight<[3],
      #llm.dense<f32>>
  return %y : tensor<?x2x3xf32>
}

// y = (x - mean(x)) / sqrt(mean((x - mean(x))^2) + 0.25) * scale
// CHECK: layer_norm step 0 result 0: [2, 5]
// CHECK-NEXT: [0.4069424895 0.1479790871 -0.2373831189 -1.0512680979 2.9780791279]
// CHECK-NEXT: [-0.9125261243 0.4562630621 -0.9125261243 0.8364822806 1.8250522486]
func.func @layer_norm(%x: tensor<?x5xf32>, %s: !llm.weight<[5], #llm.dense<f32>>)
    -> tensor<?x5xf32> attributes {test.steps = [
    {args = [
      dense<[[1.5, 1.625, 1.5, 2.0, -0.5], [-0.625, 2.0, 1.75, -0.625, -1.25]]> : tensor<2x5xf32>,
      dense<[1.5, 0.375, -0.875, -1.375, -1.75]> : tensor<5xf32>]}]} {
  %y = llm.layer_norm %x, %s eps 2.5e-1 : tensor<?x5xf32>, !llm.weight<[5], #llm.dense<f32>>
  return %y : tensor<?x5xf32>
}

// The same plus bias
// CHECK: layer_norm_bias step 0 result 0: [2, 5]
// CHECK-NEXT: [1.5319424895 1.6479790871 -0.9873831189 -3.0512680979 1.4780791279]
// CHECK-NEXT: [0.2124738757 1.9562630621 -1.6625261243 -1.1635177194 0.3250522486]
func.func @layer_norm_bias(%x: tensor<?x5xf32>, %s: !llm.weight<[5], #llm.dense<f32>>,
    %b: !llm.weight<[5], #llm.dense<f32>>)
    -> tensor<?x5xf32> attributes {test.steps = [
    {args = [
      dense<[[1.5, 1.625, 1.5, 2.0, -0.5], [-0.625, 2.0, 1.75, -0.625, -1.25]]> : tensor<2x5xf32>,
      dense<[1.5, 0.375, -0.875, -1.375, -1.75]> : tensor<5xf32>,
      dense<[1.125, 1.5, -0.75, -2.0, -1.5]> : tensor<5xf32>]}]} {
  %y = llm.layer_norm %x, %s bias %b eps 2.5e-1 : tensor<?x5xf32>, !llm.weight<[5],
      #llm.dense<f32>>,
      !llm.weight<[5], #llm.dense<f32>>
  return %y : tensor<?x5xf32>
}
