// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// A convolution and the recurrence behind it, items for each sequence. The convolution's result
// stays over its input, which nothing else reads; that of the recurrence over the values.

!rows = tensor<?x64xf32>
!qk = tensor<?x2x16xf32>
!v = tensor<?x4x16xf32>
!g = tensor<?x4xf32>
!conv = !llm.cache<conv, [64, 3], f32>
!state = !llm.cache<recurrent, [4, 16, 16], f32>
!table = !llm.weight<[40, 64], #llm.dense<f32>>
!w = !llm.weight<[64, 1, 4], #llm.dense<bf16>>
!b = !llm.weight<[64], #llm.dense<f32>>
!wk = !llm.weight<[32, 64], #llm.dense<f32>>
!wg = !llm.weight<[4, 64], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "mixer"
// CHECK-DAG: plan.state @conv in @state layers <0 to 2> kind conv heads 1 key_width 3 value_width 64 element f32 bytes_per_sequence 768
// CHECK-DAG: plan.state @ssm in @state layers <0 to 2> kind recurrent heads 4 key_width 16 value_width 16 element f32 bytes_per_sequence 4096
// CHECK-DAG: plan.weights @taps in @weights layers <0 to 2> rows 64 cols 4 storage bf16 layout #plan.rows bytes 1024
// CHECK-DAG: plan.kernel @[[CONV:conv_c64_t4_bias_[0-9a-f]+]] {{.*}} generator "causal-conv" scratch 0 {{.*}}slot_bytes = 768
// CHECK-DAG: plan.kernel @[[MIX:linear_attention_4_2_16_16_delta_[0-9a-f]+]] {{.*}} generator "linear-attention" scratch 0
// CHECK: plan.repeat from 0 count 2 period 1 {
// CHECK: plan.launch @[[CONV]] [#plan.use<@[[X:[a-z]+]], readwrite>, #plan.use<@taps, read, layer = 0>, #plan.use<@bias, read, layer = 0>, #plan.use<@conv, readwrite, layer = 0>] items <1, sequences> remark "causal convolution"
// CHECK: plan.launch @[[MIX]] [#plan.use<@[[Q:[a-z.0-9]+]], read>, #plan.use<@[[K:[a-z.0-9]+]], read>, #plan.use<@[[V:[a-z.0-9]+]], readwrite>, #plan.use<@[[D:[a-z.0-9]+]], read>, #plan.use<@[[B:[a-z.0-9]+]], read>, #plan.use<@ssm, readwrite, layer = 0>] items <4, sequences> remark "linear attention"
module attributes {llm.model = {architecture = "mixer", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @taps "taps.{i}" layers [0, 2] : !w
  llm.weight_family @bias "bias.{i}" layers [0, 2] : !b
  llm.weight_family @q "q.{i}" layers [0, 2] : !wk
  llm.weight_family @k "k.{i}" layers [0, 2] : !wk
  llm.weight_family @g "g.{i}" layers [0, 2] : !wg
  llm.state_family @conv layers [0, 2] : !conv
  llm.state_family @ssm layers [0, 2] : !state
  func.func @mixer(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %taps = llm.param @taps[%i] : !w
    %bias = llm.param @bias[%i] : !b
    %wq = llm.param @q[%i] : !wk
    %wk = llm.param @k[%i] : !wk
    %wg = llm.param @g[%i] : !wg
    %s0 = llm.state @conv[%i] : !conv
    %c, %s1 = llm.causal_conv %x, %taps bias %bias, %s0, %batch : !rows, !w, !conv, !b
    %q = llm.linear %c, %wq : !rows, !wk -> tensor<?x32xf32>
    %k = llm.linear %c, %wk : !rows, !wk -> tensor<?x32xf32>
    %g = llm.linear %c, %wg : !rows, !wg -> !g
    %beta = llm.linear %c, %wg : !rows, !wg -> !g
    %qh = llm.split_heads %q : tensor<?x32xf32> -> !qk
    %kh = llm.split_heads %k : tensor<?x32xf32> -> !qk
    %vh = llm.split_heads %c : !rows -> !v
    %t0 = llm.state @ssm[%i] : !state
    %y, %t1 = llm.linear_attention %qh, %kh, %vh, %g beta %beta, %t0, %batch delta scale 0.25
        : !qk, !v, !g, !state, !g
    %m = llm.merge_heads %y : !v -> !rows
    return %m : !rows
  }
}

// -----

// A decay for each channel needs room for its exponentials. Values that are keys once more are
// left as they are.

!rows = tensor<?x32xf32>
!h = tensor<?x2x16xf32>
!state = !llm.cache<recurrent, [2, 16, 16], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "channels"
// CHECK: plan.kernel @[[MIX:linear_attention_2_2_16_16_channels_[0-9a-f]+]] {{.*}} generator "linear-attention" scratch 64
// CHECK: plan.launch @[[MIX]] [#plan.use<@[[X:[a-z]+]], read>, #plan.use<@ssm, readwrite, layer = 0>, #plan.use<@[[Y:mixed]], write>] items <2, sequences>
module attributes {llm.model = {architecture = "channels", layers = 1 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.state_family @ssm layers [0, 1] : !state
  func.func @channels(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !h
    %t0 = llm.state @ssm[%i] : !state
    %y, %t1 = llm.linear_attention %h, %h, %h, %h, %t0, %batch scale 1.0 : !h, !h, !h, !state
    %m = llm.merge_heads %y : !h -> !rows
    return %m : !rows
  }
}
