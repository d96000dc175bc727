// RUN: not llmc-translate --plan-to-manifest -split-input-file %s 2>&1 | FileCheck %s

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // CHECK: error: 'plan.arena' op has no size, which the manifest needs: run plan-assign-liveness, plan-pack-arenas and plan-derive-contracts first
  plan.arena @a kind activations
}

// -----

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(64)
  // CHECK: error: 'plan.slice' op has no live
  plan.slice @x in @a size(64) offset 0
}

// -----

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights size(64)
  // CHECK: error: 'plan.weights' op has no stride
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64 base 0
      sources [#plan.source<"t", rows = 4>]
}

// -----

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // CHECK: error: 'plan.kernel' op has no contracts
  plan.kernel @k symbol "k" generator "g" scratch 0
}

// -----

// CHECK: error: expected one plan.program, got 0
module {}
