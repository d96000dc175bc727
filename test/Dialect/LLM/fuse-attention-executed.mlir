// Executed twins of attention and routing fusions: fused and unfused give the same bits, and a wrong
// body would not.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.unfused
// RUN: llmc-opt %s --llm-fuse -o %t.mlir
// RUN: llmc-opt %t.mlir --test-evaluate-function -o /dev/null > %t.fused
// RUN: diff %t.unfused %t.fused
// RUN: FileCheck %s --check-prefix=RAN < %t.fused
// RUN: FileCheck %s < %t.mlir
// RUN: %python %S/broken_bodies.py %t.mlir %t.unfused

!q = tensor<?x4x2xf32>
!k = tensor<?x2x2xf32>
!x = tensor<?x8xf32>
!kv = !llm.cache<paged, [2, 2, 2], f32>
#rope = #llm.rope<"default", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0]>

// RAN: gated step 0 result 0: [3, 8]
// CHECK-LABEL: func.func @gated
// CHECK: llm.fusion "attention-prologue"
// CHECK: llm.fusion "attention-gate"
func.func @gated(%both: tensor<?x4x4xf32>, %kh: !k, %v: !k, %batch: !llm.batch, %cache: !kv) -> !x attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>, array<i64: 9, 0, 1>], args = [
      dense<[[[0.5, -1.0, 1.25, 0.25], [1.0, 0.75, -0.5, 2.0], [-1.5, 0.5, 0.0, -0.25], [0.25, 0.25, 3.0, -3.0]],
             [[1.5, 1.0, -1.25, 0.5], [0.0, -0.75, 0.5, 1.0], [0.5, -0.5, 1.0, 0.25], [-0.25, 2.0, 0.125, 1.0]],
             [[-0.5, 0.25, 0.75, -0.25], [1.0, 1.75, 1.5, -2.0], [1.25, -0.5, 0.5, -0.25], [0.5, 0.25, -1.0, 0.0]]]> : tensor<3x4x4xf32>,
      dense<[[[1.0, -0.5], [0.25, 0.5]], [[-1.25, 0.75], [0.5, -0.25]], [[0.5, 1.5], [-1.0, 0.125]]]> : tensor<3x2x2xf32>,
      dense<[[[0.75, 0.5], [-0.25, 1.5]], [[1.25, -0.75], [2.5, 0.25]], [[-0.5, 0.5], [1.0, -0.125]]]> : tensor<3x2x2xf32>,
      "batch", "state"]}]} {
  %q = llm.slice %both from 0 size 2 : tensor<?x4x4xf32> -> !q
  %half = llm.slice %both from 2 size 2 : tensor<?x4x4xf32> -> !q
  %g = llm.merge_heads %half : !q -> !x
  %qn = llm.rms_norm %q eps 1.0e-5 : !q
  %qr = llm.rotary %qn, %batch rope(#rope) : !q
  %kr = llm.rotary %kh, %batch rope(#rope) : !k
  %vn = llm.rms_norm %v eps 1.0e-5 : !k
  %after = llm.kv_append %kr, %vn, %cache, %batch : !k, !k, !kv
  %a = llm.paged_attention %qr, %after, %batch scale 0.7 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.gate sigmoid %g, %m : !x
  return %y : !x
}

// RAN: routed step 0 result 0: [2, 2]
// RAN: routed step 0 result 1: [2, 2]
// CHECK-LABEL: func.func @routed
// CHECK: llm.fusion "router"
func.func @routed(%x: tensor<?x3xf32>, %w: !llm.weight<[4, 3], #llm.dense<f32>>, %b: !llm.weight<[4], #llm.dense<f32>>)
    -> (tensor<?x2xi32>, tensor<?x2xf32>) attributes {test.steps = [
    {args = [
      dense<[[0.5, -1.0, 0.25], [1.5, 0.75, -0.5]]> : tensor<2x3xf32>,
      dense<[[1.0, 0.5, -0.5], [0.25, -1.0, 1.5], [0.75, 0.75, 0.5], [-1.0, 0.25, 0.5]]> : tensor<4x3xf32>,
      dense<[0.5, -0.25, 0.0, 0.125]> : tensor<4xf32>]}]} {
  %l = llm.linear %x, %w bias %b : tensor<?x3xf32>, !llm.weight<[4, 3], #llm.dense<f32>>, !llm.weight<[4], #llm.dense<f32>> -> tensor<?x4xf32>
  %s = llm.softcap %l cap 2.0 : tensor<?x4xf32>
  %c, %weights = llm.route sigmoid %s bias %b top 2 normalise sum scale 1.5
      : (tensor<?x4xf32>, !llm.weight<[4], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %weights : tensor<?x2xi32>, tensor<?x2xf32>
}
