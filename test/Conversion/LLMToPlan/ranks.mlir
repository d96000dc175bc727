// A row-parallel product: each rank has the columns of its part, the sum over the ranks is in
// place where the rank's own part dies.

// RUN: llmc-opt %s --convert-llm-to-plan | FileCheck %s
// RUN: llmc-opt %s --pass-pipeline='builtin.module(convert-llm-to-plan,plan.program(plan-assign-liveness,plan-pack-arenas,plan-derive-contracts,plan-verify))' | FileCheck %s --check-prefix=PACKED

// PACKED: plan.program
// PACKED-SAME: ranks(2)

// CHECK: plan.program
// CHECK-SAME: ranks(2)
// CHECK: plan.arena @weights kind weights rank_files ["weights.rank0.bin", "weights.rank1.bin"]
// CHECK: plan.weights @embed {{.*}} rows 40 cols 64
// CHECK-NOT: plan.split
// CHECK: plan.weights @down {{.*}} rows 64 cols 64 {{.*}} {plan.split = 1 : i64}
// CHECK: plan.slice @[[PART:product.*]] in @activations
// CHECK: plan.slice @[[KEPT:reduced.*]] in @activations
// CHECK: plan.group @tp ranks [0, 1]

// CHECK: plan.entry @main
// CHECK: plan.launch @{{linear.*}}#plan.use<@[[PART]], write>
// The part is read again: the sum is taken of a copy.
// CHECK: plan.launch @{{rows.*}}[#plan.use<@[[PART]], read>, #plan.use<@[[KEPT]], write>]
// CHECK: plan.collective all_reduce @[[KEPT]] group @tp element f32 count(tokens * 64)
// CHECK: plan.launch @{{rows_add.*}}
// CHECK: plan.launch @{{linear.*}}#plan.use<@[[LAST:product.*]], write>
// CHECK-NEXT: plan.collective all_reduce @[[LAST]] group @tp element f32 count(tokens * 64)
// CHECK-NOT: plan.collective

!rows = tensor<?x64xf32>
!embed = !llm.weight<[40, 64], #llm.dense<f32>>
!down = !llm.weight<[64, 64], #llm.dense<f32>>
module attributes {llm.model = {architecture = "r", context_length = 64 : i64, hidden_size = 64 : i64, vocab_size = 40 : i64, parameters = 1 : i64}} {
  shard.grid @tp(shape = 2)
  llm.weight_family @embed "embed" : !embed
  llm.weight_family @down "down" {shard.grid = @tp, shard.split_axes = #shard<axisarray[[], [0]]>} : !down
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32> attributes {llm.entry} {
    %table = llm.param @embed : !embed
    %w = llm.param @down : !down
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !embed -> !rows
    %p = llm.linear %x, %w : !rows, !down -> !rows
    %s = shard.all_reduce %p on @tp grid_axes = [0] : !rows -> !rows
    %y = llm.residual_add %p, %s : !rows
    %q = llm.linear %y, %w : !rows, !down -> !rows
    %t = shard.all_reduce %q on @tp grid_axes = [0] : !rows -> !rows
    %o = llm.select_rows %t, %batch : !rows
    %l = llm.output_head %o, %table : !rows, !embed -> tensor<?x40xf32>
    return %l : tensor<?x40xf32>
  }
}
