// The norm behind a block, its scaled delta, the sum, and the norm of the next block.
!x = tensor<?x1024xf32>
!n = !llm.weight<[1024], #llm.dense<f32>>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "residual-norm",
    bench.steps = [array<i64: 1, 0>, array<i64: 8, 0>, array<i64: 64, 0>]} {
  llm.weight_family @post "post" : !n
  llm.weight_family @next "next" : !n
  func.func @bench(%x: !x, %d: !x, %batch: !llm.batch) -> (!x, !x, !x, !x) attributes {llm.entry} {
    %post = llm.param @post : !n
    %next = llm.param @next : !n
    %a = llm.rms_norm %d, %post eps 1.0e-6 : !x, !n
    %b = llm.scale %a by 0.25 : !x
    %sum = llm.residual_add %x, %b : !x
    %y = llm.rms_norm %sum, %next eps 1.0e-6 : !x, !n
    return %y, %sum, %x, %d : !x, !x, !x, !x
  }
}
