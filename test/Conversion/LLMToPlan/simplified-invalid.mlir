// RUN: llmc-opt %s --convert-llm-to-plan=max-context=41 -verify-diagnostics

// expected-error @+1 {{max-context is 41, but llm-simplify left out what only sequences of more than 40 positions need}}
module attributes {llm.model = {bounded_context = 40 : i64, context_length = 64 : i64, layers = 1 : i64}} {
  func.func @step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {llm.entry} {
    %y = llm.scale %x by 2.0 : tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}
