// Every kernel states how it may be launched, one contract for each form of its launches.

// RUN: llmc-opt %s -split-input-file -plan-derive-contracts | FileCheck %s
// RUN: llmc-opt %s -split-input-file -plan-derive-contracts -plan-derive-contracts | FileCheck %s

#model = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8,
                     hidden_size = 4, layers = 4, context_length = 8, parameters = 1>
plan.program producer(<name = "t", version = "0", toolchain = "">) model(#model)
    target(<device = "cpu", triple = "">)
    limits(<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 2>) {
  plan.arena @act kind activations
  plan.arena @w kind weights
  plan.arena @pool kind state
  plan.slice @x in @act size(tokens * 16)
  plan.slice @wide in @act size(tokens * 64 + 8)
  plan.slice @y in @act size(outputs * 32)
  plan.weights @n in @w layers <0 to 4> rows 4 cols 4 storage f32 layout #plan.rows bytes 128
      sources [#plan.source<"t.{i}", rows = 4>]
  plan.weights @m in @w rows 4 cols 4 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<"t", rows = 4>]
  plan.state @kv in @pool layers <0 to 4> kind paged heads 1 key_width 2 value_width 2 element f32
      bytes_per_block 64

  plan.state @delta in @pool layers <0 to 4> kind recurrent heads 2 key_width 4 value_width 4
      element f32 bytes_per_sequence 128

  // Of launches of one form, the least bytes.
  // CHECK: plan.kernel @k {{.*}} contracts [#plan.contract<<1, tokens>, <slice, write, tokens * 16>, <weights, read, 64>>, #plan.contract<<3, outputs tile 4>, <slice, read, tokens * 64 + 8>, <slice, write, outputs * 32>>]
  plan.kernel @k symbol "k" generator "g" scratch 0
  // CHECK: plan.kernel @s {{.*}} contracts [#plan.contract<<1, one>, <state, readwrite, blocks * 64>>, #plan.contract<<2, sequences>, <state, readwrite, sequences * 128>>]
  plan.kernel @s symbol "s" generator "g" scratch 0

  plan.entry @forward {
    plan.launch @k [#plan.use<@x, write>, #plan.use<@m, read>] items <1, tokens>
    plan.repeat from 0 count 4 period 1 {
      plan.launch @k [#plan.use<@wide, write>, #plan.use<@n, read, layer = 0>] items <1, tokens>
      plan.launch @s [#plan.use<@kv, readwrite, layer = 0>] items <1, one>
      plan.launch @s [#plan.use<@delta, readwrite, layer = 0>] items <2, sequences>
    }
    plan.launch @k [#plan.use<@wide, read>, #plan.use<@y, write>] items <3, outputs tile 4>
    plan.output "y" slice @y rows outputs width 8 element f32
  }
}
