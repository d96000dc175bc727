// 32 experts of which 4 are chosen.
!x = tensor<?x1024xf32>
!w = !llm.weight<[32, 1024], #llm.dense<bf16>>
!logits = tensor<?x32xf32>
!weights = tensor<?x4xf32>
!y = tensor<?x4x1024xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "router",
    bench.steps = [array<i64: 1, 0>, array<i64: 8, 0>, array<i64: 64, 0>, array<i64: 512, 0>]} {
  llm.weight_family @w "w" : !w
  func.func @bench(%x: !x, %batch: !llm.batch) -> (!weights, !x) attributes {llm.entry} {
    %w = llm.param @w : !w
    %l = llm.linear %x, %w : !x, !w -> !logits
    %choice, %weights = llm.route softmax %l top 4 normalise sum : (!logits) -> (tensor<?x4xi32>, !weights)
    return %weights, %x : !weights, !x
  }
}
