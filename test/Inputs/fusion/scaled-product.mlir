func.func @product(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  %p = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %s = llm.scale %p by 0.5 : tensor<?x64xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
