// RUN: llmc-opt %s --convert-llm-to-plan=block-tokens=16 -split-input-file | FileCheck %s

// The attention of a layer as the optimize phase leaves it: the prologue turns q and k in place
// in the columns of one product, appends, and attention reads the window of its kind.

!rows = tensor<?x32xf32>
!kv = tensor<?x16xf32>
!heads = tensor<?x4x8xf32>
!kvheads = tensor<?x2x8xf32>
!cache = !llm.cache<paged, [2, 8, 8], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>
!wq = !llm.weight<[32, 32], #llm.dense<f32>>
!wk = !llm.weight<[16, 32], #llm.dense<f32>>
!n = !llm.weight<[8], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 100.0, width = 8, halves, magnitude = 1.0, [1.0, 0.5, 0.25, 0.125]>

// The values of one block are keys and values of both heads for 16 tokens.
// CHECK-LABEL: plan.program {{.*}} architecture = "fused"
// CHECK: plan.state @kv in @state layers <0 to 2> kind paged heads 2 key_width 8 value_width 8 element f32 bytes_per_block 2048
// CHECK: plan.weights @[[FREQ:frequencies]] in @weights rows 4 cols 1 storage f32 layout #plan.rows {{.*}} sources [#plan.source<values [1.000000e+00, 5.000000e-01, 2.500000e-01, 1.250000e-01], rows = 4>]
// CHECK: plan.kernel @[[PROLOGUE:prologue_norm_rotary_append_[0-9a-f]+]] {{.*}} generator "attention-prologue"
// CHECK: plan.kernel @[[ATTENTION:attention_4_2_8_w7_[0-9a-f]+]] {{.*}} generator "paged-attention" {{.*}} window = 7
// CHECK: plan.entry @fused
// CHECK: plan.repeat from 0 count 2 period 1 {
// CHECK: plan.launch @{{.*}}#plan.use<@[[QKV:product]], write>] {{.*}} remark "qkv-linear"
// CHECK-NEXT: plan.launch @[[PROLOGUE]] [#plan.use<@[[QKV]], readwrite>, #plan.use<@qn, read, layer = 0>, #plan.use<@kn, read, layer = 0>, #plan.use<@kv, readwrite, layer = 0>, #plan.use<@[[FREQ]], read>] items <1, tokens> remark "attention-prologue"
// One item for each kv head of each token.
// CHECK-NEXT: plan.launch @[[ATTENTION]] [#plan.use<@[[QKV]], read>, #plan.use<@kv, read, layer = 0>, #plan.use<@[[OUT:attended]], write>] items <2, tokens> remark "paged attention"
// CHECK-NEXT: plan.launch @rows_add_32_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[OUT]], read>]
module attributes {llm.model = {architecture = "fused", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @q "q.{i}" layers [0, 2] : !wq
  llm.weight_family @k "k.{i}" layers [0, 2] : !wk
  llm.weight_family @v "v.{i}" layers [0, 2] : !wk
  llm.weight_family @qn "qn.{i}" layers [0, 2] : !n
  llm.weight_family @kn "kn.{i}" layers [0, 2] : !n
  llm.state_family @kv layers [0, 2] : !cache
  func.func @fused(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %wq = llm.param @q[%i] : !wq
    %wk = llm.param @k[%i] : !wk
    %wv = llm.param @v[%i] : !wk
    %qn = llm.param @qn[%i] : !n
    %kn = llm.param @kn[%i] : !n
    %p:3 = llm.fusion "qkv-linear" (%x, %wq, %wk, %wv) : (!rows, !wq, !wk, !wk) -> (!rows, !kv, !kv) {
    ^bb0(%a: !rows, %b: !wq, %c: !wk, %d: !wk):
      %0 = llm.linear %a, %b : !rows, !wq -> !rows
      %1 = llm.linear %a, %c : !rows, !wk -> !kv
      %2 = llm.linear %a, %d : !rows, !wk -> !kv
      llm.yield %0, %1, %2 : !rows, !kv, !kv
    }
    %q = llm.split_heads %p#0 : !rows -> !heads
    %k = llm.split_heads %p#1 : !kv -> !kvheads
    %v = llm.split_heads %p#2 : !kv -> !kvheads
    %s = llm.state @kv[%i] : !cache
    %t:2 = llm.fusion "attention-prologue" (%q, %qn, %batch, %k, %kn, %v, %s)
        : (!heads, !n, !llm.batch, !kvheads, !n, !kvheads, !cache) -> (!heads, !cache) {
    ^bb0(%a: !heads, %an: !n, %step: !llm.batch, %b: !kvheads, %bn: !n, %c: !kvheads, %d: !cache):
      %0 = llm.rms_norm %a, %an eps 0.001 : !heads, !n
      %1 = llm.rotary %0, %step rope(#rope) : !heads
      %2 = llm.rms_norm %b, %bn eps 0.001 : !kvheads, !n
      %3 = llm.rotary %2, %step rope(#rope) : !kvheads
      %4 = llm.kv_append %3, %c, %d, %step : !kvheads, !kvheads, !cache
      llm.yield %1, %4 : !heads, !cache
    }
    %o = llm.paged_attention %t#0, %t#1, %batch scale 0.5 window 7 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    %y = llm.residual_add %x, %m : !rows
    return %y : !rows
  }
}

// -----

// Unfused: rotary of q and of k alone, then the append; a rotary is in place where its input
// dies, k and v of the same slice are one operand.

!rows = tensor<?x32xf32>
!heads = tensor<?x4x8xf32>
!cache = !llm.cache<paged, [4, 8, 8], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 100.0, width = 8, interleaved, magnitude = 1.0, [1.0, 0.5, 0.25, 0.125]>

// CHECK-LABEL: plan.program {{.*}} architecture = "unfused"
// CHECK: plan.kernel @[[TURN:prologue_rotary_[0-9a-f]+]] {{.*}} generator "attention-prologue"
// CHECK: plan.kernel @[[APPEND:prologue_append_[0-9a-f]+]] {{.*}} generator "attention-prologue"
// CHECK: plan.entry @unfused
// CHECK: plan.repeat from 0 count 1 period 1 {
// The stream is read again: q is turned into a slice of its own.
// CHECK-NEXT: plan.launch @[[TURN]] [#plan.use<@stream, read>, #plan.use<@[[Q:turned]], write>, #plan.use<@frequencies, read>] items <1, tokens> remark "llm.rotary"
// CHECK-NEXT: plan.launch @[[APPEND]] [#plan.use<@stream, read>, #plan.use<@kv, readwrite, layer = 0>] items <1, tokens> remark "llm.kv_append"
// CHECK-NEXT: plan.launch @attention_{{.*}} [#plan.use<@[[Q]], read>, #plan.use<@kv, read, layer = 0>, #plan.use<@[[OUT:attended]], write>] items <4, tokens>
module attributes {llm.model = {architecture = "unfused", layers = 1 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.state_family @kv layers [0, 1] : !cache
  func.func @unfused(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !heads
    %q = llm.rotary %h, %batch rope(#rope) : !heads
    %s = llm.state @kv[%i] : !cache
    %t = llm.kv_append %h, %h, %s, %batch : !heads, !heads, !cache
    %o = llm.paged_attention %q, %t, %batch scale 0.5 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    %y = llm.residual_add %x, %m : !rows
    return %y : !rows
  }
}

// -----

// Frequencies of long sequences stand behind the short ones, and the program says at which length
// a state is computed anew; attention has its chunk and its cap.

!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!cache = !llm.cache<paged, [2, 8, 8], f32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
#rope = #llm.rope<"longrope", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5], long [0.5, 0.0] beyond 48>
#later = #llm.rope<"longrope", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5], long [0.5, 0.0] beyond 64>

// CHECK-LABEL: plan.program {{.*}} architecture = "long"
// CHECK-SAME: recompute_beyond [48]
// CHECK: sources [#plan.source<values [1.000000e+00, 5.000000e-01, 5.000000e-01, 0.000000e+00], rows = 4>]
// CHECK: plan.kernel @prologue_rotary_{{.*}}beyond = 48
// Never reached within the context:
// CHECK: sources [#plan.source<values [1.000000e+00, 5.000000e-01], rows = 2>]
// CHECK: plan.kernel @attention_{{.*}}chunk = 12{{.*}}softcap = 3.000000e+01
module attributes {llm.model = {architecture = "long", layers = 1 : i64, context_length = 64}} {
  llm.weight_family @embed "embed" : !table
  llm.state_family @kv layers [0, 1] : !cache
  func.func @long(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !heads
    %q = llm.rotary %h, %batch rope(#rope) : !heads
    %k = llm.rotary %h, %batch rope(#later) : !heads
    %s = llm.state @kv[%i] : !cache
    %c = llm.kv_append %k, %h, %s, %batch : !heads, !heads, !cache
    %o = llm.paged_attention %q, %c, %batch scale 0.5 chunk 12 softcap 30.0 : !heads, !cache -> !heads
    %m = llm.merge_heads %o : !heads -> !rows
    %y = llm.residual_add %x, %m : !rows
    return %y : !rows
  }
}
