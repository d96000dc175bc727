// A sum over ranks is a step of its own, which no launch computes: collective.
// RUN: llmc-opt %s --llm-fuse | FileCheck %s --check-prefix=NONE
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s

!x = tensor<?x64xf32>
!w = !llm.weight<[64, 64], #llm.dense<f32>>
shard.grid @tp(shape = 2)

// NONE-LABEL: func.func @gate
// NONE-NOT: llm.fusion
// CHECK-DAG: [Missed] gated-linear | Category:fusion | Function=gate | Reason="gate comes from a sum over ranks, which is not known inside one launch", predicate=collective
func.func @gate(%x: !x, %u: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %g = shard.all_reduce %p on @tp grid_axes = [0] : !x -> !x
  %y = llm.gate silu %g, %u : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-elementwise | Category:fusion | Function=element | Reason="the input comes from a sum over ranks, which is not known inside one launch", predicate=collective
func.func @element(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %s = shard.all_reduce %p on @tp grid_axes = [0] : !x -> !x
  %y = llm.softcap %s cap 30.0 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-activation | Category:fusion | Function=activation | Reason="the input comes from a sum over ranks, which is not known inside one launch", predicate=collective
func.func @activation(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %s = shard.all_reduce %p on @tp grid_axes = [0] : !x -> !x
  %y = llm.activation silu %s : !x
  return %y : !x
}

// CHECK-DAG: [Missed] router | Category:fusion | Function=route | Reason="the logits come from a sum over ranks, which is not known inside one launch", predicate=collective
func.func @route(%x: !x, %w: !llm.weight<[8, 64], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %p = llm.linear %x, %w : !x, !llm.weight<[8, 64], #llm.dense<f32>> -> tensor<?x8xf32>
  %l = shard.all_reduce %p on @tp grid_axes = [0] : tensor<?x8xf32> -> tensor<?x8xf32>
  %c, %s = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %s : tensor<?x2xi32>, tensor<?x2xf32>
}

// What follows the sum is fused as ever, and the remark of `rows` says what stays in front.
// NONE-LABEL: func.func @residual
// NONE: shard.all_reduce
// NONE-NEXT: llm.fusion "residual-norm"
// CHECK-DAG: [Missed] linear-residual | Category:fusion | Function=residual | Reason="delta comes from a sum over ranks, which is not known inside one launch", predicate=collective
// CHECK-DAG: [Passed] residual-norm | Category:fusion | Function=residual
// CHECK-DAG: [Missed] rows | Category:fusion | Function=residual | Reason="an operand comes from a sum over ranks, which is not known inside one launch", predicate=collective
func.func @residual(%x: !x, %a: !x, %w: !w) -> !x {
  %p = llm.linear %a, %w : !x, !w -> !x
  %d = shard.all_reduce %p on @tp grid_axes = [0] : !x -> !x
  %s = llm.residual_add %x, %d : !x
  %y = llm.rms_norm %s eps 1.0e-5 : !x
  return %y : !x
}
