// RUN: llmc-opt %s --convert-llm-to-plan=generators=generic -split-input-file | FileCheck %s
// RUN: llmc-opt %s --convert-llm-to-plan=generators=generic -split-input-file --llmc-generate-kernels --llmc-lower-kernels --llmc-verify-kernels | FileCheck %s --check-prefix=CODE

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<bf16>>
!matrix = !llm.weight<[32, 16], #llm.dense<f16>>
!vector = !llm.weight<[16], #llm.dense<f32>>

// A row function for one token; what the tuned kernels alone compute stays with them. Weights
// are rows of f32, results have slices of their own, and rows are chosen by the kernel.

// CHECK-LABEL: plan.program {{.*}} architecture = "units"
// CHECK: plan.weights @norm in @weights rows 16 cols 1 storage f32 layout #plan.rows
// CHECK: plan.slice @[[NORMED:rms_norm]] in @activations size(tokens * 64)
// CHECK: plan.kernel @[[NORM:generic_rms_norm_.*]] symbol
// CHECK-SAME: generator "generic"
// CHECK-SAME: scratch 128
// CHECK-SAME: function = "func.func @row(%arg0: tensor<1x16xf32>, %arg1: !llm.weight<[16], #llm.dense<f32>>) -> tensor<1x16xf32> {
// CHECK-SAME: llm.rms_norm %arg0, %arg1 eps
// CHECK-SAME: inputs = [{stride = 16 : i64}, {operand = 1 : i64}]
// CHECK-SAME: outputs = [{operand = 2 : i64, stride = 16 : i64}]
// CHECK: plan.weights @up in @weights rows 32 cols 16 storage f16 layout #plan.rows bytes 2048
// CHECK: plan.entry @units
// CHECK: plan.launch @[[NORM]] [#plan.use<@[[STREAM:stream]], read>, #plan.use<@norm, read>, #plan.use<@[[NORMED]], write>] items <1, tokens> remark "rms_norm"
// CHECK: plan.launch @generic_linear_{{.*}} [#plan.use<@[[NORMED]], read>, #plan.use<@up, read>, #plan.use<@linear, write>] items <1, tokens>
// CHECK: plan.launch @rows_{{.*}} remark "llm.select_rows"
// CHECK: plan.launch @generic_output_head_{{.*}} items <1, outputs>

// CODE: llvm.func @generic_rms_norm_{{.*}}_avx512(
// CODE: llvm.call @generic_rms_norm_{{.*}}_avx512_row(
// CODE: llvm.func internal @generic_rms_norm_{{.*}}_avx512_row(
module attributes {llm.model = {architecture = "units"}} {
  llm.weight_family @embed "embed.weight" : !table
  llm.weight_family @norm "norm.weight" : !vector
  llm.weight_family @up "up.weight" : !matrix
  llm.weight_family @head "head.weight" : !llm.weight<[40, 32], #llm.dense<f32>>
  func.func @units(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32> attributes {llm.entry} {
    %table = llm.param @embed : !table
    %scale = llm.param @norm : !vector
    %up = llm.param @up : !matrix
    %head = llm.param @head : !llm.weight<[40, 32], #llm.dense<f32>>
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %n = llm.rms_norm %x, %scale eps 1.0e-5 : !rows, !vector
    %u = llm.linear %n, %up : !rows, !matrix -> tensor<?x32xf32>
    %r = llm.select_rows %u, %batch : tensor<?x32xf32>
    %y = llm.output_head %r, %head : tensor<?x32xf32>, !llm.weight<[40, 32], #llm.dense<f32>> -> tensor<?x40xf32>
    return %y : tensor<?x40xf32>
  }
}

// -----

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>

// A fusion is one function; rows that it chooses are chosen by its kernel.

// CHECK-LABEL: plan.program {{.*}} architecture = "fused"
// CHECK: plan.kernel @generic_chosen_sum_
// CHECK-SAME: inputs = [{index = 1 : i64, stride = 16 : i64}]
// CHECK: plan.launch @generic_chosen_sum_{{.*}} [#plan.use<@stream, read>, #plan.use<@residual_add, write>] items <1, outputs> remark "chosen-sum"
// CODE: llvm.func @generic_chosen_sum_
module attributes {llm.model = {architecture = "fused"}} {
  llm.weight_family @embed "embed.weight" : !table
  func.func @fused(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.fusion "chosen-sum" (%x, %batch) : (!rows, !llm.batch) -> !rows {
    ^bb0(%a: !rows, %b: !llm.batch):
      %0 = llm.select_rows %a, %b : !rows
      %1 = llm.residual_add %0, %0 : !rows
      llm.yield %1 : !rows
    }
    return %y : !rows
  }
}
