// Executed twins: simplified and not, functions give the same bits.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.plain
// RUN: llmc-opt %s --llm-simplify=max-context=8 --test-evaluate-function -o /dev/null > %t.simple
// RUN: diff %t.plain %t.simple
// RUN: FileCheck %s --check-prefix=RAN < %t.simple
// RUN: llmc-opt %s --llm-simplify=max-context=8 | FileCheck %s

// RAN: elements step 0 result 0: [3, 4]
// RAN: elements step 0 result 1: [3, 4]

// CHECK-LABEL: func.func @elements
// CHECK-NOT: llm.concat
// CHECK-NOT: llm.transpose
// CHECK-COUNT-2: llm.activation
// CHECK-NEXT: llm.clamp
func.func @elements(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>, %y: tensor<?x12xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
    attributes {test.steps = [{args = [
      dense<[[0.0, 0.75, -1.875, 1.625], [-0.125, -1.625, -0.75, -1.125], [0.875, 1.75, -0.125, 1.0]]> : tensor<3x4xf32>,
      dense<[[-1.25, -0.125, -2.0, -0.375, 1.25, 0.125, -0.625, 1.0], [-0.75, -1.5, -1.0, 1.5, -1.0, -1.0, -2.0, -2.0], [-0.375, -0.375, -0.75, -0.75, 0.25, 0.5, -0.5, -0.375]]> : tensor<3x8xf32>,
      dense<[[-0.625, -0.5, 1.0, 0.375, -1.875, 0.875, 1.25, -0.75, -0.875, 0.0, -1.5, 0.625], [0.375, -2.0, 0.625, -1.5, 0.375, 0.75, 0.375, 1.75, 0.5, -0.625, 1.75, 1.75], [-0.625, -1.625, 0.0, -1.875, 0.75, 1.125, -1.875, 1.25, 0.875, 1.0, -2.0, 1.5]]> : tensor<3x12xf32>]}]} {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  %s = llm.binary mul %c, %y : tensor<?x12xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  %p = llm.slice %s from 0 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  %q = llm.slice %s from 6 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  %h = llm.split_heads %p : tensor<?x4xf32> -> tensor<?x4x1xf32>
  %t = llm.transpose %h : tensor<?x4x1xf32> -> tensor<?x1x4xf32>
  %m = llm.merge_heads %t : tensor<?x1x4xf32> -> tensor<?x4xf32>
  %0 = llm.activation silu %m : tensor<?x4xf32>
  %1 = llm.activation gelu %q : tensor<?x4xf32>
  %2 = llm.clamp %1 min -0.5 max 1.5 : tensor<?x4xf32>
  %3 = llm.clamp %2 min -0.125 max 2.0 : tensor<?x4xf32>
  return %0, %3 : tensor<?x4xf32>, tensor<?x4xf32>
}

// Seven positions of at most eight.
// RAN: attention step 0 result 0: [5, 2, 2]
// RAN: attention step 1 result 0: [2, 2, 2]

// CHECK-LABEL: func.func @attention
// CHECK-NOT: window
// CHECK-NOT: chunk
// CHECK-NOT: llm.position_scale
#rope = #llm.rope<"longrope", base = 1.0e4, width = 2, halves, magnitude = 1.25, [1.0], long [0.5] beyond 8>
!kv = !llm.cache<paged, [1, 2, 2], f32>
func.func @attention(%x: tensor<?x2x2xf32>, %k: tensor<?x1x2xf32>, %batch: !llm.batch, %cache: !kv) -> tensor<?x2x2xf32>
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 5>], args = [
      dense<[[[-1.75, -0.625], [-0.5, -1.125]], [[-0.125, 1.625], [0.75, 2.0]], [[0.75, 0.0], [1.625, -1.25]], [[0.875, 0.25], [-1.75, 1.375]], [[-1.375, -0.375], [0.625, 2.0]]]> : tensor<5x2x2xf32>,
      dense<[[[0.875, -0.875]], [[0.625, 0.125]], [[-1.375, 0.375]], [[0.5, 0.375]], [[-0.625, -1.375]]]> : tensor<5x1x2xf32>, "batch", "state"]},
    {batch = [array<i64: 0, 5, 2>], args = [
      dense<[[[-0.875, 0.375], [1.75, -0.75]], [[-1.625, -1.375], [1.125, -1.75]]]> : tensor<2x2x2xf32>,
      dense<[[[-0.125, 0.75]], [[0.0, 1.625]]]> : tensor<2x1x2xf32>, "batch", "state"]}]} {
  %q = llm.rotary %x, %batch rope(#rope) : tensor<?x2x2xf32>
  %s = llm.position_scale %batch scale 0.25 period 9 shift 1 : tensor<?x1xf32>
  %qs = llm.binary mul %q, %s : tensor<?x2x2xf32>, tensor<?x1xf32> -> tensor<?x2x2xf32>
  %after = llm.kv_append %k, %k, %cache, %batch : tensor<?x1x2xf32>, tensor<?x1x2xf32>, !kv
  %a = llm.paged_attention %qs, %after, %batch scale 0.7 window 8 : tensor<?x2x2xf32>, !kv -> tensor<?x2x2xf32>
  %b = llm.paged_attention %a, %after, %batch scale 0.7 chunk 8 : tensor<?x2x2xf32>, !kv -> tensor<?x2x2xf32>
  return %b : tensor<?x2x2xf32>
}

// Two rows of four are chosen, one of the next step.
// RAN: forward step 0 result 0: [2, 3]
// RAN: forward step 1 result 0: [1, 3]

// CHECK-LABEL: func.func @forward
// CHECK: llm.repeat [@layer] from 0 count 2
// CHECK: llm.repeat [@layer_last] from 2 count 1
// CHECK-NOT: llm.select_rows
// CHECK: return
// CHECK-LABEL: func.func private @layer_last
// CHECK: llm.select_rows
// CHECK-NEXT: llm.rms_norm
!w4x4 = !llm.weight<[4, 4], #llm.dense<f32>>
!w3x4 = !llm.weight<[3, 4], #llm.dense<f32>>
func.func @forward(%x: tensor<?x4xf32>, %w: !w4x4, %head: !w3x4, %batch: !llm.batch) -> tensor<?x3xf32>
    attributes {llm.entry, test.steps = [
    {batch = [array<i64: 7, 0, 1>, array<i64: 3, 0, 3>], outputs = array<i64: 0, 3>, args = [
      dense<[[1.25, -0.875, -1.625, -1.75], [1.875, 0.625, -0.375, -1.0], [-1.0, 1.25, -1.25, -0.75], [1.375, 0.875, -0.875, -1.625]]> : tensor<4x4xf32>,
      dense<[[1.25, 0.25, -0.875, 1.625], [-0.75, 1.625, 1.875, 0.5], [1.75, 0.125, 0.25, 1.75], [1.125, -0.875, -1.125, 1.0]]> : tensor<4x4xf32>,
      dense<[[-0.625, 1.875, 0.625, -0.625], [-1.375, 1.875, 0.125, 2.0], [2.0, 0.875, -1.5, 0.75]]> : tensor<3x4xf32>, "batch"]},
    {batch = [array<i64: 7, 1, 2>], outputs = array<i64: 1>, args = [
      dense<[[-1.75, 0.375, 0.875, 0.125], [1.875, 0.0, 0.25, 0.625]]> : tensor<2x4xf32>,
      dense<[[-0.625, -2.0, 1.75, 0.0], [0.5, 0.125, 1.625, 0.25], [2.0, 0.75, 0.75, 0.125], [0.75, 1.25, 0.75, -0.625]]> : tensor<4x4xf32>,
      dense<[[1.5, 0.875, 0.625, -0.875], [-0.75, -0.5, 0.875, 1.75], [0.25, -1.375, 1.25, -0.75]]> : tensor<3x4xf32>, "batch"]}]} {
  %y = llm.repeat [@layer] from 0 count 3 (%x) with (%w, %batch) : (tensor<?x4xf32>) with (!w4x4, !llm.batch)
  %n = llm.rms_norm %y eps 1.0e-5 : tensor<?x4xf32>
  %r = llm.select_rows %n, %batch : tensor<?x4xf32>
  %l = llm.output_head %r, %head : tensor<?x4xf32>, !w3x4 -> tensor<?x3xf32>
  return %l : tensor<?x3xf32>
}

func.func private @layer(%i: index, %x: tensor<?x4xf32>, %w: !w4x4, %batch: !llm.batch) -> tensor<?x4xf32> {
  %n = llm.rms_norm %x eps 1.0e-5 : tensor<?x4xf32>
  %p = llm.linear %n, %w : tensor<?x4xf32>, !w4x4 -> tensor<?x4xf32>
  %y = llm.residual_add %x, %p : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
