// RUN: llmc-opt %s -split-input-file -plan-verify -verify-diagnostics

// states past the end: 2 layers x 64 bytes x 2 blocks
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
  plan.arena @s kind state size(blocks * 64)
  // expected-error@below {{reaches to byte 256 of @s, which has 128 for 2 blocks and 2 sequences}}
  plan.state @kv in @s layers <0 to 2> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
}

// -----

// slots past the end: behind 2 layers x 64 bytes x 2 blocks, 2 layers x 128 bytes x 2 sequences
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
  plan.arena @s kind state size(blocks * 128 + sequences * 192)
  plan.state @kv in @s layers <0 to 2> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
  // expected-error@below {{reaches to byte 768 of @s, which has 640 for 2 blocks and 2 sequences}}
  plan.state @h in @s layers <0 to 2> kind recurrent heads 2 key_width 4 value_width 4 element f32
      bytes_per_sequence 128
}

// -----

// states that are larger than their arena
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 1, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16,
            ring_blocks = 4>) {
  plan.arena @a kind activations size(256)
  plan.arena @s kind state size(window_blocks * 64)
  plan.slice @y in @a size(64) offset 64 live <0, 0>
  // expected-error@below {{reaches to byte 1024 of @s, which has 512}}
  plan.state @near in @s layers <0 to 1> kind paged heads 1 key_width 4 value_width 4 element f32
      bytes_per_block 128 window 6
  plan.kernel @k symbol "k" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <slice, write, 64>>]
  plan.entry @e {
    plan.launch @k [#plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}

// -----

// a state with a window, and a kernel that sees more of it
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 1, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16,
            ring_blocks = 4>) {
  plan.arena @a kind activations size(256)
  plan.arena @s kind state size(window_blocks * 128)
  plan.slice @y in @a size(64) offset 64 live <0, 2>
  plan.state @near in @s layers <0 to 1> kind paged heads 1 key_width 4 value_width 4 element f32
      bytes_per_block 128 window 6
  plan.kernel @append symbol "append" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <state, readwrite, window_blocks * 128>>]
      {plan.config = {chunk = 0 : i64, window = 0 : i64}}
  plan.kernel @six symbol "six" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <state, read, window_blocks * 128>, <slice, write, 64>>]
      {plan.config = {chunk = 8 : i64, window = 6 : i64}}
  plan.kernel @seven symbol "seven" generator "g" scratch 0
      contracts [#plan.contract<<1, one>, <state, read, window_blocks * 128>, <slice, write, 64>>]
      {plan.config = {chunk = 0 : i64, window = 7 : i64}}
  plan.entry @e {
    plan.launch @append [#plan.use<@near, readwrite fixed = 0>] items <1, one>
    plan.launch @six [#plan.use<@near, read fixed = 0>, #plan.use<@y, write>] items <1, one>
    // expected-error@below {{reads @near by @seven, which sees 7 positions; the window of the state is 6}}
    plan.launch @seven [#plan.use<@near, read fixed = 0>, #plan.use<@y, write>] items <1, one>
    plan.output "y" slice @y rows one width 1 element f32
  }
}
