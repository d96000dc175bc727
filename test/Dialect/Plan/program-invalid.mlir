// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// program_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{'builtin.module' op is no part of a plan.program}}
  builtin.module {}
}

// -----

// program_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.file "a" bytes 1 sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  // expected-error@below {{'plan.file' op 'a' is listed twice}}
  plan.file "a" bytes 2 sha256 "1111111111111111111111111111111111111111111111111111111111111111"
}

// -----

// program_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
// expected-error@below {{tokenizer '../t.json' is no path inside the artifact}}
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) tokenizer("../t.json") {

}

// -----

// program_c4
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.variant @x suffix "_v" requires ["avx2"]
  // expected-error@below {{has the suffix '_v' of another variant}}
  plan.variant @y suffix "_v" requires ["avx512f"]
}

// -----

// program_c5
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @s kind workspace
  // expected-error@below {{is a second workspace, threads share one}}
  plan.arena @t kind workspace
}

// -----

// file_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{'/etc/passwd' is no path inside the artifact}}
  plan.file "/etc/passwd" bytes 1 sha256 "0000000000000000000000000000000000000000000000000000000000000000"
}

// -----

// file_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{'a/../b' is no path inside the artifact}}
  plan.file "a/../b" bytes 1 sha256 "0000000000000000000000000000000000000000000000000000000000000000"
}

// -----

// file_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{sha256 is 64 lower-case hexadecimal digits, got 'ABC'}}
  plan.file "a" bytes 1 sha256 "ABC"
}

// -----

// kernel_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{runs on a device and has 64 bytes of scratch, which only CPU kernels have}}
  plan.kernel @k symbol "k" generator "g" scratch 64
      device <"k.ptx", grid = [<1, tokens>], block = [32], shared_bytes = 0>
}

// -----

// kernel_c3
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{has an empty list of contracts}}
  plan.kernel @k symbol "k" generator "g" scratch 0 contracts []
}

// -----

// kernel_c2
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{symbol 'a b' is no symbol of an object file}}
  plan.kernel @k symbol "a b" generator "g" scratch 0
}

// -----

// group_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) ranks(2) {
  // expected-error@below {{has rank 2 of a program of 2 ranks}}
  plan.group @g ranks [0, 2]
}

// -----

// group_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) ranks(2) {
  // expected-error@below {{ranks ascend, 0 follows 1}}
  plan.group @g ranks [1, 0]
}

// -----

// group_c1
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  // expected-error@below {{has no rank}}
  plan.group @g ranks []
}

// -----

// program_c6
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
// expected-error@below {{recompute_beyond has 4 behind 6; lengths are positive and ascend}}
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>)
    recompute_beyond [6, 4] {
}
