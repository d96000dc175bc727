// The assembler takes what every target's generator writes: sums in shared memory, rows kept
// there, two reductions, several rows a token.

// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// RUN: llmc-opt %s --target=nvidia-sm80 --weights=none -o %t/sm80
// RUN: llmc-opt %s --target=nvidia-sm90 --weights=none -o %t/sm90
// RUN: ls %t/sm80/ptx/*.ptx | xargs -I {} ptxas -arch=sm_80 {} -o %t/80.cubin
// RUN: ls %t/sm80/ptx/*.ptx | xargs -I {} ptxas -arch=sm_90 {} -o %t/90.cubin
// RUN: ls %t/sm90/ptx/*.ptx | xargs -I {} ptxas -arch=sm_90 {} -o %t/90.cubin
// RUN: FileCheck %s < %t/sm90/manifest.json

// Where ptxas is, code for the chip lies beside the PTX.
// CHECK: ptx/rows_{{.*}}.cubin

!wide = !llm.weight<[1000], #llm.dense<f32>>
!head = !llm.weight<[64], #llm.dense<f32>>
!rows = tensor<?x1000xf32>
!heads = tensor<?x4x64xf32>
module attributes {llm.model = {architecture = "stage", context_length = 128 : i64, hidden_size = 1000 : i64, vocab_size = 1000 : i64, parameters = 576 : i64}} {
  llm.weight_family @scale "norm.weight" : !wide
  llm.weight_family @bias "norm.bias" : !wide
  llm.weight_family @head "head.weight" : !head
  func.func @stage(%x: !rows, %d: !rows, %q: !heads) -> (!rows, !rows, !heads) attributes {llm.entry} {
    %w = llm.param @scale : !wide
    %b = llm.param @bias : !wide
    %h = llm.param @head : !head
    %sum = llm.residual_add %x, %d : !rows
    %y = llm.layer_norm %sum, %w bias %b eps 1.0e-5 : !rows, !wide, !wide
    %r = llm.activation relu %d : !rows
    %n = llm.rms_norm %q, %h eps 1.0e-6 offset 1.0 : !heads, !head
    return %y, %r, %n : !rows, !rows, !heads
  }
}
