// RUN: llmc-opt %s --convert-llm-to-plan=block-tokens=16 | FileCheck %s

// Groups of tokens kept as one entry: tokens that wait have a slot for each sequence, entries lie with
// the positions of their group, and attention to both is one launch. Matrices of streams are divided
// where they lie, and a table of tokens chooses experts.

!rows = tensor<?x32xf32>
!ids = tensor<?xi32>
!near = !llm.cache<latent, [1, 24, 20], f32>
!entries = !llm.cache<entries, [4, 24, 20], f32>
!index = !llm.cache<entries, [4, 10, 0], f32>
!waiting = !llm.cache<conv, [96, 7], f32>
!waiting_index = !llm.cache<conv, [20, 3], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>
!wq = !llm.weight<[96, 32], #llm.dense<f32>>
!wp = !llm.weight<[48, 32], #llm.dense<f32>>
!wi = !llm.weight<[30, 32], #llm.dense<f32>>
!wj = !llm.weight<[10, 32], #llm.dense<f32>>
!ww = !llm.weight<[3, 32], #llm.dense<f32>>
!bp = !llm.weight<[4, 48], #llm.dense<f32>>
!bj = !llm.weight<[4, 10], #llm.dense<f32>>
!n = !llm.weight<[4], #llm.dense<f32>>
!we = !llm.weight<[6, 32], #llm.dense<f32>>
!experts = !llm.weight<[40, 2], #llm.dense<f32>>
!w80 = !llm.weight<[32, 80], #llm.dense<f32>>

#turn = #llm.rope<"default", base = 10000.0, width = 4, interleaved, magnitude = 1.0, [1.0, 0.01]>

// A share is the channels divided among the tokens of a group, rounded up.
// CHECK-DAG: plan.state @[[WAITJ:conv_1]] in @state layers <0 to 2> kind conv heads 1 key_width 3 value_width 20 element f32 bytes_per_sequence 256
// CHECK-DAG: plan.state @[[INDEX:kv_2]] in @state layers <0 to 2> kind paged heads 1 key_width 0 value_width 3 element f32 bytes_per_block 192
// CHECK-DAG: plan.state @[[WAIT:conv]] in @state layers <0 to 2> kind conv heads 1 key_width 7 value_width 96 element f32 bytes_per_sequence 2688
// CHECK-DAG: plan.state @[[ENTRIES:kv_1]] in @state layers <0 to 2> kind paged heads 1 key_width 0 value_width 6 element f32 bytes_per_block 384
// CHECK-DAG: plan.state @[[NEAR:kv]] in @state layers <0 to 2> kind paged heads 1 key_width 24 value_width 0 element f32 bytes_per_block 1536
// CHECK-DAG: plan.kernel @[[POOLJ:pool_g4_c10_[0-9a-f]+]] {{.*}} generator "pool-tokens"
// CHECK-DAG: plan.kernel @[[POOL:pool_g4_c48_overlap_[0-9a-f]+]] {{.*}} generator "pool-tokens"
// CHECK-DAG: plan.kernel @[[APPEND:prologue_rotary_entry_[0-9a-f]+]] {{.*}} generator "attention-prologue" {{.*}}group = 4
// CHECK-DAG: plan.kernel @[[APPENDJ:prologue_entry_[0-9a-f]+]] {{.*}} generator "attention-prologue" {{.*}}group = 4
// CHECK-DAG: plan.kernel @[[SELECT:select_3_10_5_[0-9a-f]+]] {{.*}} generator "select-positions" {{.*}}group = 4
// CHECK-DAG: plan.kernel @[[JOINT:attention_4_1_24_w8_s5_g4_[0-9a-f]+]] {{.*}} generator "paged-attention" {{.*}}group = 4{{.*}}latent_values = 20{{.*}}selected = 5{{.*}}sinks
// CHECK-DAG: plan.kernel @[[SINKHORN:sinkhorn_4_20_[_a-z0-9]+]] {{.*}} generator "sinkhorn"
// CHECK-DAG: plan.weights @experts in @weights layers <0 to 2> rows 40 cols 2 {{.*}}plan.numbers_below = 6
// CHECK-DAG: plan.kernel @[[ROUTE:route_softmax_e6_c2_t40]] {{.*}} generator "route" {{.*}}tokens_below 40
// CHECK: plan.launch @[[POOLJ]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@bias_index, read, layer = 0>, #plan.use<@[[WAITJ]], readwrite, layer = 0>, #plan.use<@[[MEANJ:pooled]], write>] items <1, sequences>
// CHECK: plan.launch @[[APPENDJ]] [#plan.use<@[[MEANJ]], read>, #plan.use<@[[INDEX]], readwrite, layer = 0>] items <1, tokens>
// CHECK: plan.launch @[[SELECT]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@{{[^,]*}}, read>, #plan.use<@[[INDEX]], read, layer = 0>, #plan.use<@[[CHOSEN:entries[.0-9]*]], write>] items <1, tokens>
// CHECK: plan.launch @[[POOL]] [{{.*}}#plan.use<@[[WAIT]], readwrite, layer = 0>, #plan.use<@[[MEAN:pooled.1]], write>] items <1, sequences>
// CHECK: plan.launch @[[APPEND]] [#plan.use<@[[MEAN]], read>, #plan.use<@[[ENTRIES]], readwrite, layer = 0>, #plan.use<@frequencies, read>] items <1, tokens>
// CHECK: plan.launch @[[JOINT]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@[[NEAR]], read, layer = 0>, #plan.use<@attended, write>, #plan.use<@sinks, read, layer = 0>, #plan.use<@[[CHOSEN]], read>, #plan.use<@[[ENTRIES]], read, layer = 0>]
// CHECK: plan.launch @[[SINKHORN]] [#plan.use<@{{[^,]*}}, readwrite>] items <1, tokens>
// CHECK: plan.launch @[[ROUTE]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@experts, read, layer = 0>, #plan.use<@choice, write>, #plan.use<@weights.1, write>] items <1, tokens>
module attributes {llm.model = {architecture = "entries", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @q "q.{i}" layers [0, 2] : !wq
  llm.weight_family @pv "pv.{i}" layers [0, 2] : !wp
  llm.weight_family @pg "pg.{i}" layers [0, 2] : !wp
  llm.weight_family @iq "iq.{i}" layers [0, 2] : !wi
  llm.weight_family @iv "iv.{i}" layers [0, 2] : !wj
  llm.weight_family @iw "iw.{i}" layers [0, 2] : !ww
  llm.weight_family @bias "bias.{i}" layers [0, 2] : !bp
  llm.weight_family @bias_index "bias_index.{i}" layers [0, 2] : !bj
  llm.weight_family @sinks "sinks.{i}" layers [0, 2] : !n
  llm.weight_family @router "router.{i}" layers [0, 2] : !we
  llm.weight_family @experts "experts.{i}" layers [0, 2] : !experts
  llm.weight_family @out "out.{i}" layers [0, 2] : !w80
  llm.state_family @conv layers [0, 2] : !waiting
  llm.state_family @conv_1 layers [0, 2] : !waiting_index
  llm.state_family @kv layers [0, 2] : !near
  llm.state_family @kv_1 layers [0, 2] : !entries
  llm.state_family @kv_2 layers [0, 2] : !index
  func.func @entries(%tokens: !ids, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : !ids, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch, %tokens) : (!rows) with (!llm.batch, !ids)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch, %tokens: !ids) -> !rows {
    // The indexer's own entries.
    %wiv = llm.param @iv[%i] : !wj
    %wiq = llm.param @iq[%i] : !wi
    %wiw = llm.param @iw[%i] : !ww
    %iv = llm.linear %x, %wiv : !rows, !wj -> tensor<?x10xf32>
    %iq0 = llm.linear %x, %wiq : !rows, !wi -> tensor<?x30xf32>
    %iw = llm.linear %x, %wiw : !rows, !ww -> tensor<?x3xf32>
    %iq = llm.split_heads %iq0 : tensor<?x30xf32> -> tensor<?x3x10xf32>
    %bj = llm.param @bias_index[%i] : !bj
    %t0 = llm.state @conv_1[%i] : !waiting_index
    %ie, %t1 = llm.pool_tokens %iv, %iv, %bj, %t0, %batch : tensor<?x10xf32>, !bj, !waiting_index
        -> tensor<?x10xf32>
    %k0 = llm.state @kv_2[%i] : !index
    %k1 = llm.entry_append %ie, %k0, %batch : tensor<?x10xf32>, !index
    %j = llm.select_entries %iq, %iw, %k1, %batch top 5 : tensor<?x3x10xf32>, tensor<?x3xf32>, !index
        -> tensor<?x5xi32>
    // Those that are attended to.
    %wpv = llm.param @pv[%i] : !wp
    %wpg = llm.param @pg[%i] : !wp
    %v = llm.linear %x, %wpv : !rows, !wp -> tensor<?x48xf32>
    %g = llm.linear %x, %wpg : !rows, !wp -> tensor<?x48xf32>
    %bp = llm.param @bias[%i] : !bp
    %s0 = llm.state @conv[%i] : !waiting
    %e, %s1 = llm.pool_tokens %v, %g, %bp, %s0, %batch overlap : tensor<?x48xf32>, !bp, !waiting
        -> tensor<?x24xf32>
    %e0 = llm.state @kv_1[%i] : !entries
    %e1 = llm.entry_append %e, %e0, %batch rope(#turn) from 20 : tensor<?x24xf32>, !entries
    %wq = llm.param @q[%i] : !wq
    %q0 = llm.linear %x, %wq : !rows, !wq -> tensor<?x96xf32>
    %q = llm.split_heads %q0 : tensor<?x96xf32> -> tensor<?x4x24xf32>
    %k = llm.split_heads %e : tensor<?x24xf32> -> tensor<?x1x24xf32>
    %c0 = llm.state @kv[%i] : !near
    %c1 = llm.kv_append %k, %c0, %batch : tensor<?x1x24xf32>, !near
    %sinks = llm.param @sinks[%i] : !n
    %a = llm.joint_attention %q, %c1, %e1, %batch sinks %sinks : !n selection %j : tensor<?x5xi32>
        scale 0.25 window 8 : tensor<?x4x24xf32>, !near, !entries -> tensor<?x4x20xf32>
    %m = llm.merge_heads %a : tensor<?x4x20xf32> -> tensor<?x80xf32>
    %wo = llm.param @out[%i] : !w80
    %o = llm.linear %m, %wo : tensor<?x80xf32>, !w80 -> !rows
    %p0 = llm.slice %o from 0 size 16 : !rows -> tensor<?x16xf32>
    %p = llm.split_heads %p0 : tensor<?x16xf32> -> tensor<?x4x4xf32>
    %d = llm.sinkhorn %p steps 20 eps 1.0e-6 : tensor<?x4x4xf32>
    %dm = llm.merge_heads %d : tensor<?x4x4xf32> -> tensor<?x16xf32>
    %both = llm.concat %dm, %dm : tensor<?x16xf32>, tensor<?x16xf32> -> !rows
    %wr = llm.param @router[%i] : !we
    %l = llm.linear %both, %wr : !rows, !we -> tensor<?x6xf32>
    %te = llm.param @experts[%i] : !experts
    %choice, %weights = llm.route softmax %l table %te of %tokens top 2
        : (tensor<?x6xf32>, !experts, !ids) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %z = llm.expert_spread %x by %weights : (!rows, tensor<?x2xf32>) -> tensor<?x2x32xf32>
    %y = llm.expert_sum %z : (tensor<?x2x32xf32>) -> !rows
    return %y : !rows
  }
}
