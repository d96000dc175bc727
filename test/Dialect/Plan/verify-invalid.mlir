// RUN: llmc-opt %s -split-input-file -plan-verify -verify-diagnostics

// A sound plan: x and z share bytes and are not live together.
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 2>
  plan.slice @z in @a size(64) offset 0 live <2, 2>
  plan.kernel @k symbol "k" generator "g" scratch 0 tokens_below 8 positions_below 8
      contracts [#plan.contract<<1, one>, <slice, write, 64>>,
                 #plan.contract<<1, one>, <slice, read, 64>, <slice, write, tokens * 8>>,
                 #plan.contract<<1, one>, <slice, readwrite, 8>, <slice, write, 64>>]
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.launch @k [#plan.use<@y, readwrite>, #plan.use<@z, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// no entry
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
// expected-error@below {{has no entry}}
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
}

// -----

// an entry without output
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  // expected-error@below {{has no output}}
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
  }
}

// -----

// an empty repeat
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    // expected-error@below {{has no step}}
    plan.repeat from 0 count 1 period 1 {
    }
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// an arena without size
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{has no size: it is not packed}}
  plan.arena @a kind activations
  plan.slice @x in @a size(64) offset 0 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// a slice without offset
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-error@below {{has no 'offset': it is not packed}}
  plan.slice @x in @a size(64) live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// a slice without life
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-error@below {{has no 'live': it is not packed}}
  plan.slice @x in @a size(64) offset 0
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// a slice past the end of its arena: 128 + 8 x 32
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-error@below {{reaches to byte 384 of @a, which has 256}}
  plan.slice @x in @a size(tokens * 32) offset 128 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.output "y" slice @x rows one width 1 element f32
  }
}

// -----

// a life that ends too early
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  // expected-error@below {{is live from step 0 to 0, its uses need 0 to 1}}
  plan.slice @x in @a size(64) offset 0 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// a life past the last step
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-error@below {{is live to step 2, there are 2 steps}}
  plan.slice @x in @a size(64) offset 0 live <0, 2>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// bytes that two live slices share
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-note@below {{the other is here}}
  plan.slice @x in @a size(128) offset 0 live <0, 1>
  // expected-error@below {{takes bytes 64 to 128, which overlap bytes 0 to 128 of @x}}
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// a loop-carried slice has to outlast the repeat
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  // expected-error@below {{is live from step 0 to 1, its uses need 0 to 2}}
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <2, 2>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.repeat from 0 count 2 period 1 {
      plan.launch @k [#plan.use<@x, read>] items <1, one>
      plan.launch @k [#plan.use<@y, write>] items <1, one>
    }
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// a read of nothing
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    // expected-error@below {{reads @x, which no step before it writes}}
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// computed in place from nothing
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    // expected-error@below {{reads @x, which no step before it writes}}
    plan.launch @k [#plan.use<@x, readwrite>, #plan.use<@y, write>] items <1, one>
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// the first iteration reads nothing
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.repeat from 0 count 2 period 1 {
      // expected-error@below {{reads @x, which no step before it writes}}
      plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
      plan.launch @k [#plan.use<@x, write>] items <1, one>
    }
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// an output of nothing
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>] items <1, one>
    // expected-error@below {{reads @y, which no step before it writes}}
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// weights that are not packed
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  plan.arena @w kind weights size(64)
  // expected-error@below {{has no base and stride: it is not packed}}
  plan.weights @n in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights past the end: 64 + 64 + 64
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  plan.arena @w kind weights size(128)
  // expected-error@below {{reaches to byte 192 of @w, which has 128}}
  plan.weights @n in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      base 64 stride 64 sources [#plan.source<"t", rows = 4>]
}

// -----

// families that share bytes: the second member of @n and the one of @o
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  plan.arena @w kind weights size(256)
  // expected-note@below {{the other is here}}
  plan.weights @n in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      base 0 stride 128 sources [#plan.source<"t", rows = 4>]
  // expected-error@below {{takes bytes 128 to 192, which overlap bytes 128 to 192 of @n}}
  plan.weights @o in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      base 128 stride 64 sources [#plan.source<"t", rows = 4>]
}

// -----

// families may alternate
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <slice, write, 64>>,
                 #plan.contract<<1, one>, <slice, read, 64>, <slice, write, 64>>]
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  plan.arena @w kind weights size(256)
  plan.weights @n in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      base 0 stride 128 sources [#plan.source<"t", rows = 4>]
  plan.weights @o in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      base 64 stride 128 sources [#plan.source<"t", rows = 4>]
}

// -----

// scratch without workspace
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  // expected-error@below {{needs 8 bytes of scratch, the workspace has 0 a thread}}
  plan.kernel @l symbol "l" generator "g" scratch 8
}

// -----

// more scratch than the part of a thread
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @x in @a size(64) offset 0 live <0, 1>
  plan.slice @y in @a size(64) offset 64 live <1, 1>
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@x, write>] items <1, one>
    plan.launch @k [#plan.use<@x, read>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
  plan.arena @t kind workspace size(threads * 64)
  // expected-error@below {{needs 65 bytes of scratch, the workspace has 64 a thread}}
  plan.kernel @l symbol "l" generator "g" scratch 65
}

// -----

// kernels without contracts
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  // expected-error@below {{has no contracts: run plan-derive-contracts}}
  plan.kernel @k symbol "k" generator "g" scratch 0
  plan.entry @e {
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// other items
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
      contracts [#plan.contract<<2, one>, <slice, write, 64>>]
  plan.entry @e {
    // expected-error@below {{meets no contract of @k}}
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// fewer bytes than the kernel needs
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <slice, write, 65>>]
  plan.entry @e {
    // expected-error@below {{meets no contract of @k}}
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// another access
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  plan.kernel @k symbol "k" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <slice, readwrite, 64>>]
  plan.entry @e {
    // expected-error@below {{meets no contract of @k}}
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// more token ids than the table has rows
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  // expected-error@below {{takes token ids below 7, the vocabulary has 8}}
  plan.kernel @k symbol "k" generator "g" scratch 0 tokens_below 7
      contracts [#plan.contract<<1, one>, <slice, write, 64>>]
  plan.entry @e {
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// more positions than the table has rows
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations size(256)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  // expected-error@below {{takes positions below 7, sequences go to max_context 8}}
  plan.kernel @k symbol "k" generator "g" scratch 0 positions_below 7
      contracts [#plan.contract<<1, one>, <slice, write, 64>>]
  plan.entry @e {
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}
