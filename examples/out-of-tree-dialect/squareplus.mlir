// squareplus(x, b:): what descriptions call, as the op of the plug-in.
func.func @squareplus(%x: tensor<?x96xf32>) -> tensor<?x96xf32>
    attributes {llm.implements = "squareplus", llm.settings = {b = 4.0}} {
  %0 = "quill.squareplus"(%x) {b = 4.0 : f64, llm.bind = {b = "b"}}
      : (tensor<?x96xf32>) -> tensor<?x96xf32>
  return %0 : tensor<?x96xf32>
}
