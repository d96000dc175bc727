// A gate with bounds, (clamp(u) + 1) * (g * sigmoid(alpha * g)), behind products that have bounds of their own.
!x = tensor<?x2880xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "rows",
    bench.steps = [array<i64: 1, 0>, array<i64: 8, 0>, array<i64: 64, 0>]} {
  func.func @bench(%g: !x, %u: !x, %batch: !llm.batch) -> !x attributes {llm.entry} {
    %below = llm.clamp %g max 7.0 : !x
    %scaled = llm.scale %below by 1.702 : !x
    %s = llm.activation sigmoid %scaled : !x
    %gated = llm.binary mul %below, %s : !x, !x -> !x
    %within = llm.clamp %u min -7.0 max 7.0 : !x
    %more = llm.offset %within by 1.0 : !x
    %y = llm.binary mul %more, %gated : !x, !x -> !x
    return %y : !x
  }
}
