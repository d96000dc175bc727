// Head norms, rotary of q and k, append: 32 heads of 128 beside 8 of k and v.
!q = tensor<?x32x128xf32>
!k = tensor<?x8x128xf32>
!kv = !llm.cache<paged, [8, 128, 128], f32>
!n = !llm.weight<[128], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 10000.0, width = 128, halves, magnitude = 1.0,
    [1.0, 0.865964, 0.749894, 0.649382, 0.562341, 0.486968, 0.421697, 0.365174, 0.316228, 0.273842, 0.237137, 0.205353, 0.177828, 0.153993, 0.133352, 0.115478, 0.1, 0.0865964, 0.0749894, 0.0649382, 0.0562341, 0.0486968, 0.0421697, 0.0365174, 0.0316228, 0.0273842, 0.0237137, 0.0205353, 0.0177828, 0.0153993, 0.0133352, 0.0115478, 0.01, 0.00865964, 0.00749894, 0.00649382, 0.00562341, 0.00486968, 0.00421697, 0.00365174, 0.00316228, 0.00273842, 0.00237137, 0.00205353, 0.00177828, 0.00153993, 0.00133352, 0.00115478, 0.001, 0.000865964, 0.000749894, 0.000649382, 0.000562341, 0.000486968, 0.000421697, 0.000365174, 0.000316228, 0.000273842, 0.000237137, 0.000205353, 0.000177828, 0.000153993, 0.000133352, 0.000115478]>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "attention-prologue",
    bench.steps = [array<i64: 1, 15>, array<i64: 8, 15, 8>, array<i64: 64, 0>]} {
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
