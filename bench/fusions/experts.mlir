// Gate, up and the activation between them, of 4 of 32 experts for each token.
!x = tensor<?x1024xf32>
!l = tensor<?x32xf32>
!choice = tensor<?x4xi32>
!weights = tensor<?x4xf32>
!w = !llm.weight<[32, 512, 1024], #llm.dense<bf16>>
!y = tensor<?x4x512xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "gated-linear",
    bench.steps = [array<i64: 1, 0>, array<i64: 8, 0>, array<i64: 64, 0>]} {
  llm.weight_family @gate "gate" : !w
  llm.weight_family @up "up" : !w
  func.func @bench(%x: !x, %l: !l, %batch: !llm.batch) -> (!y, !x, !l) attributes {llm.entry} {
    %gate = llm.param @gate : !w
    %up = llm.param @up : !w
    %choice, %weights = llm.route softmax %l top 4 normalise sum : (!l) -> (!choice, !weights)
    %g = llm.expert_linear %x, %choice, %gate : (!x, !choice, !w) -> !y
    %u = llm.expert_linear %x, %choice, %up : (!x, !choice, !w) -> !y
    %y = llm.gate silu %g, %u : !y
    return %y, %x, %l : !y, !x, !l
  }
}
