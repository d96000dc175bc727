// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --mlir-print-op-generic -o %t.mlir && llmc-opt %t.mlir --verify-roundtrip | FileCheck %s

// CHECK-LABEL: plan.program producer(<name = "llmc", version = "0.1.0", toolchain = "LLVM 22.1.8">)
// CHECK-SAME: model(<name = "m", architecture = "llama", description = "llama", vocab_size = 256, hidden_size = 64, layers = 4, context_length = 512, parameters = 100000>)
// CHECK-SAME: target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
// CHECK-SAME: limits(<max_tokens = 64, max_sequences = 4, max_context = 512, block_tokens = 16, blocks = 128, max_outputs = 4, ring_blocks = 13>)
// CHECK-SAME: ranks(2) recompute_beyond [128, 256] tokenizer("tokenizer.json") accepted [#plan.accepted<"rope.scaling", "ignored">]
plan.program producer(<name = "llmc", version = "0.1.0", toolchain = "LLVM 22.1.8">)
    model(<name = "m", architecture = "llama", description = "llama", vocab_size = 256,
           hidden_size = 64, layers = 4, context_length = 512, parameters = 100000>)
    target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
    limits(<max_tokens = 64, max_sequences = 4, max_context = 512, block_tokens = 16,
            blocks = 128, max_outputs = 4, ring_blocks = 13>)
    ranks(2) recompute_beyond [128, 256] tokenizer("tokenizer.json")
    accepted [#plan.accepted<"rope.scaling", "ignored">] {

  // CHECK: plan.file "kernels.so" bytes 4096 sha256 "{{0+}}"
  plan.file "kernels.so" bytes 4096
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"

  // Terms of a size stand in the order of its symbols, those that are zero are left out.
  // CHECK: plan.arena @act kind activations size(tokens * 2304 + outputs + 64) packing <bytes = 1024, lower_bound = 960, optimal = false>
  plan.arena @act kind activations size(64 + tokens * 2304 + outputs + 0 * blocks)
      packing <bytes = 1024, lower_bound = 960, optimal = false>
  // CHECK: plan.arena @w kind weights size(0) rank_files ["w0.bin", "w1.bin"]
  plan.arena @w kind weights size(0) rank_files ["w0.bin", "w1.bin"]
  // CHECK: plan.arena @one kind weights file "w.bin"
  plan.arena @one kind weights file "w.bin"
  // CHECK: plan.arena @pool kind state size(window_blocks * 98304)
  plan.arena @pool kind state size(window_blocks * 98304)
  // CHECK: plan.arena @ws kind workspace size(threads * 256)
  plan.arena @ws kind workspace size(threads * 256)
  // CHECK: plan.arena @comm kind communication
  plan.arena @comm kind communication

  // CHECK: plan.slice @x in @act size(tokens * 256) offset 128 live <0, 3>
  plan.slice @x in @act size(tokens * 256) offset 128 live <0, 3>
  // CHECK: plan.slice @y in @comm size(sequences * 256)
  plan.slice @y in @comm size(sequences * 256)

  // CHECK: plan.weights @up in @w layers <0 to 2, 3 to 4> rows 64 cols 64 storage q4_1 layout #plan.panels<tile = 2> interleave 16 bytes 2560 base 64 stride 2624 sources [#plan.source<"{i}.gate", rows = 32, first = 32, of = 96, transposed, name = "gate">, #plan.source<zeros, rows = 32>]
  plan.weights @up in @w layers <0 to 2, 3 to 4> rows 64 cols 64 storage q4_1
      layout #plan.panels<tile = 2> interleave 16 bytes 2560 base 64 stride 2624
      sources [#plan.source<"{i}.gate", rows = 32, first = 32, of = 96, transposed, name = "gate">, #plan.source<zeros, rows = 32>]
  // CHECK: plan.weights @norm in @w rows 1 cols 64 storage f32 layout #plan.rows bytes 256 sources [#plan.source<"norm", rows = 1>]
  plan.weights @norm in @w rows 1 cols 64 storage f32 layout #plan.rows bytes 256
      sources [#plan.source<"norm", rows = 1>]

  // CHECK: plan.weights @freqs {{.*}} sources [#plan.source<values [1.000000e+00, -5.000000e-01], rows = 2>]
  plan.weights @freqs in @w rows 2 cols 1 storage f32 layout #plan.rows bytes 64
      sources [#plan.source<values [1.0, -0.5], rows = 2>]

  // CHECK: plan.state @kv in @pool layers <0 to 4> kind paged heads 3 key_width 64 value_width 64 element f32 bytes_per_block 24576 window 128
  plan.state @kv in @pool layers <0 to 4> kind paged heads 3 key_width 64 value_width 64
      element f32 bytes_per_block 24576 window 128
  // CHECK: plan.state @delta in @pool layers <0 to 2> kind recurrent heads 4 key_width 16 value_width 32 element f32 bytes_per_sequence 8192
  plan.state @delta in @pool layers <0 to 2> kind recurrent heads 4 key_width 16 value_width 32
      element f32 bytes_per_sequence 8192
  // CHECK: plan.state @taps in @pool layers <0 to 2> kind conv heads 1 key_width 3 value_width 128 element f32 bytes_per_sequence 1536
  plan.state @taps in @pool layers <0 to 2> kind conv heads 1 key_width 3 value_width 128
      element f32 bytes_per_sequence 1536

  // CHECK: plan.variant @avx2 suffix "_avx2" requires ["avx2", "fma"]
  plan.variant @avx2 suffix "_avx2" requires ["avx2", "fma"]
  // CHECK: plan.kernel @k symbol "llmc_k" generator "cpu.row" scratch 256
  plan.kernel @k symbol "llmc_k" generator "cpu.row" scratch 256
  // CHECK: plan.kernel @c symbol "c" generator "" scratch 0 tokens_below 8 positions_below 9 contracts [#plan.contract<<1, tokens tile 4 plus 1>, <slice, readwrite, tokens * 4 + 8>, <weights, read, 64>, <state, write, blocks * 128>>, #plan.contract<<2, one>>] {keep = 1 : i64}
  plan.kernel @c symbol "c" generator "" scratch 0 tokens_below 8 positions_below 9
      contracts [#plan.contract<<1, tokens tile 4 plus 1>, <slice, readwrite, 8 + 4 * tokens>,
                                <weights, read, 64>, <state, write, blocks * 128>>,
                 #plan.contract<<2, one>>] {keep = 1}
  // CHECK: plan.kernel @g symbol "llmc_g" generator "nvptx.row" scratch 0 device <"ptx/g.ptx", grid = [<1, tokens tile 4>, <2, one plus 1>], block = [128, 2], shared_bytes = 1024>
  plan.kernel @g symbol "llmc_g" generator "nvptx.row" scratch 0
      device <"ptx/g.ptx", grid = [<1, tokens tile 4>, <2, one plus 1>], block = [128, 2],
              shared_bytes = 1024>
  // CHECK: plan.group @tp ranks [0, 1]
  plan.group @tp ranks [0, 1]

  // CHECK: plan.entry @forward {
  plan.entry @forward {
    // CHECK: plan.launch @k [#plan.use<@x, write>, #plan.use<@norm, read>] items <18, tokens tile 96> remark "first"
    plan.launch @k [#plan.use<@x, write>, #plan.use<@norm, read>]
        items <18, tokens tile 96> remark "first"
    // CHECK: plan.repeat from 0 count 2 period 1 {
    plan.repeat from 0 count 2 period 1 {
      // CHECK: plan.launch @g [#plan.use<@x, readwrite>, #plan.use<@up, read, layer = 0>, #plan.use<@kv, readwrite, layer = 0>] items <1, one>
      plan.launch @g [#plan.use<@x, readwrite>, #plan.use<@up, read, layer = 0>,
                      #plan.use<@kv, readwrite, layer = 0>] items <1, one>
      // CHECK: plan.observe "layers.{i}.out" slice @x rows tokens width 64 layer 0
      plan.observe "layers.{i}.out" slice @x rows tokens width 64 layer 0
    }
    // CHECK: plan.collective all_reduce @x group @tp element f32 count(tokens * 64)
    plan.collective all_reduce @x group @tp element f32 count(tokens * 64)
    // CHECK: plan.output "logits" slice @x rows outputs width 64 element f32
    plan.output "logits" slice @x rows outputs width 64 element f32
  }
}
