// A factor, the activation behind it, and a norm behind that.
func.func @rows(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = llm.scale %x by 0.5 : tensor<?x64xf32>
  %a = llm.activation gelu_tanh %s : tensor<?x64xf32>
  %y = llm.rms_norm %a eps 1.0e-5 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
