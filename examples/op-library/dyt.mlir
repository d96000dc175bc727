// dyt(x, w, alpha:) = w * tanh(alpha * x): dynamic tanh, a norm without statistics (Zhu et al., 2025).
// Sizes and settings are examples: every call makes a function of its own sizes from this one.
func.func @dyt(%x: tensor<?x96xf32>, %w: !llm.weight<[96], #llm.dense<f32>>, %batch: !llm.batch)
    -> tensor<?x96xf32> attributes {llm.implements = "dyt", llm.settings = {alpha = 0.5}} {
  %0 = llm.scale %x by 0.5 {llm.bind = {factor = "alpha"}} : tensor<?x96xf32>
  %1 = llm.activation tanh %0 : tensor<?x96xf32>
  %2 = llm.weight_rows %w, %batch : !llm.weight<[96], #llm.dense<f32>> -> tensor<?x96xf32>
  %3 = llm.binary mul %1, %2 : tensor<?x96xf32>, tensor<?x96xf32> -> tensor<?x96xf32>
  return %3 : tensor<?x96xf32>
}
