// The work of one launch: with long.mlir, what an operation costs.
!x = tensor<?x1024xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "rows",
    bench.steps = [array<i64: 64, 0>]} {
  func.func @bench(%x: !x, %y: !x, %batch: !llm.batch) -> !x attributes {llm.entry} {
    %0 = llm.offset %x by 0.25 : !x
    %1 = llm.binary mul %0, %y : !x, !x -> !x
    %2 = llm.clamp %1 min -4.0 max 4.0 : !x
    %3 = llm.residual_add %2, %y : !x
    %4 = llm.offset %3 by 0.25 : !x
    %5 = llm.binary mul %4, %y : !x, !x -> !x
    %6 = llm.clamp %5 min -4.0 max 4.0 : !x
    %7 = llm.residual_add %6, %y : !x
    return %7 : !x
  }
}
