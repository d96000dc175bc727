// RUN: llmc-opt %s --llm-fuse --convert-llm-to-plan -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse --convert-llm-to-plan --plan-assign-liveness --plan-pack-arenas --plan-derive-contracts -split-input-file | FileCheck %s --check-prefix=CONTRACT

// A router, the products of its experts and their sum: the choice is a slice of whole numbers, a
// weight has one packed matrix for each expert, gate and up alternate within it.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!router = !llm.weight<[8, 16], #llm.dense<f32>>
!e = !llm.weight<[8], #llm.dense<f32>>
!up = !llm.weight<[8, 24, 16], #llm.dense<bf16>>
!down = !llm.weight<[8, 16, 24], #llm.dense<f32>>
!bias = !llm.weight<[8, 16], #llm.dense<f32>>
!chosen = tensor<?x2x24xf32>

// CHECK-LABEL: plan.program {{.*}} architecture = "moe"
// CHECK: plan.weights @correction in @weights rows 8 cols 1 storage f32 layout #plan.rows bytes 64
// CHECK: plan.slice @[[CHOICE:choice]] in @activations size(tokens * 8)
// CHECK: plan.slice @[[WEIGHTS:weights.*]] in @activations size(tokens * 8)
// CHECK: plan.weights @[[GU:gate_up]] in @weights rows 64 cols 16 matrices 8 storage bf16 layout #plan.panels<tile = 2> interleave 16 bytes 16384
// CHECK-SAME: sources [#plan.source<"experts.{e}.gate", rows = 24, name = "experts.{e}.gate">, #plan.source<"experts.{e}.up", rows = 24, name = "experts.{e}.up">]
// CHECK: plan.slice @[[GATED:gated]] in @activations size(tokens * 192)
// CHECK: plan.weights @[[DOWN:down]] in @weights rows 16 cols 24 matrices 8 storage f32 layout #plan.panels<tile = 1> bytes 12288
// CHECK-SAME: sources [#plan.source<"experts.down", rows = 16, view <stored = [8, 24, 16], first = 0, strides = [384, 1, 16]>, name = "experts.down">]
// CHECK: plan.weights @bias in @weights rows 16 cols 1 matrices 8 storage f32 layout #plan.rows bytes 512
// CHECK-SAME: sources [#plan.source<"experts.bias", rows = 16, name = "experts.bias">]
// CHECK: plan.slice @[[PRODUCT:product.*]] in @activations size(tokens * 128)
// CHECK: plan.entry @moe
// CHECK: plan.launch @router_linear_f32_n8_k16_r1_route_sigmoid_e8_c2_bias_g4k2t_sum_s1075838976 [#plan.use<@stream, read>, #plan.use<@router, read>, #plan.use<@correction, read>, #plan.use<@[[CHOICE]], write>, #plan.use<@[[WEIGHTS]], write>] items <1, tokens tile 4> remark "router"
// CHECK-NEXT: plan.launch @expert_linear_bf16_n64_k16_r2_silu_gated_w24_e8_c2 [#plan.use<@stream, read>, #plan.use<@[[CHOICE]], read>, #plan.use<@[[GU]], read>, #plan.use<@[[GATED]], write>] items <16, one> remark "gated-linear"
// CHECK-NEXT: plan.launch @expert_linear_f32_n16_k24_r1_bias_e8_c2_own [#plan.use<@[[GATED]], read>, #plan.use<@[[CHOICE]], read>, #plan.use<@[[DOWN]], read>, #plan.use<@bias, read>, #plan.use<@[[PRODUCT]], write>] items <8, one> remark "llm.expert_linear"
// CHECK-NEXT: plan.launch @expert_sum_c2_w16_residual_inplace [#plan.use<@[[PRODUCT]], read>, #plan.use<@[[WEIGHTS]], read>, #plan.use<@stream, readwrite>] items <1, tokens> remark "linear-residual"

// CONTRACT: plan.kernel @expert_linear_bf16
// CONTRACT-SAME: contracts [#plan.contract<<16, one>, <slice, read, tokens * 64>, <slice, read, tokens * 8>, <weights, read, 16384>, <slice, write, tokens * 192>>]
module attributes {llm.model = {architecture = "moe"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @router "router" : !router
  llm.weight_family @correction "correction" : !e
  llm.weight_family @gate "experts.{e}.gate" : !up
  llm.weight_family @up "experts.{e}.up" : !up
  llm.weight_family @down "experts.down" view <stored = [8, 24, 16], first = 0, strides = [384, 1, 16]> : !down
  llm.weight_family @bias "experts.bias" : !bias
  func.func @moe(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %r = llm.param @router : !router
    %l = llm.linear %x, %r : !rows, !router -> tensor<?x8xf32>
    %b = llm.param @correction : !e
    %c, %w = llm.route sigmoid %l bias %b groups 4 keep 2 by top2 top 2 normalise sum scale 2.5
        : (tensor<?x8xf32>, !e) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    %wg = llm.param @gate : !up
    %wu = llm.param @up : !up
    %g = llm.expert_linear %x, %c, %wg : (!rows, tensor<?x2xi32>, !up) -> !chosen
    %u = llm.expert_linear %x, %c, %wu : (!rows, tensor<?x2xi32>, !up) -> !chosen
    %h = llm.gate silu %g, %u : !chosen
    %wd = llm.param @down : !down
    %bd = llm.param @bias : !bias
    %d = llm.expert_linear %h, %c, %wd bias %bd
        : (!chosen, tensor<?x2xi32>, !down, !bias) -> tensor<?x2x16xf32>
    %s = llm.expert_sum %d by %w : (tensor<?x2x16xf32>, tensor<?x2xf32>) -> !rows
    %y = llm.residual_add %x, %s : !rows
    return %y : !rows
  }
}

// -----

// Rows for each expert beforehand, and their plain sum; a vector of experts whose rows alternate
// in one stored tensor.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!router = !llm.weight<[4, 16], #llm.dense<f32>>
!w = !llm.weight<[4, 8, 16], #llm.dense<f32>>
!b = !llm.weight<[4, 8], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "spread"
// CHECK: plan.weights @w in @weights rows 8 cols 16 matrices 4
// CHECK-SAME: sources [#plan.source<"w", rows = 8, view <stored = [4, 16, 16], first = 16, strides = [256, 32, 1]>, name = "w">]
// CHECK: plan.weights @b in @weights rows 8 cols 1 matrices 4
// CHECK-SAME: sources [#plan.source<"b", rows = 8, view <stored = [4, 16], first = 1, strides = [16, 2, 1]>, name = "b">]
// CHECK: plan.launch @router_linear_f32_n4_k16_r1_route_identity_e4_c1 {{.*}} remark "router"
// CHECK-NEXT: plan.launch @expert_spread_c1_w16 {{.*}} items <1, tokens> remark "llm.expert_spread"
// CHECK-NEXT: plan.launch @expert_linear_f32_n8_k16_r1_bias_relu_e4_c1_own {{.*}} items <4, one> remark "linear-activation"
// CHECK-NEXT: plan.launch @expert_sum_c1_w8_plain {{.*}} remark "llm.expert_sum"
module attributes {llm.model = {architecture = "spread"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @router "router" : !router
  llm.weight_family @w "w" view <stored = [4, 16, 16], first = 16, strides = [256, 32, 1]> : !w
  llm.weight_family @b "b" view <stored = [4, 16], first = 1, strides = [16, 2]> : !b
  func.func @spread(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x8xf32> attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %r = llm.param @router : !router
    %l = llm.linear %x, %r : !rows, !router -> tensor<?x4xf32>
    %c, %v = llm.route identity %l top 1 : (tensor<?x4xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
    %s = llm.expert_spread %x by %v : (!rows, tensor<?x1xf32>) -> tensor<?x1x16xf32>
    %w = llm.param @w : !w
    %b = llm.param @b : !b
    %p = llm.expert_linear %s, %c, %w bias %b : (tensor<?x1x16xf32>, tensor<?x1xi32>, !w, !b) -> tensor<?x1x8xf32>
    %a = llm.activation relu %p : tensor<?x1x8xf32>
    %y = llm.expert_sum %a : (tensor<?x1x8xf32>) -> tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}
