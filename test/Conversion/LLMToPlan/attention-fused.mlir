// RUN: llmc-opt %s --llm-fuse --convert-llm-to-plan=block-tokens=16 -split-input-file | FileCheck %s

// Queries and gates are halves of the heads of one product. Neither half is copied: the prologue writes
// the queries' own rows, and the attention reads the gates where they lie.
!x = tensor<?x32xf32>
!both = tensor<?x2x32xf32>
!q = tensor<?x2x16xf32>
!k = tensor<?x1x16xf32>
!cache = !llm.cache<paged, [1, 16, 16], f32>
!n = !llm.weight<[16], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 100.0, width = 4, halves, magnitude = 1.0, [1.0, 0.1]>

// CHECK-LABEL: plan.program {{.*}} architecture = "gated"
// CHECK: plan.kernel @[[PROLOGUE:prologue_norm_rotary_append_[0-9a-f]+]] {{.*}} generator "attention-prologue" {{.*}} q = {inner = 32 : i64, stride = 64 : i64}
// CHECK: plan.kernel @[[ATTENTION:attention_2_1_16_tail_[0-9a-f]+]] {{.*}} generator "paged-attention"
// CHECK-SAME: tail = {
// CHECK-SAME: inner = 32 : i64, offset = 16 : i64
// CHECK: plan.launch @[[PROLOGUE]] {{.*}} remark "attention-prologue"
// CHECK-NEXT: plan.launch @[[ATTENTION]] [#plan.use<@[[TURNED:turned]], read>, #plan.use<@kv, read fixed = 0>, #plan.use<@[[OUT:attended]], write>, #plan.use<@product, read>] items <2, tokens> remark "attention-gate"
module attributes {llm.model = {architecture = "gated", layers = 1 : i64}} {
  llm.weight_family @embed "embed" : !llm.weight<[40, 32], #llm.dense<f32>>
  llm.weight_family @both "both" : !llm.weight<[64, 32], #llm.dense<f32>>
  llm.weight_family @k "k" : !llm.weight<[16, 32], #llm.dense<bf16>>
  llm.weight_family @qn "qn" : !n
  llm.state_family @kv layers [0, 1] : !cache
  func.func @gated(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !x attributes {llm.entry} {
    %zero = arith.constant 0 : index
    %table = llm.param @embed : !llm.weight<[40, 32], #llm.dense<f32>>
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[40, 32], #llm.dense<f32>> -> !x
    %wb = llm.param @both : !llm.weight<[64, 32], #llm.dense<f32>>
    %wk = llm.param @k : !llm.weight<[16, 32], #llm.dense<bf16>>
    %qs = llm.param @qn : !n
    %b = llm.linear %x, %wb : !x, !llm.weight<[64, 32], #llm.dense<f32>> -> tensor<?x64xf32>
    %kf = llm.linear %x, %wk : !x, !llm.weight<[16, 32], #llm.dense<bf16>> -> tensor<?x16xf32>
    %bh = llm.split_heads %b : tensor<?x64xf32> -> !both
    %k = llm.split_heads %kf : tensor<?x16xf32> -> !k
    %q = llm.slice %bh from 0 size 16 : !both -> !q
    %half = llm.slice %bh from 16 size 16 : !both -> !q
    %g = llm.merge_heads %half : !q -> !x
    %qn = llm.rms_norm %q, %qs eps 1.0e-6 : !q, !n
    %qr = llm.rotary %qn, %batch rope(#rope) : !q
    %kr = llm.rotary %k, %batch rope(#rope) : !k
    %s = llm.state @kv[%zero] : !cache
    %next = llm.kv_append %kr, %k, %s, %batch : !k, !k, !cache
    %a = llm.paged_attention %qr, %next, %batch scale 0.25 : !q, !cache -> !q
    %m = llm.merge_heads %a : !q -> !x
    %y = llm.gate sigmoid %g, %m : !x
    return %y : !x
  }
}

// -----

// Latent attention: one launch makes q of two products and k of two parts of a third, and appends it.
!x = tensor<?x32xf32>
!n = !llm.weight<[16], #llm.dense<f32>>
!cache = !llm.cache<latent, [1, 24, 16], f32>
#rope = #llm.rope<"default", base = 100.0, width = 8, interleaved, magnitude = 1.0, [1.0, 0.5, 0.25, 0.125]>
// CHECK-LABEL: plan.program {{.*}} architecture = "latent"
// CHECK: plan.kernel @[[PROLOGUE:prologue_norm_rotary_append_[0-9a-f]+]] {{.*}} generator "attention-prologue"
// CHECK-SAME: k_rest = {
// CHECK-SAME: q_rest = {
// CHECK-SAME: rest = 8
// CHECK-SAME: first = 16
// CHECK: plan.launch @linear_f16_n24_k32_r2
// CHECK-NEXT: plan.launch @[[PROLOGUE]] {{.*}} remark "attention-prologue"
// CHECK-NEXT: plan.launch @{{.*}} remark "paged attention"
module attributes {llm.model = {architecture = "latent", layers = 1 : i64}} {
  llm.weight_family @embed "embed" : !llm.weight<[40, 32], #llm.dense<f32>>
  llm.weight_family @q "q" : !llm.weight<[32, 32], #llm.dense<f32>>
  llm.weight_family @r "r" : !llm.weight<[24, 32], #llm.dense<bf16>>
  llm.weight_family @kv_a "kv_a" : !llm.weight<[24, 32], #llm.dense<f16>>
  llm.weight_family @n "n" : !n
  llm.state_family @kv layers [0, 1] : !cache
  func.func @latent(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x2x16xf32> attributes {llm.entry} {
    %zero = arith.constant 0 : index
    %table = llm.param @embed : !llm.weight<[40, 32], #llm.dense<f32>>
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[40, 32], #llm.dense<f32>> -> !x
    %wq = llm.param @q : !llm.weight<[32, 32], #llm.dense<f32>>
    %wr = llm.param @r : !llm.weight<[24, 32], #llm.dense<bf16>>
    %wk = llm.param @kv_a : !llm.weight<[24, 32], #llm.dense<f16>>
    %ns = llm.param @n : !n
    %qf = llm.linear %x, %wq : !x, !llm.weight<[32, 32], #llm.dense<f32>> -> tensor<?x32xf32>
    %rf = llm.linear %x, %wr : !x, !llm.weight<[24, 32], #llm.dense<bf16>> -> tensor<?x24xf32>
    %kf = llm.linear %x, %wk : !x, !llm.weight<[24, 32], #llm.dense<f16>> -> tensor<?x24xf32>
    %q1 = llm.split_heads %qf : tensor<?x32xf32> -> tensor<?x2x16xf32>
    %wide = llm.split_heads %rf : tensor<?x24xf32> -> tensor<?x2x12xf32>
    %q2 = llm.slice %wide from 4 size 8 : tensor<?x2x12xf32> -> tensor<?x2x8xf32>
    %qr = llm.rotary %q2, %batch rope(#rope) : tensor<?x2x8xf32>
    %q = llm.concat %q1, %qr : tensor<?x2x16xf32>, tensor<?x2x8xf32> -> tensor<?x2x24xf32>
    %own = llm.slice %kf from 0 size 16 : tensor<?x24xf32> -> tensor<?x16xf32>
    %normed = llm.rms_norm %own, %ns eps 1.0e-6 : tensor<?x16xf32>, !n
    %k1 = llm.split_heads %normed : tensor<?x16xf32> -> tensor<?x1x16xf32>
    %rest = llm.slice %kf from 16 size 8 : tensor<?x24xf32> -> tensor<?x8xf32>
    %k2 = llm.split_heads %rest : tensor<?x8xf32> -> tensor<?x1x8xf32>
    %kr = llm.rotary %k2, %batch rope(#rope) : tensor<?x1x8xf32>
    %k = llm.concat %k1, %kr : tensor<?x1x16xf32>, tensor<?x1x8xf32> -> tensor<?x1x24xf32>
    %s = llm.state @kv[%zero] : !cache
    %next = llm.kv_append %k, %s, %batch : tensor<?x1x24xf32>, !cache
    %a = llm.paged_attention %q, %next, %batch scale 0.25 : tensor<?x2x24xf32>, !cache -> tensor<?x2x16xf32>
    return %a : tensor<?x2x16xf32>
  }
}
