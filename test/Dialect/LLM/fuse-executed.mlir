// Executed twins: fused, fused the other way round and unfused give the same bits, and a wrong body would not.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.unfused
// RUN: llmc-opt %s --llm-fuse -o %t.mlir
// RUN: llmc-opt %t.mlir --test-evaluate-function -o /dev/null > %t.fused
// RUN: llmc-opt %s --llm-fuse=residual-norm-first=true --test-evaluate-function -o /dev/null > %t.norm
// RUN: diff %t.unfused %t.fused
// RUN: diff %t.unfused %t.norm
// RUN: FileCheck %s --check-prefix=RAN < %t.fused
// RUN: FileCheck %s < %t.mlir
// RUN: %python %S/broken_bodies.py %t.mlir %t.unfused

// RAN: block step 0 result 0: [3, 4]
// RAN: block step 1 result 0: [2, 4]

// CHECK: llm.fusion "qkv-linear"
// CHECK: llm.fusion "attention-prologue"
// CHECK: llm.fusion "linear-residual"
// CHECK: llm.fusion "gated-linear"
// CHECK: llm.fusion "linear-residual"

// RAN: sandwich step 0 result 0: [2, 4]

// CHECK-LABEL: func.func @sandwich
// CHECK: llm.fusion "linear-activation"
// CHECK: llm.fusion "residual-norm"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: llm.rms_norm
// CHECK-NEXT: llm.scale
// CHECK-NEXT: llm.residual_add
// CHECK-NEXT: llm.layer_norm
// CHECK: llm.fusion "residual-norm"

#rope = #llm.rope<"default", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0]>
!kv = !llm.cache<paged, [2, 2, 2], f32>
!w4x4 = !llm.weight<[4, 4], #llm.dense<f32>>
!w8x4 = !llm.weight<[8, 4], #llm.dense<f32>>
!w4x8 = !llm.weight<[4, 8], #llm.dense<f32>>
!w4 = !llm.weight<[4], #llm.dense<f32>>
!w2 = !llm.weight<[2], #llm.dense<f32>>

func.func @block(%x: tensor<?x4xf32>, %wq: !w4x4, %wk: !w4x4, %wv: !w4x4, %wo: !w4x4, %wg: !w8x4, %wu: !w8x4,
    %wd: !w4x8, %s1: !w4, %s2: !w4, %qs: !w2, %ks: !w2,
    %batch: !llm.batch, %cache: !kv) -> tensor<?x4xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 0, 2>, array<i64: 9, 0, 1>], args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125], [-0.875, 0.125, -0.125, -1.0]]> : tensor<3x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5], [-1.5, 0.25, 1.5, -0.625], [1.0, -1.375, -0.875, -1.125]]> : tensor<4x4xf32>,
      dense<[[-0.125, 0.375, -0.625, 0.0], [0.625, -1.125, 0.75, -0.625], [-1.5, 1.375, -0.75, 0.125], [-0.5, -0.875, 1.5, 0.0]]> : tensor<4x4xf32>,
      dense<[[-0.875, 1.5, -1.25, -1.0], [0.875, 0.875, 0.25, -1.0], [-1.0, -1.5, -1.5, -0.75], [1.5, -0.75, -0.875, -0.875]]> : tensor<4x4xf32>,
      dense<[[-0.375, -0.25, -0.75, 0.625], [1.125, 1.0, -0.75, -0.875], [1.25, -0.75, 0.0, -0.375], [-1.5, -0.125, 0.125, -0.875]]> : tensor<4x4xf32>,
      dense<[[-1.0, -0.5, -1.25, -0.25], [-0.375, 0.875, 0.75, -1.5], [0.875, 1.125, 1.25, -0.25], [-1.25, -0.375, -0.125, -0.375], [0.375, 1.25, -0.25, -0.875], [0.375, 0.375, 1.25, -0.875], [-1.375, -0.5, -1.5, 1.375], [-0.125, 0.0, -1.5, 0.625]]> : tensor<8x4xf32>,
      dense<[[0.125, -0.125, 0.0, 0.75], [-1.5, 0.25, -1.375, 1.25], [-0.875, 0.875, -0.75, -1.125], [1.5, -0.625, 0.25, -0.125], [0.5, -0.125, 0.5, -0.5], [1.5, 0.25, -1.125, 0.75], [1.375, 1.5, -0.125, -0.375], [-1.375, 0.125, -1.25, -0.75]]> : tensor<8x4xf32>,
      dense<[[-0.25, 0.5, 0.875, -0.125, -1.0, -0.25, -0.5, 1.25], [0.625, -1.25, -0.375, 1.125, -0.25, -0.375, -0.875, -1.25], [1.0, -1.0, 1.375, 1.25, -0.375, 0.375, -0.875, 1.375], [-1.375, -1.25, 0.875, 0.625, 0.0, -1.375, -0.625, 1.375]]> : tensor<4x8xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>,
      dense<[1.0, 0.125, -1.0, -1.375]> : tensor<4xf32>,
      dense<[1.0, -1.375]> : tensor<2xf32>,
      dense<[0.375, -0.25]> : tensor<2xf32>,
      "batch", "state"]},
    {batch = [array<i64: 9, 1, 1>, array<i64: 0, 2, 1>], args = [
      dense<[[-1.375, 0.125, -0.375, -1.0], [0.25, 0.875, -0.875, 0.5]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5], [-1.5, 0.25, 1.5, -0.625], [1.0, -1.375, -0.875, -1.125]]> : tensor<4x4xf32>,
      dense<[[-0.125, 0.375, -0.625, 0.0], [0.625, -1.125, 0.75, -0.625], [-1.5, 1.375, -0.75, 0.125], [-0.5, -0.875, 1.5, 0.0]]> : tensor<4x4xf32>,
      dense<[[-0.875, 1.5, -1.25, -1.0], [0.875, 0.875, 0.25, -1.0], [-1.0, -1.5, -1.5, -0.75], [1.5, -0.75, -0.875, -0.875]]> : tensor<4x4xf32>,
      dense<[[-0.375, -0.25, -0.75, 0.625], [1.125, 1.0, -0.75, -0.875], [1.25, -0.75, 0.0, -0.375], [-1.5, -0.125, 0.125, -0.875]]> : tensor<4x4xf32>,
      dense<[[-1.0, -0.5, -1.25, -0.25], [-0.375, 0.875, 0.75, -1.5], [0.875, 1.125, 1.25, -0.25], [-1.25, -0.375, -0.125, -0.375], [0.375, 1.25, -0.25, -0.875], [0.375, 0.375, 1.25, -0.875], [-1.375, -0.5, -1.5, 1.375], [-0.125, 0.0, -1.5, 0.625]]> : tensor<8x4xf32>,
      dense<[[0.125, -0.125, 0.0, 0.75], [-1.5, 0.25, -1.375, 1.25], [-0.875, 0.875, -0.75, -1.125], [1.5, -0.625, 0.25, -0.125], [0.5, -0.125, 0.5, -0.5], [1.5, 0.25, -1.125, 0.75], [1.375, 1.5, -0.125, -0.375], [-1.375, 0.125, -1.25, -0.75]]> : tensor<8x4xf32>,
      dense<[[-0.25, 0.5, 0.875, -0.125, -1.0, -0.25, -0.5, 1.25], [0.625, -1.25, -0.375, 1.125, -0.25, -0.375, -0.875, -1.25], [1.0, -1.0, 1.375, 1.25, -0.375, 0.375, -0.875, 1.375], [-1.375, -1.25, 0.875, 0.625, 0.0, -1.375, -0.625, 1.375]]> : tensor<4x8xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>,
      dense<[1.0, 0.125, -1.0, -1.375]> : tensor<4xf32>,
      dense<[1.0, -1.375]> : tensor<2xf32>,
      dense<[0.375, -0.25]> : tensor<2xf32>,
      "batch", "state"]}]} {
  %n1 = llm.rms_norm %x, %s1 eps 1.0e-5 : tensor<?x4xf32>, !w4
  %q = llm.linear %n1, %wq : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %k = llm.linear %n1, %wk : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %v = llm.linear %n1, %wv : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %qh = llm.split_heads %q : tensor<?x4xf32> -> tensor<?x2x2xf32>
  %kh = llm.split_heads %k : tensor<?x4xf32> -> tensor<?x2x2xf32>
  %vh = llm.split_heads %v : tensor<?x4xf32> -> tensor<?x2x2xf32>
  %qn = llm.rms_norm %qh, %qs eps 1.0e-5 : tensor<?x2x2xf32>, !w2
  %kn = llm.rms_norm %kh, %ks eps 1.0e-5 : tensor<?x2x2xf32>, !w2
  %qr = llm.rotary %qn, %batch rope(#rope) : tensor<?x2x2xf32>
  %kr = llm.rotary %kn, %batch rope(#rope) : tensor<?x2x2xf32>
  %after = llm.kv_append %kr, %vh, %cache, %batch : tensor<?x2x2xf32>, tensor<?x2x2xf32>, !kv
  %a = llm.paged_attention %qr, %after, %batch scale 0.7 : tensor<?x2x2xf32>, !kv -> tensor<?x2x2xf32>
  %m = llm.merge_heads %a : tensor<?x2x2xf32> -> tensor<?x4xf32>
  %o = llm.linear %m, %wo : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %x1 = llm.residual_add %x, %o : tensor<?x4xf32>
  %n2 = llm.rms_norm %x1, %s2 eps 1.0e-5 : tensor<?x4xf32>, !w4
  %g = llm.linear %n2, %wg : tensor<?x4xf32>, !w8x4 -> tensor<?x8xf32>
  %u = llm.linear %n2, %wu : tensor<?x4xf32>, !w8x4 -> tensor<?x8xf32>
  %gu = llm.gate silu %g, %u : tensor<?x8xf32>
  %d = llm.linear %gu, %wd : tensor<?x8xf32>, !w4x8 -> tensor<?x4xf32>
  %x2 = llm.residual_add %x1, %d : tensor<?x4xf32>
  return %x2 : tensor<?x4xf32>
}

// Norms behind the products, a scaled delta and an activation without a gate.
func.func @sandwich(%x: tensor<?x4xf32>, %w1: !w4x4, %w2: !w4x4, %s1: !w4, %s2: !w4, %b2: !w4)
    -> tensor<?x4xf32> attributes {test.steps = [
    {args = [
      dense<[[-0.75, -1.0, 1.375, 0.75], [-1.0, 1.0, 0.125, -1.125]]> : tensor<2x4xf32>,
      dense<[[0.875, -0.5, 1.375, -0.125], [1.25, 1.375, 1.0, 0.5], [-1.5, 0.25, 1.5, -0.625], [1.0, -1.375, -0.875, -1.125]]> : tensor<4x4xf32>,
      dense<[[-0.125, 0.375, -0.625, 0.0], [0.625, -1.125, 0.75, -0.625], [-1.5, 1.375, -0.75, 0.125], [-0.5, -0.875, 1.5, 0.0]]> : tensor<4x4xf32>,
      dense<[0.875, -0.125, -0.5, 0.25]> : tensor<4xf32>,
      dense<[1.0, 0.125, -1.0, -1.375]> : tensor<4xf32>,
      dense<[-0.5, 0.75, 0.25, 1.0]> : tensor<4xf32>]}]} {
  %p = llm.linear %x, %w1 : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %a = llm.activation gelu_tanh %p : tensor<?x4xf32>
  %n = llm.rms_norm %a, %s1 eps 1.0e-5 offset 1.0 : tensor<?x4xf32>, !w4
  %d = llm.scale %n by 0.3 : tensor<?x4xf32>
  %x1 = llm.residual_add %x, %d : tensor<?x4xf32>
  %l = llm.layer_norm %x1, %s2 bias %b2 eps 1.0e-5 : tensor<?x4xf32>, !w4, !w4
  %o = llm.linear %l, %w2 : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %n2 = llm.rms_norm %o, %s2 eps 1.0e-5 : tensor<?x4xf32>, !w4
  %x2 = llm.residual_add %x1, %n2 : tensor<?x4xf32>
  return %x2 : tensor<?x4xf32>
}
