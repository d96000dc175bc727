// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// What one launch does before and behind its products: the operands of that stand between bias
// and residual, and what two of them share is never written in place.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
!n = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "ends"
// CHECK: plan.kernel @[[K:linear_f32_n16_k16_[a-z0-9_]*bias_end_silu_mul_scale_16_[0-9a-f]+_residual]] symbol {{.*}} generator "linear"
// CHECK-SAME: epilogue = {nodes = [
// CHECK-SAME: op = "activate"
// CHECK: plan.kernel @[[H:linear_f32_n40_k16_[a-z0-9_]*end_softcap_40_[0-9a-f]+_outputs_of_rmsnorm_16_[0-9a-f]+]] symbol {{.*}} generator "linear"
// CHECK-SAME: prologue = {nodes = [
// CHECK: plan.entry @ends
// CHECK: plan.launch @[[K]] [#plan.use<@stream, read>, #plan.use<@w, read>, #plan.use<@n, read>, #plan.use<@stream, read>, #plan.use<@stream, read>, #plan.use<@[[S:sum]], write>] items <1, tokens tile {{[0-9]+}}> remark "any"
// CHECK-NEXT: plan.launch @[[H]] [#plan.use<@[[S]], read>, #plan.use<@embed, read>, #plan.use<@n, read>, #plan.use<@[[Y:logits]], write>] items <{{[0-9]}}, outputs tile {{[0-9]+}}> remark "norm-linear"
// CHECK-NEXT: plan.output "logits" slice @[[Y]] rows outputs width 40
module attributes {llm.model = {architecture = "ends"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "w" : !w
  llm.weight_family @n "n" : !n
  func.func @ends(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32> attributes {llm.entry} {
    %table = llm.param @embed : !table
    %w = llm.param @w : !w
    %n = llm.param @n : !n
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %r = llm.fusion "any" (%x, %w, %n) : (!rows, !w, !n) -> !rows {
    ^bb0(%a: !rows, %b: !w, %c: !n):
      %0 = llm.linear %a, %b bias %c : !rows, !w, !n -> !rows
      %1 = llm.activation silu %0 : !rows
      %2 = llm.binary mul %1, %a : !rows, !rows -> !rows
      %3 = llm.scale %2 by 0.5 : !rows
      %4 = llm.residual_add %a, %3 : !rows
      llm.yield %4 : !rows
    }
    %y = llm.fusion "norm-linear" (%r, %batch, %n, %table) : (!rows, !llm.batch, !n, !table) -> tensor<?x40xf32> {
    ^bb0(%a: !rows, %b: !llm.batch, %c: !n, %d: !table):
      %0 = llm.select_rows %a, %b : !rows
      %1 = llm.rms_norm %0, %c eps 1.0e-5 : !rows, !n
      %2 = llm.output_head %1, %d : !rows, !table -> tensor<?x40xf32>
      %3 = llm.softcap %2 cap 30.0 : tensor<?x40xf32>
      llm.yield %3 : tensor<?x40xf32>
    }
    return %y : tensor<?x40xf32>
  }
}

// -----

// Two products with work of their own before they meet; gate and up alternate.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "pair"
// CHECK: plan.weights @{{.*}} rows 32 cols 16 storage f32 layout #plan.panels<tile = 2> interleave 16
// CHECK: plan.kernel @[[K:linear_f32_n32_k16_r2_gated_end_clamp_addc_silu_mul_16_[0-9a-f]+]]
// CHECK: plan.launch @[[K]]
module attributes {llm.model = {architecture = "pair"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @g "g" : !w
  llm.weight_family @u "u" : !w
  func.func @pair(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %g = llm.param @g : !w
    %u = llm.param @u : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.fusion "linear-elementwise" (%x, %g, %u) : (!rows, !w, !w) -> !rows {
    ^bb0(%a: !rows, %b: !w, %c: !w):
      %0 = llm.linear %a, %b : !rows, !w -> !rows
      %1 = llm.clamp %0 max 7.0 : !rows
      %2 = llm.linear %a, %c : !rows, !w -> !rows
      %3 = llm.offset %2 by 1.0 : !rows
      %4 = llm.gate silu %1, %3 : !rows
      llm.yield %4 : !rows
    }
    return %y : !rows
  }
}
