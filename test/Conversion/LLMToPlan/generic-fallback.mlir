// RUN: llmc-opt %s --convert-llm-to-plan --remark-format=emitRemark --remarks-filter=plan -split-input-file 2>&1 | FileCheck %s

// What no tuned kernel computes is computed by the generic one, and a remark says why.

!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!table = !llm.weight<[16, 16], #llm.dense<f32>>
!scale = !llm.weight<[8], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.1]>
module attributes {llm.model = {architecture = "fallback"}} {
  llm.weight_family @embed "embed.weight" : !table
  llm.weight_family @norm "norm.weight" : !scale
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %scale = llm.param @norm : !scale
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows

    // A product in the middle of a fusion.
    // CHECK: [[@LINE+2]]:{{.*}} remark: [Missed] tuned-kernel | Category:plan | Function=main | Reason="llm.rms_norm: is not part of the linear kernel's epilogue (bias, element-wise operations, residual)"
    // CHECK: remark: [Passed] launch | Category:plan | Function=main | Remark="generic: normed-product"
    %y = llm.fusion "normed-product" (%x, %table) : (!rows, !table) -> !rows {
    ^bb0(%a: !rows, %w: !table):
      %0 = llm.linear %a, %w : !rows, !table -> !rows
      %1 = llm.rms_norm %0 eps 1.0e-5 : !rows
      llm.yield %1 : !rows
    }

    // Rotary before the norm of heads, and rows seen as heads inside of the fusion.
    // CHECK: [[@LINE+2]]:{{.*}} remark: [Missed] tuned-kernel | Category:plan | Function=main | Reason="llm.split_heads: is not part of the attention prologue (norm of heads, then rotary)"
    // CHECK: remark: [Passed] launch | Category:plan | Function=main | Remark="generic: late-norm"
    %h = llm.fusion "late-norm" (%y, %batch, %scale) : (!rows, !llm.batch, !scale) -> !rows {
    ^bb0(%a: !rows, %b: !llm.batch, %s: !scale):
      %0 = llm.split_heads %a : !rows -> !heads
      %1 = llm.rotary %0, %b rope(#rope) : !heads
      %2 = llm.rms_norm %1, %s eps 1.0e-5 : !heads, !scale
      %3 = llm.merge_heads %2 : !heads -> !rows
      llm.yield %3 : !rows
    }

    // Norm of heads and of rows in one row fusion.
    // CHECK: [[@LINE+3]]:{{.*}} remark: [Missed] tuned-kernel | Category:plan | Function=main | Reason="llm.rms_norm: has {{.*}} elements a token, the kernel's rows are {{.*}}"
    // CHECK: remark: [Passed] launch | Category:plan | Function=main | Remark="generic: heads-and-rows"
    %hs = llm.split_heads %h : !rows -> !heads
    %r = llm.fusion "heads-and-rows" (%hs, %h, %scale) : (!heads, !rows, !scale) -> !rows {
    ^bb0(%a: !heads, %b: !rows, %s: !scale):
      %0 = llm.rms_norm %a, %s eps 1.0e-5 : !heads, !scale
      %1 = llm.merge_heads %0 : !heads -> !rows
      %2 = llm.residual_add %1, %b : !rows
      %3 = llm.rms_norm %2 eps 1.0e-5 : !rows
      llm.yield %3 : !rows
    }
    // CHECK: plan.launch @generic_normed_product_
    // CHECK: plan.launch @generic_late_norm_{{.*}} [#plan.use<@rms_norm, read>, #plan.use<@norm, read>, #plan.use<@merge_heads, write>]
    // CHECK: plan.launch @generic_heads_and_rows_
    return %r : !rows
  }
}
