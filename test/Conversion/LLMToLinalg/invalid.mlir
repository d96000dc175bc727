// RUN: llmc-opt %s --convert-llm-to-linalg --split-input-file --verify-diagnostics

func.func @quantised(%x: tensor<?x32xf32>, %w: !llm.weight<[16, 32], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>>) -> tensor<?x16xf32> {
  // expected-error @below {{'llm.linear' op has no form in linalg: a weight is stored as q8_0, expected f32, f16 or bf16}}
  %y = llm.linear %x, %w : tensor<?x32xf32>, !llm.weight<[16, 32], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>> -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

func.func @gathers(%x: tensor<?x32xf32>, %batch: !llm.batch) -> tensor<?x32xf32> {
  // expected-error @below {{'llm.select_rows' op has no form in linalg}}
  %y = llm.select_rows %x, %batch : tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

func.func @fused(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{'llm.fusion' op has no form in linalg, its body may; run llm-inline-fusions first}}
  %y = llm.fusion "twice" (%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %0 = llm.scale %a by 2.0 : tensor<?x8xf32>
    llm.yield %0 : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}
