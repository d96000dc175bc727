// RUN: llmc-opt %s --llm-decompose=ops=llm.rotary --verify-diagnostics

#rope = #llm.rope<"default", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0]>
func.func @rotary(%x: tensor<?x4x2xf32>, %b: !llm.batch) -> tensor<?x4x2xf32> {
  // expected-error @below {{has no composition of simpler operations}}
  %0 = llm.rotary %x, %b rope(#rope) : tensor<?x4x2xf32>
  return %0 : tensor<?x4x2xf32>
}
