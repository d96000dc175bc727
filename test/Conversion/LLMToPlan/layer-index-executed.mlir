// Whose weights a number in place of the layer's index is: the plan is run against the evaluator.
// RUN: llmc-opt %s --target=cpu --from=optimize --check-passes
// RUN: llmc-opt %s --target=cpu --from=optimize --check-passes --fusion=off
// RUN: sed -e 's/constant 1 : index/constant 9 : index/' %s > %t.mlir
// RUN: not llmc-opt %t.mlir --target=cpu --from=optimize --emit=plan 2>&1 | FileCheck %s
// CHECK: asks for layer 9 but family @{{[a-z_]+}} has no such member

#rope = #llm.rope<"default", base = 10000.0, width = 8, halves, magnitude = 1.0, [1.0, 0.1, 0.01, 0.001]>
!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>
!kv = !llm.cache<paged, [2, 8, 8], f32>
module attributes {llm.model = {architecture = "A", context_length = 64 : i64, hidden_size = 16 : i64, layers = 3 : i64, vocab_size = 40 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @final_norm "norm" : !v
  llm.weight_family @attention_norm "layers.{i}.norm" layers [1, 2] : !v
  llm.weight_family @q "layers.{i}.q" layers [1, 2] : !w
  llm.weight_family @k "layers.{i}.k" layers [0, 3] : !w
  llm.weight_family @v "v" : !w
  llm.weight_family @o "layers.{i}.o" layers [0, 3] : !w
  llm.state_family @kv layers [0, 3] : !kv
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32> attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 3 (%x) with (%batch) : (!rows) with (!llm.batch)
    %c2 = arith.constant 2 : index
    %o = llm.param @o[%c2] : !w
    %p = llm.linear %y, %o : !rows, !w -> !rows
    %norm = llm.param @final_norm : !v
    %n = llm.rms_norm %p, %norm eps 0.001 : !rows, !v
    %s = llm.select_rows %n, %batch : !rows
    %z = llm.output_head %s, %table : !rows, !table -> tensor<?x40xf32>
    llm.observe %z "logits" : tensor<?x40xf32>
    return %z : tensor<?x40xf32>
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %c1 = arith.constant 1 : index
    %norm = llm.param @attention_norm[%c1] : !v
    %n = llm.rms_norm %x, %norm eps 0.001 : !rows, !v
    %wq = llm.param @q[%c1] : !w
    %wk = llm.param @k[%i] : !w
    %wv = llm.param @v : !w
    %q = llm.linear %n, %wq : !rows, !w -> !rows
    %k = llm.linear %n, %wk : !rows, !w -> !rows
    %v = llm.linear %n, %wv : !rows, !w -> !rows
    %qh = llm.split_heads %q : !rows -> !heads
    %kh = llm.split_heads %k : !rows -> !heads
    %vh = llm.split_heads %v : !rows -> !heads
    %qr = llm.rotary %qh, %batch rope(#rope) : !heads
    %kr = llm.rotary %kh, %batch rope(#rope) : !heads
    %state = llm.state @kv[%i] : !kv
    %after = llm.kv_append %kr, %vh, %state, %batch : !heads, !heads, !kv
    %a = llm.paged_attention %qr, %after, %batch scale 0.35 : !heads, !kv -> !heads
    %m = llm.merge_heads %a : !heads -> !rows
    %wo = llm.param @o[%i] : !w
    %o = llm.linear %m, %wo : !rows, !w -> !rows
    %y = llm.residual_add %x, %o : !rows
    llm.observe %y "hidden.{i+1}"[%i] : !rows
    return %y : !rows
  }
}
