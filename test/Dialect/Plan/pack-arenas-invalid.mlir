// RUN: llmc-opt %s -split-input-file -plan-pack-arenas -verify-diagnostics

// no liveness
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  // expected-error@below {{has no 'live': plan-assign-liveness comes before packing}}
  plan.slice @x in @a size(64)
}

// -----

// too large for a JSON number
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{takes 9223372036854775744 bytes at the largest step, the most is 9007199254740992}}
  plan.arena @a kind activations
  plan.slice @x in @a size(tokens * 9000000000000000000) live <0, 0>
}
