// Head norms, rotary of q and k, append: 32 heads of 128 beside 8 of k and v.
!q = tensor<?x32x128xf32>
!k = tensor<?x8x128xf32>
!kv = !llm.cache<paged, [8, 128, 128], f32>
!n = !llm.weight<[128], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 10000.0, width = 8, halves, magnitude = 1.0, [1.0, 0.1, 0.01, 0.001]>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "attention-prologue",
    bench.steps = [array<i64: 1, 0>, array<i64: 8, 0>, array<i64: 256, 0>]} {
  llm.weight_family @qn "qn" : !n
  llm.weight_family @kn "kn" : !n
  llm.state_family @kv layers [0, 1] : !kv
  func.func @bench(%q: !q, %k: !k, %v: !k, %batch: !llm.batch) -> (!q, !q, !k, !k) attributes {llm.entry} {
    %zero = arith.constant 0 : index
    %qs = llm.param @qn : !n
    %ks = llm.param @kn : !n
    %c = llm.state @kv[%zero] : !kv
    %qn = llm.rms_norm %q, %qs eps 1.0e-6 : !q, !n
    %kn = llm.rms_norm %k, %ks eps 1.0e-6 : !k, !n
    %qr = llm.rotary %qn, %batch rope(#rope) : !q
    %kr = llm.rotary %kn, %batch rope(#rope) : !k
    %next = llm.kv_append %kr, %v, %c, %batch : !k, !k, !kv
    %a = llm.paged_attention %qr, %next, %batch scale 0.08 : !q, !kv -> !q
    return %a, %q, %k, %v : !q, !q, !k, !k
  }
}
