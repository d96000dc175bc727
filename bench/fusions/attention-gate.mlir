// An attention whose heads are gated by the second half of what q is the first half of.
!both = tensor<?x16x256xf32>
!q = tensor<?x16x128xf32>
!rows = tensor<?x2048xf32>
!kv = !llm.cache<paged, [2, 128, 128], f32>
!k = tensor<?x2x128xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "attention-gate",
    bench.steps = [array<i64: 1, 15>, array<i64: 8, 15, 8>, array<i64: 32, 0>]} {
  llm.state_family @kv layers [0, 1] : !kv
  func.func @bench(%both: !both, %q: !q, %k: !k, %batch: !llm.batch) -> (!rows, !both, !q, !k) attributes {llm.entry} {
    %zero = arith.constant 0 : index
    %c = llm.state @kv[%zero] : !kv
    %next = llm.kv_append %k, %k, %c, %batch : !k, !k, !kv
    %half = llm.slice %both from 128 size 128 : !both -> !q
    %g = llm.merge_heads %half : !q -> !rows
    %a = llm.paged_attention %q, %next, %batch scale 0.08 : !q, !kv -> !q
    %m = llm.merge_heads %a : !q -> !rows
    %y = llm.gate sigmoid %g, %m : !rows
    return %y, %both, %q, %k : !rows, !both, !q, !k
  }
}
