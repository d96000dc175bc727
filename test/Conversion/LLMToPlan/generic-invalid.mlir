// RUN: not llmc-opt %s --convert-llm-to-plan=generators=fast 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: llmc-opt %s --convert-llm-to-plan --verify-diagnostics

// OPTION: error: generators=fast is not known; known: tuned, generic

!rows = tensor<?x32xf32>
!table = !llm.weight<[32, 32], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>>
module attributes {llm.model = {architecture = "none"}} {
  llm.weight_family @embed "embed.weight" : !table
  func.func @main(%tokens: tensor<?xi32>) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.fusion "normed-product" (%x, %table) : (!rows, !table) -> !rows {
    ^bb0(%a: !rows, %w: !table):
      %0 = llm.linear %a, %w : !rows, !table -> !rows
      // expected-error @below {{is not part of the linear kernel's epilogue}}
      %1 = llm.rms_norm %0 eps 1.0e-5 : !rows
      llm.yield %1 : !rows
    }
    return %y : !rows
  }
}
