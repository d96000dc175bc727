// What no generator of the target computes is named, and nothing is written.

// RUN: rm -rf %t && mkdir %t && split-file %s %t/in
// RUN: not llmc-opt %t/in/linear.mlir --target=nvidia-sm80 --weights=none -o %t/out 2>&1 | FileCheck %s --check-prefix=LINEAR
// RUN: not llmc-opt %t/in/silu.mlir --target=nvidia-sm80 --weights=none -o %t/out 2>&1 | FileCheck %s --check-prefix=SILU
// RUN: not llmc-opt %t/in/wide.mlir --target=nvidia-sm80 --weights=none -o %t/out 2>&1 | FileCheck %s --check-prefix=WIDE
// RUN: not llmc-opt %t/in/silu.mlir --target=nvidia-sm10 --weights=none -o %t/out 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not ls %t/out
// RUN: not llmc-opt %t/in/plan.mlir --llmc-generate-device-kernels 2>&1 | FileCheck %s --check-prefix=GENERATOR

// LINEAR: error: 'llm.linear' op has no kernel for nvidia-sm80: generator 'linear' writes code for CPUs only (at {{.*}}linear.mlir
// SILU: error: 'llm.activation' op has no kernel for nvidia-sm80: silu needs a transcendental function, which has no polynomial on this target (at {{.*}}silu.mlir
// WIDE: error: 'llm.fusion' op has no kernel for nvidia-sm80: rows of 16384 elements need 65568 bytes of shared memory, a block has 49152
// TARGET: --target=nvidia-sm10 is no target; known: cpu, nvidia-sm80, nvidia-sm90
// GENERATOR: error: has generator 'hand', known for nvidia-sm80: nvptx.rows

//--- linear.mlir
!w = !llm.weight<[64, 64], #llm.dense<f32>>
module attributes {llm.model = {architecture = "stage", context_length = 128 : i64, hidden_size = 64 : i64, vocab_size = 64 : i64, parameters = 1 : i64}} {
  llm.weight_family @w "w" : !w
  func.func @stage(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    %w = llm.param @w : !w
    %y = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

//--- silu.mlir
module attributes {llm.model = {architecture = "stage", context_length = 128 : i64, hidden_size = 64 : i64, vocab_size = 64 : i64, parameters = 1 : i64}} {
  func.func @stage(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    %y = llm.activation silu %x : tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

//--- wide.mlir
// The sum is kept for the norm's second pass and is no result.
!w = !llm.weight<[16384], #llm.dense<f32>>
!rows = tensor<?x16384xf32>
module attributes {llm.model = {architecture = "stage", context_length = 128 : i64, hidden_size = 16384 : i64, vocab_size = 64 : i64, parameters = 1 : i64}} {
  llm.weight_family @w "w" : !w
  func.func @stage(%x: !rows, %d: !rows) -> !rows attributes {llm.entry} {
    %w = llm.param @w : !w
    %sum = llm.residual_add %x, %d : !rows
    %y = llm.rms_norm %sum, %w eps 1.0e-5 : !rows, !w
    return %y : !rows
  }
}

//--- plan.mlir
plan.program producer(<name = "t", version = "0", toolchain = "t">)
    model(<name = "m", architecture = "m", description = "m", vocab_size = 64, hidden_size = 64, layers = 1, context_length = 128, parameters = 1>)
    target(<device = "nvidia-sm80", triple = "nvptx64-nvidia-cuda">)
    limits(<max_tokens = 64, max_sequences = 4, max_context = 128, block_tokens = 16, blocks = 8>) {
  plan.kernel @k symbol "k" generator "hand" scratch 0 device <"ptx/k.ptx", grid = [<1, tokens>], block = [256], shared_bytes = 0>
}
