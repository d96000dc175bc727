// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// arena_c1: linear
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{expected a linear size with no negative term}}
  plan.arena @a kind activations size(tokens floordiv 2)
}

// -----

// arena_c1: no negative term
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{expected a linear size with no negative term}}
  plan.arena @a kind activations size(tokens * 8 - 4)
}

// -----

// arena_c1: the five symbols in order
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{attribute 'size' failed to satisfy constraint: linear size with no negative term over ()[tokens, outputs, sequences, blocks, threads]}}
  "plan.arena"() <{sym_name = "a", kind = #plan<arena_kind activations>, size = affine_map<(d0) -> (d0)>}> : () -> ()
}

// -----

// arena_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{of kind state names file 'f', only weights are mapped from a file}}
  plan.arena @a kind state file "f"
}

// -----

// arena_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{file '../f' is no path inside the artifact}}
  plan.arena @a kind weights file "../f"
}

// -----

// arena_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{names file 'f' beside files for each rank}}
  plan.arena @a kind weights file "f" rank_files ["g"]
}

// -----

// arena_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{names 2 rank files for 1 ranks}}
  plan.arena @a kind weights rank_files ["f", "g"]
}

// -----

// slice_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{lies in @nowhere, which is no plan.arena}}
  plan.slice @x in @nowhere size(64)
}

// -----

// slice_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{lies in an arena of kind activations or communication, @w is of kind weights}}
  plan.slice @x in @w size(64)
}

// -----

// slice_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  // expected-error@below {{size grows by 8 with blocks, for which a step has no limit}}
  plan.slice @x in @a size(blocks * 8)
}

// -----

// slice_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  // expected-error@below {{attribute 'offset' failed to satisfy constraint: 64-bit signless integer attribute whose value is a non-negative multiple of 64}}
  plan.slice @x in @a size(64) offset 32
}

// -----

// weights_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  // expected-error@below {{lies in an arena of kind weights, @a is of kind activations}}
  plan.weights @x in @a rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{members of 128 bytes overlap at a stride of 64}}
  plan.weights @x in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 128
      stride 64 sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c3: 20 f32 take 80 bytes
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 64 bytes a member, layout #plan.rows takes 80}}
  plan.weights @x in @w rows 4 cols 5 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c3: 4 rows are one panel, an item holds two; one group of 32 columns: 2 x 320 bytes
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 320 bytes a member, layout #plan.panels<tile = 2> takes 640}}
  plan.weights @x in @w rows 4 cols 32 storage q4_1 layout #plan.panels<tile = 2> bytes 320
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c4
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{layout rows holds f32, f16 or bf16, storage is q8_0}}
  plan.weights @x in @w rows 4 cols 32 storage q8_0 layout #plan.rows bytes 1024
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c4
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{33 columns are no whole number of q4_0 blocks of 32}}
  plan.weights @x in @w rows 4 cols 33 storage q4_0 layout #plan.panels<tile = 1> bytes 1024
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c5
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 5 rows, its sources give 4}}
  plan.weights @x in @w rows 5 cols 4 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c5: each source is padded to the run
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 20 rows, its sources give 32 with padding}}
  plan.weights @x in @w rows 20 cols 4 storage f32 layout #plan.panels<tile = 1> interleave 16
      bytes 512 sources [#plan.source<"t", rows = 10>, #plan.source<"u", rows = 10>]
}

// -----

// weights_c7
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 192 bytes a member, which are not 2 matrices of a multiple of 64}}
  plan.weights @x in @w rows 4 cols 4 matrices 2 storage f32 layout #plan.rows bytes 192
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c3: of each matrix
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{has 64 bytes a matrix, layout #plan.rows takes 80}}
  plan.weights @x in @w rows 4 cols 5 matrices 2 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t", rows = 4>]
}

// -----

// weights_c8: two strides are those of one matrix
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{takes source 't' by 2 strides, it needs 3}}
  plan.weights @x in @w rows 4 cols 4 matrices 2 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t", rows = 4, view <stored = [8, 4], first = 0, strides = [4, 1]>>]
}

// -----

// weights_c8: the last row of the second matrix
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{takes [2, 4, 4] of source 't', which reaches beyond the 32 elements of the tensor}}
  plan.weights @x in @w rows 4 cols 4 matrices 2 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t", rows = 4, view <stored = [8, 4], first = 4, strides = [16, 4, 1]>>]
}

// -----

// weights_c8: of one tensor a matrix
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{takes [4, 4] of source 't.{e}', which reaches beyond the 12 elements of the tensor}}
  plan.weights @x in @w rows 4 cols 4 matrices 2 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t.{e}", rows = 4, view <stored = [3, 4], first = 0, strides = [4, 1]>>]
}

// -----

// weights_c6
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  // expected-error@below {{goes to layer 2, the model has 2 layers}}
  plan.weights @x in @w layers <0 to 3> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
}

// -----

// state_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  // expected-error@below {{lies in an arena of kind state, @a is of kind activations}}
  plan.state @x in @a layers <0 to 2> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
}

// -----

// state_c2: 2 heads x (4 + 4) x 4 positions x 4 bytes
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{has 128 bytes a block, 2 heads x 8 values x 4 positions take 256}}
  plan.state @x in @s layers <0 to 2> kind paged heads 2 key_width 4 value_width 4 element f32
      bytes_per_block 128
}

// -----

// state_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{goes to layer 4, the model has 2 layers}}
  plan.state @x in @s layers <4 to 5> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
}

// -----

// state_c4
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{of kind recurrent has bytes_per_sequence and no bytes_per_block}}
  plan.state @x in @s layers <0 to 2> kind recurrent heads 2 key_width 4 value_width 4 element f32
      bytes_per_block 256
}

// -----

// state_c4: one of them
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{of kind conv has bytes_per_sequence and no bytes_per_block}}
  plan.state @x in @s layers <0 to 2> kind conv heads 1 key_width 3 value_width 4 element f32
      bytes_per_block 64 bytes_per_sequence 64
}

// -----

// state_c4: positions lie in blocks
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{of kind paged has bytes_per_block and no bytes_per_sequence}}
  plan.state @x in @s layers <0 to 2> kind paged heads 2 key_width 4 value_width 4 element f32
      bytes_per_sequence 256
}

// -----

// state_c5
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{has 64 bytes a sequence, 2 heads x 4 x 4 values take 128}}
  plan.state @x in @s layers <0 to 2> kind recurrent heads 2 key_width 4 value_width 4 element f32
      bytes_per_sequence 64
}

// -----

// state_c5: aligned
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind state
  // expected-error@below {{attribute 'bytes_per_sequence' failed to satisfy constraint}}
  plan.state @x in @s layers <0 to 2> kind conv heads 1 key_width 3 value_width 4 element f32
      bytes_per_sequence 100
}

// -----

// state_c6
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16>) {
  plan.arena @s kind state
  // expected-error@below {{of kind recurrent has window 6, only paged state has one}}
  plan.state @x in @s layers <0 to 2> kind recurrent heads 2 key_width 4 value_width 4 element f32
      bytes_per_sequence 128 window 6
}

// -----

// state_c7
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16>) {
  plan.arena @s kind state
  // expected-error@below {{has window 6, which with steps of 8 tokens takes rings of 4 blocks; ring_blocks is 0}}
  plan.state @x in @s layers <0 to 2> kind paged heads 2 key_width 4 value_width 4 element f32
      bytes_per_block 256 window 6
}

// -----

// state_c7: larger than a sequence can be
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 64, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 64, block_tokens = 4, blocks = 16, ring_blocks = 15>) {
  plan.arena @s kind state
  // expected-error@below {{takes rings of 16 blocks; ring_blocks is 15}}
  plan.state @x in @s layers <0 to 2> kind paged heads 2 key_width 4 value_width 4 element f32
      bytes_per_block 256 window 9223372036854775807
}
