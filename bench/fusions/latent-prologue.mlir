// Latent attention: keys of a normed part and a part that turns, queries of two products, 16 heads.
!kv = !llm.cache<latent, [1, 576, 512], f32>
!n = !llm.weight<[512], #llm.dense<f32>>
#rope = #llm.rope<"default", base = 10000.0, width = 64, interleaved, magnitude = 1.0,
    [1.0, 0.749894, 0.562341, 0.421697, 0.316228, 0.237137, 0.177828, 0.133352, 0.1, 0.0749894, 0.0562341, 0.0421697, 0.0316228, 0.0237137, 0.0177828, 0.0133352, 0.01, 0.00749894, 0.00562341, 0.00421697, 0.00316228, 0.00237137, 0.00177828, 0.00133352, 0.001, 0.000749894, 0.000562341, 0.000421697, 0.000316228, 0.000237137, 0.000177828, 0.000133352]>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "attention-prologue",
    bench.steps = [array<i64: 1, 15>, array<i64: 8, 15, 8>, array<i64: 64, 0>]} {
  llm.weight_family @n "n" : !n
  llm.state_family @kv layers [0, 1] : !kv
  func.func @bench(%q: tensor<?x16x512xf32>, %wide: tensor<?x16x192xf32>, %x: tensor<?x576xf32>, %batch: !llm.batch)
      -> tensor<?x16x512xf32> attributes {llm.entry} {
    %zero = arith.constant 0 : index
    %s = llm.param @n : !n
    %c = llm.state @kv[%zero] : !kv
    %own = llm.slice %x from 0 size 512 : tensor<?x576xf32> -> tensor<?x512xf32>
    %normed = llm.rms_norm %own, %s eps 1.0e-6 : tensor<?x512xf32>, !n
    %k1 = llm.split_heads %normed : tensor<?x512xf32> -> tensor<?x1x512xf32>
    %rest = llm.slice %x from 512 size 64 : tensor<?x576xf32> -> tensor<?x64xf32>
    %k2 = llm.split_heads %rest : tensor<?x64xf32> -> tensor<?x1x64xf32>
    %kr = llm.rotary %k2, %batch rope(#rope) : tensor<?x1x64xf32>
    %k = llm.concat %k1, %kr : tensor<?x1x512xf32>, tensor<?x1x64xf32> -> tensor<?x1x576xf32>
    %q2 = llm.slice %wide from 128 size 64 : tensor<?x16x192xf32> -> tensor<?x16x64xf32>
    %qr = llm.rotary %q2, %batch rope(#rope) : tensor<?x16x64xf32>
    %qc = llm.concat %q, %qr : tensor<?x16x512xf32>, tensor<?x16x64xf32> -> tensor<?x16x576xf32>
    %next = llm.kv_append %k, %c, %batch : tensor<?x1x576xf32>, !kv
    %a = llm.paged_attention %qc, %next, %batch scale 0.07 : tensor<?x16x576xf32>, !kv -> tensor<?x16x512xf32>
    return %a : tensor<?x16x512xf32>
  }
}
