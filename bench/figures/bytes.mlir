// What bytes cost: rows of a prompt that are written by a launch and read by the next, or kept.
!x = tensor<?x2048xf32>
module attributes {llm.model = {architecture = "bench", layers = 1 : i64}, bench.pattern = "rows",
    bench.steps = [array<i64: 512, 0>]} {
  func.func @bench(%x: !x, %batch: !llm.batch) -> !x attributes {llm.entry} {
    %0 = llm.offset %x by 0.25 : !x
    %1 = llm.clamp %0 min -4.0 max 4.0 : !x
    %2 = llm.offset %1 by 0.25 : !x
    %3 = llm.clamp %2 min -4.0 max 4.0 : !x
    return %3 : !x
  }
}
