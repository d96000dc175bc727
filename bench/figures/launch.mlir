// What launches cost: eight short ones, or one (utils/fusion_figures.py).
!x = tensor<?x64xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "rows",
    bench.steps = [array<i64: 1, 0>]} {
  func.func @bench(%x: !x, %batch: !llm.batch) -> !x attributes {llm.entry} {
    %0 = llm.offset %x by 0.25 : !x
    %1 = llm.clamp %0 min -4.0 max 4.0 : !x
    %2 = llm.offset %1 by 0.25 : !x
    %3 = llm.clamp %2 min -4.0 max 4.0 : !x
    %4 = llm.offset %3 by 0.25 : !x
    %5 = llm.clamp %4 min -4.0 max 4.0 : !x
    %6 = llm.offset %5 by 0.25 : !x
    %7 = llm.clamp %6 min -4.0 max 4.0 : !x
    return %7 : !x
  }
}
