// RUN: llmc-opt %s --convert-llm-to-plan --remark-format=emitRemark --remarks-filter=plan 2>&1 | FileCheck %s

// A product in the middle of a fusion is no end of the tuned kernel: the fusion is computed by
// the generic one, and a remark says why.

!rows = tensor<?x16xf32>
!table = !llm.weight<[16, 16], #llm.dense<f32>>
module attributes {llm.model = {architecture = "fallback"}} {
  llm.weight_family @embed "embed.weight" : !table
  func.func @main(%tokens: tensor<?xi32>) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    // CHECK: [[@LINE+2]]:{{.*}} remark: [Missed] tuned-kernel | Category:plan | Reason="llm.activation is not part of the linear kernel's epilogue (bias, gate, residual)"
    // CHECK: remark: [Passed] launch | Category:plan | Remark=generic, Remark=": ", Remark=activated-product
    %y = llm.fusion "activated-product" (%x, %table) : (!rows, !table) -> !rows {
    ^bb0(%a: !rows, %w: !table):
      %0 = llm.linear %a, %w : !rows, !table -> !rows
      %1 = llm.activation silu %0 : !rows
      llm.yield %1 : !rows
    }
    // CHECK: plan.launch @generic_activated_product_
    return %y : !rows
  }
}
