// RUN: llmc-opt %s --convert-llm-to-plan="block-tokens=16 max-tokens=20 max-context=256" | FileCheck %s
// RUN: llmc-opt %s --pass-pipeline='builtin.module(convert-llm-to-plan{block-tokens=16 max-tokens=20 max-context=256},plan.program(plan-assign-liveness,plan-pack-arenas,plan-derive-contracts,plan-verify))' \
// RUN:   | FileCheck %s --check-prefix=PACKED
// RUN: llmc-opt %s --convert-llm-to-plan="block-tokens=16 max-tokens=20 max-context=64" | FileCheck %s --check-prefix=SHORT

// State is rings of blocks in layers whose readers all have a window: for the largest of 40 positions
// ceil((40 + 20 - 2) / 16) + 1 = 5 blocks. Layers 2 and 5 have a window, but layer 6 reads the state of 5
// without one, and the layers of a function are alike. A context of no more blocks is kept whole.

!rows = tensor<?x32xf32>
!heads = tensor<?x4x8xf32>
!cache = !llm.cache<paged, [4, 8, 8], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "mixed"
// CHECK-SAME: blocks = 16, {{.*}}ring_blocks = 5>)
// CHECK-DAG: plan.state @kv.window in @state layers <0 to 1, 3 to 4> {{.*}} bytes_per_block 4096 window 40
// CHECK-DAG: plan.state @kv in @state layers <1 to 3, 4 to 6> {{.*}} bytes_per_block 4096{{$}}
// CHECK-DAG: plan.state @kv.window.1 in @state layers <6 to 7> {{.*}} bytes_per_block 4096 window 32
// CHECK: plan.entry @mixed
// CHECK: plan.repeat from 0 count 2 period 3
// CHECK: plan.launch @prologue_append_{{.*}} #plan.use<@kv.window, readwrite, layer = 0>
// CHECK: plan.launch @attention_{{.*}} #plan.use<@kv.window, read, layer = 0>
// CHECK: plan.launch @attention_{{.*}} #plan.use<@kv, read, layer = 1>
// CHECK: plan.launch @attention_{{.*}} #plan.use<@kv, read, layer = 2>
// CHECK: plan.repeat from 6 count 1 period 1
// CHECK: plan.launch @prologue_append_{{.*}} #plan.use<@kv.window.1, readwrite, layer = 0>
// CHECK: plan.launch @attention_{{.*}} #plan.use<@kv.window.1, read, layer = 0>
// CHECK: plan.launch @attention_{{.*}} #plan.use<@kv, read fixed = 5>

// PACKED: plan.arena @state kind state size(blocks * 16384 + window_blocks * 12288)
// PACKED: plan.kernel @prologue_append_{{.*}}<state, readwrite, window_blocks * 4096>{{.*}}<state, readwrite, blocks * 4096>

// SHORT-LABEL: plan.program {{.*}} architecture = "mixed"
// SHORT-NOT: ring_blocks
// SHORT: plan.state @kv in @state layers <0 to 7> {{.*}} bytes_per_block 4096{{$}}
// SHORT-NOT: plan.state
module attributes {llm.model = {architecture = "mixed", layers = 7 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.state_family @kv layers [0, 7] : !cache
  func.func @mixed(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@near, @far, @both] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    %z = llm.repeat [@last] from 6 count 1 (%y) with (%batch) : (!rows) with (!llm.batch)
    return %z : !rows
  }
  func.func private @near(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %q = llm.split_heads %x : !rows -> !heads
    %s = llm.state @kv[%i] : !cache
    %t = llm.fusion "attention-prologue" (%q, %batch, %s) : (!heads, !llm.batch, !cache) -> !cache {
    ^bb0(%k: !heads, %step: !llm.batch, %c: !cache):
      %0 = llm.kv_append %k, %k, %c, %step : !heads, !heads, !cache
      llm.yield %0 : !cache
    }
    %o = llm.paged_attention %q, %t, %batch scale 0.5 window 40 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    return %m : !rows
  }
  func.func private @far(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %q = llm.split_heads %x : !rows -> !heads
    %s = llm.state @kv[%i] : !cache
    %t = llm.kv_append %q, %q, %s, %batch : !heads, !heads, !cache
    %o = llm.paged_attention %q, %t, %batch scale 0.5 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    return %m : !rows
  }
  func.func private @both(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %q = llm.split_heads %x : !rows -> !heads
    %s = llm.state @kv[%i] : !cache
    %t = llm.kv_append %q, %q, %s, %batch : !heads, !heads, !cache
    %o = llm.paged_attention %q, %t, %batch scale 0.5 window 8 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    return %m : !rows
  }
  // A chunk bounds what is seen as a window does.
  func.func private @last(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %five = arith.constant 5 : index
    %q = llm.split_heads %x : !rows -> !heads
    %s = llm.state @kv[%i] : !cache
    %t = llm.kv_append %q, %q, %s, %batch : !heads, !heads, !cache
    %o = llm.paged_attention %q, %t, %batch scale 0.5 chunk 32 : !heads, !cache -> !heads
    %earlier = llm.state @kv[%five] : !cache
    %p = llm.paged_attention %o, %earlier, %batch scale 0.5 : !heads, !cache -> !heads
    %m = llm.merge_heads %p : !heads -> !rows
    return %m : !rows
  }
}
