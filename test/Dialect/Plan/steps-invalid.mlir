// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// entry_c1
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
    // expected-error@below {{'builtin.module' op is no step of a plan.entry}}
    builtin.module {}
  }
}

// -----

// entry_c2
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
    plan.output "y" slice @x rows tokens width 4 element f32
    // expected-error@below {{follows a plan.output, which come after all steps}}
    plan.launch @k [#plan.use<@x, write>] items <1, one>
  }
}

// -----

// repeat_c1
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
      // expected-error@below {{'plan.repeat' op expects parent op 'plan.entry'}}
      plan.repeat from 0 count 1 period 1 {
      }
    }
  }
}

// -----

// repeat_c2
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
      // expected-error@below {{'builtin.module' op is no step of a plan.repeat}}
      builtin.module {}
    }
  }
}

// -----

// repeat_c3
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
    // expected-error@below {{goes to layer 3, the model has 2 layers}}
    plan.repeat from 0 count 2 period 2 {
    }
  }
}

// -----

// launch_c1
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
    // expected-error@below {{launches @x, which is no plan.kernel}}
    plan.launch @x [#plan.use<@x, write>] items <1, one>
  }
}

// -----

// launch_c2
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
    // expected-error@below {{uses @k, which is no plan.slice, plan.weights or plan.state}}
    plan.launch @k [#plan.use<@k, read>] items <1, one>
  }
}

// -----

// launch_c3
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
    // expected-error@below {{has access readwrite to weights @n, which are read-only}}
    plan.launch @k [#plan.use<@n, readwrite>] items <1, one>
  }
}

// -----

// launch_c4: no layer where there are layers
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
    // expected-error@below {{uses @l of layers #plan.layers<0 to 1> without a layer}}
    plan.launch @k [#plan.use<@l, read>] items <1, one>
  }
}

// -----

// launch_c4: a layer where there are none
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
      // expected-error@below {{uses @x with layer 0, it has no layers}}
      plan.launch @k [#plan.use<@x, write, layer = 0>] items <1, one>
    }
  }
}

// -----

// launch_c4: no repeat
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
    // expected-error@below {{use of @l has layer 0 outside of a plan.repeat}}
    plan.launch @k [#plan.use<@l, read, layer = 0>] items <1, one>
  }
}

// -----

// launch_c4: past the period
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
      // expected-error@below {{use of @l has layer 1 of a period of 1}}
      plan.launch @k [#plan.use<@l, read, layer = 1>] items <1, one>
    }
  }
}

// -----

// launch_c5: a layer that the weight does not have
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @l in @w layers <0 to 1> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{uses @l for layer 1, it has layers #plan.layers<0 to 1>}}
    plan.launch @k [#plan.use<@l, read fixed = 1>] items <1, one>
  }
}

// -----

// launch_c4: a layer of what has none
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.entry @e {
    // expected-error@below {{uses @n of layer 0, it has no layers}}
    plan.launch @k [#plan.use<@n, read fixed = 0>] items <1, one>
  }
}

// -----

// launch_c5
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
    plan.repeat from 0 count 2 period 1 {
      // expected-error@below {{uses @l for layer 1, it has layers #plan.layers<0 to 1>}}
      plan.launch @k [#plan.use<@l, read, layer = 0>] items <1, one>
    }
  }
}

// -----

// launch_c6
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
    // expected-error@below {{has @x as read and as write; memory computed in place is one readwrite use}}
    plan.launch @k [#plan.use<@x, read>, #plan.use<@x, write>] items <1, one>
  }
}

// -----

// launch_c7
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16, ring_blocks = 4>) {
  plan.arena @s kind state
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.state @near in @s layers <0 to 1> kind paged heads 1 key_width 4 value_width 4 element f32
      bytes_per_block 128 window 6
  plan.state @far in @s layers <1 to 2> kind paged heads 1 key_width 4 value_width 4 element f32
      bytes_per_block 128
  plan.entry @e {
    // expected-error@below {{uses state @near and @far, of which one has a window; their blocks are not the same}}
    plan.launch @k [#plan.use<@near, read fixed = 0>, #plan.use<@far, read fixed = 1>] items <1, one>
  }
}

// -----

// collective_c1
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
  plan.group @tp ranks [0]
  plan.entry @e {
    // expected-error@below {{refers to @n, which is no plan.slice}}
    plan.collective all_reduce @n group @tp element f32 count(tokens)
  }
}

// -----

// collective_c2
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
  plan.group @tp ranks [0]
  plan.entry @e {
    // expected-error@below {{runs over @k, which is no plan.group}}
    plan.collective all_reduce @x group @k element f32 count(tokens)
  }
}

// -----

// collective_c3: 8 tokens x 8 x 4 bytes
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
  plan.group @tp ranks [0]
  plan.entry @e {
    // expected-error@below {{takes 256 bytes of @x at the largest step, the slice has 128}}
    plan.collective all_reduce @x group @tp element f32 count(tokens * 8)
  }
}

// -----

// collective_c4
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
  plan.group @tp ranks [0]
  plan.entry @e {
    // expected-error@below {{count grows by 1 with threads, which may differ between ranks}}
    plan.collective all_reduce @x group @tp element f32 count(threads)
  }
}

// -----

// collective_c5
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
  plan.group @tp ranks [0]
  plan.entry @e {
    // expected-error@below {{adds f32 elements, got 'bf16'}}
    plan.collective all_reduce @x group @tp element bf16 count(tokens)
  }
}
