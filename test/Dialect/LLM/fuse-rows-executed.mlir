// Executed twins of row fusions: fused and unfused give the same bits, and a wrong body would not.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.unfused
// RUN: llmc-opt %s --llm-fuse-residual-norm -o %t.norm.mlir
// RUN: FileCheck %s --check-prefix=NORM < %t.norm.mlir
// RUN: llmc-opt %t.norm.mlir --test-evaluate-function -o /dev/null > %t.norm
// RUN: diff %t.unfused %t.norm
// RUN: %python %S/broken_bodies.py %t.norm.mlir %t.unfused
// RUN: llmc-opt %s --llm-fuse-rows -o %t.rows.mlir
// RUN: FileCheck %s < %t.rows.mlir
// RUN: llmc-opt %t.rows.mlir --test-evaluate-function -o /dev/null > %t.rows
// RUN: diff %t.unfused %t.rows
// RUN: %python %S/broken_bodies.py %t.rows.mlir %t.unfused
// What `rows` makes of the fusions of the other.
// RUN: llmc-opt %t.norm.mlir --llm-fuse-rows --test-evaluate-function -o /dev/null > %t.both
// RUN: diff %t.unfused %t.both
// RUN: FileCheck %s --check-prefix=RAN < %t.rows

// RAN: sums step 0 result 0: [2, 4]
// RAN: sums step 0 result 1: [2, 4]
// RAN: heads step 0 result 0: [2, 4]
// RAN: heads step 0 result 1: [2, 2, 2]
// RAN: tokens step 0 result 0: [2, 4]
// RAN: streams step 0 result 0: [2, 2, 2]

!x = tensor<?x4xf32>
!h = tensor<?x2x2xf32>
!s = !llm.weight<[4], #llm.dense<f32>>

// A sum of two norms' rows, of which the sum is read too.
// NORM-LABEL: func.func @sums
// NORM: llm.fusion "residual-norm"
// NORM: llm.rms_norm
// NORM-NEXT: llm.scale
// NORM-NEXT: llm.residual_add
// NORM-NEXT: llm.layer_norm
// CHECK-LABEL: func.func @sums
// CHECK: llm.fusion "rows"
// CHECK: llm.rms_norm
// CHECK: llm.layer_norm
// CHECK-NEXT: llm.softcap
func.func @sums(%x: !x, %d: !x, %s: !s, %b: !s) -> (!x, !x) attributes {test.steps = [
    {args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 0.25, 1.0, 0.5]]> : tensor<2x4xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>,
      dense<[1.0, 0.125, -1.0, -1.375]> : tensor<4xf32>]}]} {
  %n = llm.rms_norm %d, %s eps 1.0e-5 offset 1.0 : !x, !s
  %m = llm.scale %n by 0.3 : !x
  %sum = llm.residual_add %x, %m : !x
  %l = llm.layer_norm %sum, %b bias %s eps 1.0e-5 : !x, !s, !s
  %y = llm.softcap %l cap 1.5 : !x
  return %sum, %y : !x, !x
}

// Rows that are cut into heads, of which both sides are read.
// CHECK-LABEL: func.func @heads
// CHECK: llm.fusion "rows"
// CHECK: llm.split_heads
// CHECK: llm.softmax
// CHECK: llm.gate
func.func @heads(%x: !x, %g: !x) -> (!x, !h) attributes {test.steps = [
    {args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 0.25, 1.0, 0.5]]> : tensor<2x4xf32>]}]} {
  %c = llm.scale %x by 0.37 : !x
  %h = llm.split_heads %c : !x -> !h
  %n = llm.softmax %h : !h
  %m = llm.merge_heads %n : !h -> !x
  %y = llm.gate silu %g, %m : !x
  return %y, %h : !x, !h
}

// One number a token, a statistic of the row, and arithmetic with both.
// CHECK-LABEL: func.func @tokens
// CHECK: llm.fusion "rows"
// CHECK: llm.activation sigmoid
// CHECK: llm.binary
// CHECK: llm.clamp
func.func @tokens(%x: !x, %g: tensor<?x1xf32>) -> !x attributes {test.steps = [
    {args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875], [-0.5]]> : tensor<2x1xf32>]}]} {
  %a = llm.activation sigmoid %g : tensor<?x1xf32>
  %m = llm.binary mul %x, %a : !x, tensor<?x1xf32> -> !x
  %o = llm.offset %m by 0.11 : !x
  %y = llm.clamp %o min -0.5 max 0.75 : !x
  return %y : !x
}

// A mixture of streams and what follows it.
// CHECK-LABEL: func.func @streams
// CHECK: llm.fusion "rows"
// CHECK: llm.mix
// CHECK: llm.binary add
func.func @streams(%c: tensor<?x2x2xf32>, %x: !h, %d: !h) -> !h attributes {test.steps = [
    {args = [
      dense<[[[0.5, -1.0], [1.25, 0.25]], [[1.0, 0.75], [-0.5, 2.0]]]> : tensor<2x2x2xf32>,
      dense<[[[-0.75, -1.0], [1.375, 0.75]], [[-1.0, 1.0], [0.125, -1.125]]]> : tensor<2x2x2xf32>,
      dense<[[[0.875, -0.5], [1.375, -0.125]], [[1.25, 0.25], [1.0, 0.5]]]> : tensor<2x2x2xf32>]}]} {
  %y = llm.mix %c, %x : tensor<?x2x2xf32>, !h -> !h
  %z = llm.binary add %y, %d : !h, !h -> !h
  return %z : !h
}
