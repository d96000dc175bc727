// Executed twins of what joins products: fused and unfused give the same bits, and a wrong body
// would not.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.unfused
// RUN: llmc-opt %s --llm-fuse-linear-elementwise --llm-fuse-qkv-linear --llm-fuse-norm-linear=launch-seconds=1 -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: llmc-opt %t.mlir --test-evaluate-function -o /dev/null > %t.fused
// RUN: diff %t.unfused %t.fused
// RUN: %python %S/broken_bodies.py %t.mlir %t.unfused
// RUN: FileCheck %s --check-prefix=RAN < %t.fused

// RAN: ends step 0 result 0: [2, 4]
// RAN: pair step 0 result 0: [2, 4]

// CHECK-LABEL: func.func @ends
// CHECK: llm.fusion "norm-linear"
// CHECK: llm.rms_norm
// CHECK: llm.fusion "norm-linear"
// CHECK: llm.layer_norm
// CHECK-LABEL: func.func @pair
// CHECK: llm.fusion "linear-elementwise"

!w = !llm.weight<[4, 4], #llm.dense<f32>>
!n = !llm.weight<[4], #llm.dense<f32>>

func.func @ends(%x: tensor<?x4xf32>, %w: !w, %v: !w, %n: !n) -> tensor<?x4xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5], [-1.5, 0.25, 1.5, -0.625], [1.0, -1.375, -0.875, -1.125]]> : tensor<4x4xf32>,
      dense<[[-0.125, 0.375, -0.625, 0.0], [0.625, -1.125, 0.75, -0.625], [-1.5, 1.375, -0.75, 0.125], [-0.5, -0.875, 1.5, 0.0]]> : tensor<4x4xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>]}]} {
  %a = llm.rms_norm %x, %n eps 1.0e-5 offset 1.0 : tensor<?x4xf32>, !n
  %p = llm.linear %a, %w bias %n : tensor<?x4xf32>, !w, !n -> tensor<?x4xf32>
  %s = llm.scale %p by 0.37 : tensor<?x4xf32>
  %m = llm.binary mul %s, %x : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>
  %r = llm.residual_add %x, %m : tensor<?x4xf32>
  %b = llm.layer_norm %r, %n bias %n eps 1.0e-5 : tensor<?x4xf32>, !n, !n
  %l = llm.output_head %b, %v : tensor<?x4xf32>, !w -> tensor<?x4xf32>
  %y = llm.softcap %l cap 1.5 : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

func.func @pair(%x: tensor<?x4xf32>, %w: !w, %v: !w) -> tensor<?x4xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>], args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5], [-1.5, 0.25, 1.5, -0.625], [1.0, -1.375, -0.875, -1.125]]> : tensor<4x4xf32>,
      dense<[[-0.125, 0.375, -0.625, 0.0], [0.625, -1.125, 0.75, -0.625], [-1.5, 1.375, -0.75, 0.125], [-0.5, -0.875, 1.5, 0.0]]> : tensor<4x4xf32>]}]} {
  %g = llm.linear %x, %w : tensor<?x4xf32>, !w -> tensor<?x4xf32>
  %gc = llm.clamp %g max 1.0 : tensor<?x4xf32>
  %u = llm.linear %x, %v : tensor<?x4xf32>, !w -> tensor<?x4xf32>
  %uc = llm.offset %u by 1.0 : tensor<?x4xf32>
  %y = llm.gate silu %gc, %uc : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
