// RUN: llmc-opt %s -split-input-file -plan-pack-arenas | FileCheck %s
// RUN: llmc-opt %s -split-input-file -plan-pack-arenas --remarks-filter=plan-pack-arenas \
// RUN:   --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: llmc-opt %s -split-input-file \
// RUN:   --pass-pipeline='builtin.module(plan.program(plan-pack-arenas{search-nodes=0}))' \
// RUN:   --remarks-filter=plan-pack-arenas --remark-format=emitRemark -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=GREEDY

// The largest step has 8 tokens: x takes 8 * 100 = 800, aligned 832; y 64. Both live at step
// 1: the bound is 896. z (832) lives later than x and takes its place.
// CHECK-LABEL: plan.program
// CHECK: plan.arena @a kind activations size(896) packing <bytes = 896, lower_bound = 896, optimal = true>
// CHECK: plan.slice @x {{.*}} offset 0 live <0, 1>
// CHECK: plan.slice @y {{.*}} offset 832 live <1, 3>
// CHECK: plan.slice @z {{.*}} offset 0 live <2, 3>
// REMARK: [Passed] packing | Category:plan-pack-arenas | Remark="3 slices of a packed", bytes=896, lowerBound=896
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @x in @a size(tokens * 100) live <0, 1>
  plan.slice @y in @a size(64) live <1, 3>
  plan.slice @z in @a size(tokens * 100) live <2, 3>
}

// -----

// Best fit: once p (192), q (128) and d (64) lie at 0, 192 and 320, and q is dead at step 2,
// c (128) goes into the gap of q and not on top.
// CHECK-LABEL: plan.program
// CHECK: plan.arena @a kind activations size(384)
// CHECK: plan.slice @p {{.*}} offset 0
// CHECK: plan.slice @q {{.*}} offset [[Q:[0-9]+]]
// CHECK: plan.slice @c {{.*}} offset [[Q]]
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @p in @a size(192) live <0, 3>
  plan.slice @q in @a size(128) live <0, 1>
  plan.slice @c in @a size(128) live <2, 3>
  plan.slice @d in @a size(64) live <0, 3>
}

// -----

// Units of 64 bytes: s0 5 at steps 2-4, s1 4 at 0-1, s2 3 at 0-1, s3 3 at 0-2. Largest first,
// s0 and s1 lie at 0, s3 is on top of s0 at 5 and s2 at 8, which ends at 11; the bound is
// 4 + 3 + 3 = 10. The search puts s1, s2 and s3 on top of one another: s3 at 7 is above s0.
// CHECK-LABEL: plan.program
// CHECK: plan.arena @a kind activations size(640) packing <bytes = 640, lower_bound = 640, optimal = true>
// CHECK: plan.slice @s0 {{.*}} offset 0 live <2, 4>
// CHECK: plan.slice @s1 {{.*}} offset 0 live <0, 1>
// CHECK: plan.slice @s2 {{.*}} offset 256 live <0, 1>
// CHECK: plan.slice @s3 {{.*}} offset 448 live <0, 2>
// GREEDY: [Missed] packing | Category:plan-pack-arenas | Remark="4 slices of a packed, perhaps not as tightly as possible", bytes=704, lowerBound=640
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @a kind activations
  plan.slice @s0 in @a size(320) live <2, 4>
  plan.slice @s1 in @a size(256) live <0, 1>
  plan.slice @s2 in @a size(192) live <0, 1>
  plan.slice @s3 in @a size(192) live <0, 2>
}

// -----

// Weights follow one another: @n takes 2 members of 64 bytes, @o begins at 128. A state arena
// holds both layers of a block: 2 x 64 bytes. The workspace holds the largest scratch, 100
// bytes aligned to 128, for each thread.
// CHECK-LABEL: plan.program
// CHECK: plan.arena @w kind weights size(256)
// CHECK: plan.arena @s kind state size(sequences * 384 + blocks * 128)
// CHECK: plan.arena @t kind workspace size(threads * 128)
// CHECK: plan.arena @c kind communication size(64)
// CHECK: plan.weights @n {{.*}} base 0 stride 64
// CHECK: plan.weights @o {{.*}} base 128 stride 128
// CHECK: plan.slice @x in @c size(tokens * 8) offset 0
#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 2, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @w kind weights
  plan.arena @s kind state
  plan.arena @t kind workspace
  plan.arena @c kind communication
  plan.weights @n in @w layers <0 to 2> rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.weights @o in @w rows 8 cols 4 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t", rows = 8>]
  plan.state @kv in @s layers <0 to 2> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64
  plan.state @h in @s layers <0 to 2> kind recurrent heads 2 key_width 4 value_width 4 element f32
      bytes_per_sequence 128
  plan.state @taps in @s layers <0 to 2> kind conv heads 1 key_width 3 value_width 4
      element f32 bytes_per_sequence 64
  plan.kernel @k symbol "k" generator "g" scratch 100
  plan.kernel @l symbol "l" generator "g" scratch 8
  plan.slice @x in @c size(tokens * 8) live <0, 0>
}
