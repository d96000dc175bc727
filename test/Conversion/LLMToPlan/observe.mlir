// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// Whatever has rows can be observed.

// Columns of a wider slice are observed as rows of their own.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "columns"
// CHECK: plan.launch @rows_4_{{.*}} [#plan.use<@[[X:.*]], read>, #plan.use<@[[O:observed]], write>] items <1, tokens> remark "copy: what is observed is rows of its own"
// CHECK-NEXT: plan.observe "part" slice @[[O]] rows tokens width 4
module attributes {llm.model = {architecture = "columns"}} {
  llm.weight_family @embed "embed" : !table
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %p = llm.slice %x from 8 size 4 : !rows -> tensor<?x4xf32>
    llm.observe %p "part" : tensor<?x4xf32>
    return %x : !rows
  }
}

// -----

// A key that the launch turns on its way to the state is written for whoever sees it.

!heads = tensor<?x1x4xf32>
!cache = !llm.cache<paged, [1, 4, 4], f32>
#rope = #llm.rope<"default", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>

// CHECK-LABEL: plan.program {{.*}} architecture = "key"
// CHECK: plan.slice @turned in @activations size(tokens * 16)
// CHECK: plan.kernel @prologue_{{.*}} k_out = {
// CHECK: plan.launch @prologue_{{.*}} #plan.use<@turned, write>
// CHECK-NEXT: plan.observe "key" slice @turned rows tokens width 4 heads 1
module attributes {llm.model = {architecture = "key", layers = 1 : i64}} {
  llm.state_family @kv layers [0, 1] : !cache
  func.func @main(%x: !heads, %batch: !llm.batch) -> !heads attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!heads) with (!llm.batch)
    return %y : !heads
  }
  func.func private @layer(%i: index, %x: !heads, %batch: !llm.batch) -> !heads {
    %s = llm.state @kv[%i] : !cache
    %a = llm.activation silu %x : !heads
    %k, %after = llm.fusion "attention-prologue" (%a, %x, %s, %batch) : (!heads, !heads, !cache, !llm.batch) -> (!heads, !cache) {
    ^bb0(%key: !heads, %value: !heads, %c: !cache, %b: !llm.batch):
      %0 = llm.rotary %key, %b rope(#rope) : !heads
      %1 = llm.kv_append %0, %value, %c, %b : !heads, !heads, !cache
      llm.yield %0, %1 : !heads, !cache
    }
    llm.observe %k "key" : !heads
    %y = llm.paged_attention %x, %after, %batch scale 0.5 : !heads, !cache -> !heads
    return %y : !heads
  }
}
