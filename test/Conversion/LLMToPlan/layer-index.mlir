// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// A number in place of the layer's index is that layer's member, in whichever layer it is read.
// A launch that reads it together with weights of each layer has a copy of it for each.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "numbers"
// CHECK-DAG: plan.weights @norm.2 in @weights rows 16 cols 1 {{.*}} sources [#plan.source<"l.2.norm", rows = 16, name = "layers.2.norm">]
// CHECK-DAG: plan.weights @q.1_k in @weights layers <0 to 3> rows 32 cols 16 {{.*}} sources [#plan.source<"layers.1.q", rows = 16, name = "layers.1.q">, #plan.source<"layers.{i}.k", rows = 16, name = "layers.{i}.k">]
// CHECK-DAG: plan.weights @scale.1 in @weights rows 16 cols 1 {{.*}} sources [#plan.source<values [2.000000e+00, {{.*}}>]
// CHECK: plan.launch @embedding
// CHECK: plan.repeat from 0 count 3 period 1 {
// CHECK: #plan.use<@norm.2, read>
// CHECK: #plan.use<@q.1_k, read, layer = 0>
// CHECK: plan.observe "sum.1.2" slice
// CHECK: plan.observe "hidden.{i+1}" slice {{.*}} layer 0
// CHECK: #plan.use<@scale.1, read>
module attributes {llm.model = {architecture = "numbers", layers = 3 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @norm "layers.{i}.norm" from "l.{i}.norm" layers [0, 3] : !v
  llm.weight_family @q "layers.{i}.q" layers [0, 3] : !w
  llm.weight_family @k "layers.{i}.k" layers [0, 3] : !w
  llm.weight_family @scale "layers.{i}.scale" values [1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2., 2.] layers [0, 2] : !v
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer] from 0 count 3 (%x) with (%batch) : (!rows) with (!llm.batch)
    %c1 = arith.constant 1 : index
    %scale = llm.param @scale[%c1] : !v
    %z = llm.rms_norm %y, %scale eps 0.001 : !rows, !v
    return %z : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %norm = llm.param @norm[%c2] : !v
    %n = llm.rms_norm %x, %norm eps 0.001 : !rows, !v
    %q = llm.param @q[%c1] : !w
    %k = llm.param @k[%i] : !w
    %a:2 = llm.fusion "qkv-linear" (%n, %q, %k) : (!rows, !w, !w) -> (!rows, !rows) {
    ^bb0(%in: !rows, %wq: !w, %wk: !w):
      %0 = llm.linear %in, %wq : !rows, !w -> !rows
      %1 = llm.linear %in, %wk : !rows, !w -> !rows
      llm.yield %0, %1 : !rows, !rows
    }
    %s = llm.residual_add %a#0, %a#1 : !rows
    llm.observe %s "sum.{i}.{i+1}"[%c1] : !rows
    %y = llm.residual_add %x, %s : !rows
    llm.observe %y "hidden.{i+1}"[%i] : !rows
    return %y : !rows
  }
}

// -----

// Heads counted from a number are where they are, without the layer's.

!rows = tensor<?x4xf32>
!heads = tensor<?x3x4xf32>
!table = !llm.weight<[40, 4], #llm.dense<f32>>
!wide = !llm.weight<[40, 12], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "heads"
// CHECK-NOT: plan.weights @layer
// CHECK: plan.kernel @[[SILU:rows_silu_4_[a-z0-9]+]] {{.*}} op = "input", operand = {inner = 4 : i64, offset = 8 : i64, stride = 12 : i64}
// CHECK: plan.repeat from 0 count 3 period 1
// CHECK-NEXT: plan.launch @[[SILU]] [#plan.use<@stream.1, read>, #plan.use<@activation, write>]
module attributes {llm.model = {architecture = "heads", layers = 3}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @parts "parts" : !wide
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch, %p: !heads) -> !rows {
    %c1 = arith.constant 1 : index
    %t = llm.take %p[%c1 + 1] : !heads -> !rows
    %a = llm.activation silu %t : !rows
    %y = llm.residual_add %x, %a : !rows
    return %y : !rows
  }
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %wide = llm.param @parts : !wide
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %w = llm.embedding %tokens, %wide : tensor<?xi32>, !wide -> tensor<?x12xf32>
    %p = llm.split_heads %w : tensor<?x12xf32> -> !heads
    %y = llm.repeat [@layer] from 0 count 3 (%x) with (%batch, %p)
        : (!rows) with (!llm.batch, !heads)
    return %y : !rows
  }
}
