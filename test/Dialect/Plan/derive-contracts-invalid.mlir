// RUN: llmc-opt %s -split-input-file -plan-derive-contracts -verify-diagnostics

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{is launched by no step, so nothing says how it may be launched}}
  plan.kernel @k symbol "k" generator "g" scratch 0
}
