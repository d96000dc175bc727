// As short.mlir, with 16 operations more.
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
    %8 = llm.offset %7 by 0.25 : !x
    %9 = llm.binary mul %8, %y : !x, !x -> !x
    %10 = llm.clamp %9 min -4.0 max 4.0 : !x
    %11 = llm.residual_add %10, %y : !x
    %12 = llm.offset %11 by 0.25 : !x
    %13 = llm.binary mul %12, %y : !x, !x -> !x
    %14 = llm.clamp %13 min -4.0 max 4.0 : !x
    %15 = llm.residual_add %14, %y : !x
    %16 = llm.offset %15 by 0.25 : !x
    %17 = llm.binary mul %16, %y : !x, !x -> !x
    %18 = llm.clamp %17 min -4.0 max 4.0 : !x
    %19 = llm.residual_add %18, %y : !x
    %20 = llm.offset %19 by 0.25 : !x
    %21 = llm.binary mul %20, %y : !x, !x -> !x
    %22 = llm.clamp %21 min -4.0 max 4.0 : !x
    %23 = llm.residual_add %22, %y : !x
    return %23 : !x
  }
}
