// RUN: llmc-opt %s --convert-llm-to-plan=block-tokens=16 | FileCheck %s

// Latent attention to selected positions: keys alone are kept, those of the indexer in a state of
// their own, and weights of heads are packed one after another.

!rows = tensor<?x32xf32>
!latent = !llm.cache<latent, [1, 24, 20], f32>
!index = !llm.cache<latent, [1, 16, 0], f32>
!table = !llm.weight<[40, 32], #llm.dense<f32>>
!wq = !llm.weight<[96, 32], #llm.dense<f32>>
!wk = !llm.weight<[24, 32], #llm.dense<f32>>
!wi = !llm.weight<[48, 32], #llm.dense<f32>>
!wj = !llm.weight<[16, 32], #llm.dense<f32>>
!ww = !llm.weight<[3, 32], #llm.dense<f32>>
!up = !llm.weight<[4, 8, 20], #llm.dense<f32>>
!n = !llm.weight<[4], #llm.dense<f32>>

// CHECK: plan.state @[[KV:kv[_0-9]*]] in @state layers <0 to 2> kind paged heads 1 key_width 16 value_width 0 element f32 bytes_per_block 1024
// CHECK: plan.kernel @[[SELECT:select_3_16_11_[0-9a-f]+]] {{.*}} generator "select-positions"
// CHECK: plan.state @[[INDEX:kv[_0-9]*]] in @state layers <0 to 2> kind paged heads 1 key_width 24 value_width 0 element f32 bytes_per_block 1536
// CHECK: plan.kernel @[[ATTENTION:attention_4_1_24_s11_[0-9a-f]+]] {{.*}} generator "paged-attention" {{.*}}latent_values = 20{{.*}}selected = 11{{.*}}sinks
// CHECK: plan.weights @up in @weights layers <0 to 2> rows 8 cols 20 {{.*}}matrices 4
// CHECK: plan.kernel @[[HEADS:head_[a-z0-9_]+]] {{.*}} generator "head-linear"
// CHECK: plan.launch @[[SELECT]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@{{[^,]*}}, read>, #plan.use<@[[KV]], read, layer = 0>, #plan.use<@[[POSITIONS:positions]], write>] items <1, tokens>
// CHECK: plan.launch @[[ATTENTION]] [#plan.use<@{{[^,]*}}, read>, #plan.use<@[[INDEX]], read, layer = 0>, #plan.use<@[[OUT:attended]], write>, #plan.use<@sinks, read, layer = 0>, #plan.use<@[[POSITIONS]], read>]
// CHECK-NEXT: plan.launch @[[HEADS]] [#plan.use<@[[OUT]], read>, #plan.use<@up, read, layer = 0>, #plan.use<@heads, write>]
module attributes {llm.model = {architecture = "latent", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @q "q.{i}" layers [0, 2] : !wq
  llm.weight_family @k "k.{i}" layers [0, 2] : !wk
  llm.weight_family @iq "iq.{i}" layers [0, 2] : !wi
  llm.weight_family @ik "ik.{i}" layers [0, 2] : !wj
  llm.weight_family @iw "iw.{i}" layers [0, 2] : !ww
  llm.weight_family @up "up.{i}" layers [0, 2] : !up
  llm.weight_family @sinks "sinks.{i}" layers [0, 2] : !n
  llm.state_family @kv layers [0, 2] : !index
  llm.state_family @kv_1 layers [0, 2] : !latent
  func.func @latent(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %wiq = llm.param @iq[%i] : !wi
    %wik = llm.param @ik[%i] : !wj
    %wiw = llm.param @iw[%i] : !ww
    %iq0 = llm.linear %x, %wiq : !rows, !wi -> tensor<?x48xf32>
    %ik0 = llm.linear %x, %wik : !rows, !wj -> tensor<?x16xf32>
    %iw = llm.linear %x, %wiw : !rows, !ww -> tensor<?x3xf32>
    %iq = llm.split_heads %iq0 : tensor<?x48xf32> -> tensor<?x3x16xf32>
    %ik = llm.split_heads %ik0 : tensor<?x16xf32> -> tensor<?x1x16xf32>
    %s0 = llm.state @kv[%i] : !index
    %s1 = llm.kv_append %ik, %s0, %batch : tensor<?x1x16xf32>, !index
    %j = llm.select_positions %iq, %iw, %s1, %batch top 11 : tensor<?x3x16xf32>, tensor<?x3xf32>,
        !index -> tensor<?x11xi32>
    %wq = llm.param @q[%i] : !wq
    %wk = llm.param @k[%i] : !wk
    %q0 = llm.linear %x, %wq : !rows, !wq -> tensor<?x96xf32>
    %k0 = llm.linear %x, %wk : !rows, !wk -> tensor<?x24xf32>
    %q = llm.split_heads %q0 : tensor<?x96xf32> -> tensor<?x4x24xf32>
    %k = llm.split_heads %k0 : tensor<?x24xf32> -> tensor<?x1x24xf32>
    %c0 = llm.state @kv_1[%i] : !latent
    %c1 = llm.kv_append %k, %c0, %batch : tensor<?x1x24xf32>, !latent
    %sinks = llm.param @sinks[%i] : !n
    %a = llm.paged_attention %q, %c1, %batch sinks %sinks : !n selection %j : tensor<?x11xi32>
        scale 0.25 : tensor<?x4x24xf32>, !latent -> tensor<?x4x20xf32>
    %up = llm.param @up[%i] : !up
    %h = llm.head_linear %a, %up : tensor<?x4x20xf32>, !up -> tensor<?x4x8xf32>
    %m = llm.merge_heads %h : tensor<?x4x8xf32> -> !rows
    %y = llm.residual_add %x, %m : !rows
    return %y : !rows
  }
}
