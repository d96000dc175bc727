// Plan to manifest, and both ways round: the text and the IR come back the same.
// RUN: llmc-translate --plan-to-manifest %s -o %t.json
// RUN: FileCheck %s < %t.json
// RUN: llmc-translate --manifest-to-plan %t.json -o %t.mlir
// RUN: llmc-translate --plan-to-manifest %t.mlir | diff %t.json -
// RUN: llmc-opt %s -o %t.before
// RUN: llmc-opt %t.mlir | diff %t.before -

// CHECK: {
// CHECK-NEXT: "format": "llmc.manifest",
// CHECK-NEXT: "version": [4, 0],
// CHECK-NEXT: "digest": "{{[0-9a-f]+}}",
// CHECK-NEXT: "producer": {
// CHECK-NEXT: "name": "llmc",
// CHECK-NEXT: "version": "0.1.0",
// CHECK-NEXT: "toolchain": "LLVM 22.1.8"
// CHECK-NEXT: },
// CHECK-NEXT: "model": {
// CHECK-NEXT: "name": "m",
// CHECK-NEXT: "architecture": "llama",
// CHECK-NEXT: "description": "text with \" and {{.*}} in it",
// CHECK-NEXT: "vocab_size": 256,
// CHECK-NEXT: "hidden_size": 64,
// CHECK-NEXT: "layers": 4,
// CHECK-NEXT: "context_length": 512,
// CHECK-NEXT: "parameters": 100000
// CHECK-NEXT: },
// CHECK-NEXT: "target": {
// CHECK-NEXT: "device": "cpu",
// CHECK-NEXT: "triple": "x86_64-unknown-linux-gnu"
// CHECK-NEXT: },
// CHECK-NEXT: "limits": {
// CHECK-NEXT: "max_tokens": 64,
// CHECK-NEXT: "max_sequences": 4,
// CHECK-NEXT: "max_context": 512,
// CHECK-NEXT: "block_tokens": 16,
// CHECK-NEXT: "blocks": 128,
// CHECK-NEXT: "max_outputs": 4,
// CHECK-NEXT: "ring_blocks": 13
// CHECK-NEXT: },
plan.program producer(<name = "llmc", version = "0.1.0", toolchain = "LLVM 22.1.8">)
    model(<name = "m", architecture = "llama", description = "text with \22 and \C3\A4 in it",
           vocab_size = 256, hidden_size = 64, layers = 4, context_length = 512,
           parameters = 100000>)
    target(<device = "cpu", triple = "x86_64-unknown-linux-gnu">)
    limits(<max_tokens = 64, max_sequences = 4, max_context = 512, block_tokens = 16,
            blocks = 128, max_outputs = 4, ring_blocks = 13>)
    ranks(2) recompute_beyond [128, 256] tokenizer("tokenizer.json")
    accepted [#plan.accepted<"rope.scaling", "ignored">] {

  // CHECK-NEXT: "files": [
  // CHECK-NEXT: {"path":"kernels.so","bytes":4096,"sha256":"{{0+}}"}
  // CHECK-NEXT: ],
  plan.file "kernels.so" bytes 4096
      sha256 "0000000000000000000000000000000000000000000000000000000000000000"

  // CHECK-NEXT: "arenas": [
  // CHECK-NEXT: {"name":"act","kind":"activations","size":{"const":64,"tokens":512,"outputs":4}},
  // CHECK-NEXT: {"name":"w","kind":"weights","size":{"const":8192},"rank_files":["w0.bin","w1.bin"]},
  // CHECK-NEXT: {"name":"none","kind":"weights","size":{"const":0},"file":"w.bin"},
  // CHECK-NEXT: {"name":"pool","kind":"state","size":{"sequences":19456,"window_blocks":98304}},
  // CHECK-NEXT: {"name":"ws","kind":"workspace","size":{"threads":256}},
  // CHECK-NEXT: {"name":"comm","kind":"communication","size":{"const":1024}}
  // CHECK-NEXT: ],
  plan.arena @act kind activations size(tokens * 512 + outputs * 4 + 64)
  plan.arena @w kind weights size(8192) rank_files ["w0.bin", "w1.bin"]
  plan.arena @none kind weights size(0) file "w.bin"
  plan.arena @pool kind state size(window_blocks * 98304 + sequences * 19456)
  plan.arena @ws kind workspace size(threads * 256)
  plan.arena @comm kind communication size(1024)

  // CHECK-NEXT: "slices": [
  // CHECK-NEXT: {"name":"x","arena":"act","offset":64,"size":{"tokens":256},"live":[0,3]},
  // CHECK-NEXT: {"name":"y","arena":"comm","offset":0,"size":{"sequences":256},"live":[0,0]}
  // CHECK-NEXT: ],
  plan.slice @x in @act size(tokens * 256) offset 64 live <0, 3>
  plan.slice @y in @comm size(sequences * 256) offset 0 live <0, 0>

  // CHECK-NEXT: "weights": [
  // CHECK-NEXT: {"name":"up","arena":"w","base":256,"stride":2624,"bytes":2560,"layers":{{\[\[}}0,2],[3,4]],"rows":64,"cols":64,"storage":"q4_1","layout":{"kind":"panels","tile":2},"interleave":16,"sources":[{"tensor":"{i}.gate","name":"gate","rows":32,"first_row":32,"of_rows":96,"transposed":true},{"zeros":true,"rows":32}]},
  // CHECK-NEXT: {"name":"norm","arena":"w","base":0,"stride":256,"bytes":256,"layers":[],"rows":1,"cols":64,"storage":"f32","layout":{"kind":"rows"},"interleave":0,"sources":[{"tensor":"norm","rows":1}]},
  // CHECK-NEXT: {"name":"freqs","arena":"w","base":8128,"stride":64,"bytes":64,"layers":[],"rows":4,"cols":1,"storage":"f32","layout":{"kind":"rows"},"interleave":0,"sources":[{"values":[1,-0.10000000149011612,1.1754943508222875e-38,3.4028234663852886e+38],"name":"inv_freq","rows":4}]}
  // CHECK-NEXT: ],
  plan.weights @up in @w layers <0 to 2, 3 to 4> rows 64 cols 64 storage q4_1
      layout #plan.panels<tile = 2> interleave 16 bytes 2560 base 256 stride 2624
      sources [#plan.source<"{i}.gate", rows = 32, first = 32, of = 96, transposed, name = "gate">, #plan.source<zeros, rows = 32>]
  plan.weights @norm in @w rows 1 cols 64 storage f32 layout #plan.rows bytes 256
      base 0 stride 256 sources [#plan.source<"norm", rows = 1>]
  plan.weights @freqs in @w rows 4 cols 1 storage f32 layout #plan.rows bytes 64
      base 8128 stride 64
      sources [#plan.source<values [1.0, -0.1, 1.17549435e-38, 3.40282347e+38], rows = 4,
                            name = "inv_freq">]

  // CHECK-NEXT: "states": [
  // CHECK-NEXT: {"name":"kv","arena":"pool","layers":{{\[\[}}0,4]],"kind":"paged","heads":3,"key_width":64,"value_width":64,"element":"f32","bytes_per_block":24576,"window":128},
  // CHECK-NEXT: {"name":"delta","arena":"pool","layers":{{\[\[}}0,2]],"kind":"recurrent","heads":4,"key_width":16,"value_width":32,"element":"f32","bytes_per_sequence":8192},
  // CHECK-NEXT: {"name":"taps","arena":"pool","layers":{{\[\[}}2,4]],"kind":"conv","heads":1,"key_width":3,"value_width":128,"element":"f32","bytes_per_sequence":1536}
  // CHECK-NEXT: ],
  plan.state @kv in @pool layers <0 to 4> kind paged heads 3 key_width 64 value_width 64
      element f32 bytes_per_block 24576 window 128
  plan.state @delta in @pool layers <0 to 2> kind recurrent heads 4 key_width 16 value_width 32
      element f32 bytes_per_sequence 8192
  plan.state @taps in @pool layers <2 to 4> kind conv heads 1 key_width 3 value_width 128
      element f32 bytes_per_sequence 1536

  // CHECK-NEXT: "variants": [
  // CHECK-NEXT: {"name":"avx2","suffix":"_avx2","requires":["avx2","fma"]}
  // CHECK-NEXT: ],
  plan.variant @avx2 suffix "_avx2" requires ["avx2", "fma"]

  // CHECK-NEXT: "kernels": [
  // CHECK-NEXT: {"name":"k","symbol":"llmc_k","generator":"cpu.row","scratch":256,"tokens_below":256,"positions_below":512,"contracts":[{"items":{"factor":18,"of":"tokens","tile":96},"operands":[{"kind":"slice","access":"write","bytes":{"tokens":256}},{"kind":"weights","access":"read","bytes":{"const":256}}]}]},
  // CHECK-NEXT: {"name":"g","symbol":"llmc_g","generator":"nvptx.row","scratch":0,"contracts":[{"items":{"factor":1,"of":"one"},"operands":[{"kind":"slice","access":"readwrite","bytes":{"const":64,"tokens":256}},{"kind":"state","access":"read","bytes":{"window_blocks":24576}}]},{"items":{"factor":2,"of":"outputs"},"operands":[]}],"device":{"file":"ptx/g.ptx","grid":[{"factor":1,"of":"tokens","tile":4},{"factor":2,"of":"one","plus":1}],"block":[128,2],"shared_bytes":1024}}
  // CHECK-NEXT: ],
  plan.kernel @k symbol "llmc_k" generator "cpu.row" scratch 256
      tokens_below 256 positions_below 512
      contracts [#plan.contract<<18, tokens tile 96>, <slice, write, tokens * 256>,
                                <weights, read, 256>>]
  plan.kernel @g symbol "llmc_g" generator "nvptx.row" scratch 0
      device <"ptx/g.ptx", grid = [<1, tokens tile 4>, <2, one plus 1>], block = [128, 2],
              shared_bytes = 1024>
      contracts [#plan.contract<<1, one>, <slice, readwrite, 64 + 256 * tokens>,
                                <state, read, window_blocks * 24576>>,
                 #plan.contract<<2, outputs>>]
  plan.group @tp ranks [0, 1]

  // CHECK-NEXT: "entries": [
  // CHECK-NEXT: {
  // CHECK-NEXT: "name": "forward",
  // CHECK-NEXT: "outputs": [
  // CHECK-NEXT: {"name":"logits","slice":"x","rows":"outputs","width":64,"element":"f32"}
  // CHECK-NEXT: ],
  // CHECK-NEXT: "steps": [
  plan.entry @forward {
    // CHECK-NEXT: {
    // CHECK-NEXT: "launch": {
    // CHECK-NEXT: "kernel": "k",
    // CHECK-NEXT: "operands": [
    // CHECK-NEXT: {"slice":"x","access":"write"},
    // CHECK-NEXT: {"weights":"norm","access":"read"}
    // CHECK-NEXT: ],
    // CHECK-NEXT: "items": {"factor":18,"of":"tokens","tile":96},
    // CHECK-NEXT: "remark": "first"
    // CHECK-NEXT: }
    // CHECK-NEXT: },
    plan.launch @k [#plan.use<@x, write>, #plan.use<@norm, read>]
        items <18, tokens tile 96> remark "first"
    // CHECK-NEXT: {
    // CHECK-NEXT: "repeat": {
    // CHECK-NEXT: "from": 0,
    // CHECK-NEXT: "count": 2,
    // CHECK-NEXT: "period": 1,
    // CHECK-NEXT: "steps": [
    plan.repeat from 0 count 2 period 1 {
      // CHECK: {"slice":"x","access":"readwrite"},
      // CHECK-NEXT: {"weights":"up","access":"read","layer":0},
      // CHECK-NEXT: {"state":"kv","access":"readwrite","layer":0}
      plan.launch @g [#plan.use<@x, readwrite>, #plan.use<@up, read, layer = 0>,
                      #plan.use<@kv, readwrite, layer = 0>] items <1, one>
      // CHECK: {"weights":"up","access":"read","layer":0},
      // CHECK-NEXT: {"state":"kv","access":"readwrite","fixed":1}
      plan.launch @g [#plan.use<@x, readwrite>, #plan.use<@up, read, layer = 0>,
                      #plan.use<@kv, readwrite fixed = 1>] items <1, one>
      // CHECK: {"observe":{"name":"heads","slice":"x","rows":"tokens","width":64,"heads":4}}
      plan.observe "heads" slice @x rows tokens width 64 heads 4
      // CHECK: {"observe":{"name":"layers.{i}.out","slice":"x","rows":"tokens","width":64,"layer":0}}
      plan.observe "layers.{i}.out" slice @x rows tokens width 64 layer 0
    }
    // CHECK: {"collective":{"kind":"all_reduce","slice":"x","group":"tp","element":"f32","count":{"tokens":64}}}
    plan.collective all_reduce @x group @tp element f32 count(tokens * 64)
    plan.output "logits" slice @x rows outputs width 64 element f32
  }

  // CHECK: "ranks": {
  // CHECK-NEXT: "count": 2,
  // CHECK-NEXT: "groups": [
  // CHECK-NEXT: {"name":"tp","ranks":[0,1]}
  // CHECK-NEXT: ]
  // CHECK-NEXT: },
  // CHECK-NEXT: "recompute_beyond": [
  // CHECK-NEXT: 128,
  // CHECK-NEXT: 256
  // CHECK-NEXT: ],
  // CHECK-NEXT: "tokenizer": {
  // CHECK-NEXT: "file": "tokenizer.json"
  // CHECK-NEXT: },
  // CHECK-NEXT: "accepted": [
  // CHECK-NEXT: {"key":"rope.scaling","value":"ignored"}
  // CHECK-NEXT: ]
  // CHECK-NEXT: }
}
