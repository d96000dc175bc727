// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// observe_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{refers to @n, which is no plan.slice}}
    plan.observe "x" slice @n rows tokens width 4
  }
}

// -----

// observe_c2: a name with a layer needs one
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    plan.repeat from 0 count 1 period 1 {
      // expected-error@below {{names a layer in 'x.{i+1}' and has none}}
      plan.observe "x.{i+1}" slice @x rows tokens width 4
    }
  }
}

// -----

// observe_c2: a layer needs a repeat
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{'x' has layer 0 outside of a plan.repeat}}
    plan.observe "x" slice @x rows tokens width 4 layer 0
  }
}

// -----

// observe_c3: 8 tokens x 5 x 4 bytes
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{takes 160 bytes of @x at the largest step, the slice has 128}}
    plan.observe "x" slice @x rows tokens width 5
  }
}

// -----

// observe_c4: three heads of a row of four
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(tokens * 16)
  plan.entry @e {
    // expected-error@below {{has rows of 4 elements, which are not 3 heads}}
    plan.observe "x" slice @x rows tokens width 4 heads 3
  }
}

// -----

// output_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{refers to @n, which is no plan.slice}}
    plan.output "y" slice @n rows tokens width 4 element f32
  }
}

// -----

// output_c2: 2 sequences x 80 x 2 bytes
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.arena @w kind weights
  plan.slice @x in @a size(tokens * 16)
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{takes 320 bytes of @x at the largest step, the slice has 128}}
    plan.output "y" slice @x rows sequences width 80 element f16
  }
}
