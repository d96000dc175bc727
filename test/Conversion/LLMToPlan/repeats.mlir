// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// Two kinds by turns: one repeat of period 2, in which weights and observations count layers from
// the first of the period. Each family packs its own layers.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "alternating"
// CHECK-DAG: plan.weights @even in @weights layers <0 to 1, 2 to 3, 4 to 5> rows 16
// CHECK-DAG: plan.weights @odd in @weights layers <1 to 2, 3 to 4, 5 to 6> rows 16
// CHECK: plan.entry @alternating
// CHECK-NEXT: plan.launch @embedding
// CHECK-NEXT: plan.repeat from 0 count 3 period 2 {
// CHECK-NEXT: plan.launch @rows_rmsnorm_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@even, read, layer = 0>]
// CHECK-NEXT: plan.observe "hidden.{i+1}" slice @stream rows tokens width 16 layer 0
// CHECK-NEXT: plan.launch @rows_rmsnorm_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@odd, read, layer = 1>]
// CHECK-NEXT: plan.observe "hidden.{i+1}" slice @stream rows tokens width 16 layer 1
// CHECK-NEXT: {{^ +[}]$}}
// CHECK-NEXT: plan.output "logits" slice @stream
module attributes {llm.model = {architecture = "alternating", layers = 6 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @even "layers.{i}.even" layers [0, 1, 2, 3, 4, 5] : !v
  llm.weight_family @odd "layers.{i}.odd" layers [1, 2, 3, 4, 5, 6] : !v
  func.func @alternating(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows
      attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@even_layer, @odd_layer] from 0 count 3 (%x) with (%batch)
        : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @even_layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %scale = llm.param @even[%i] : !v
    %y = llm.rms_norm %x, %scale eps 0.001 : !rows, !v
    llm.observe %y "hidden.{i+1}"[%i] : !rows
    return %y : !rows
  }
  func.func private @odd_layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %scale = llm.param @odd[%i] : !v
    %y = llm.rms_norm %x, %scale eps 0.001 : !rows, !v
    llm.observe %y "hidden.{i+1}"[%i] : !rows
    return %y : !rows
  }
}

// -----

// What enters the layers is read again after them: they carry a copy.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "needed_later"
// CHECK: plan.entry @needed_later
// CHECK-NEXT: plan.launch @embedding{{.*}}#plan.use<@stream, write>
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[OWN:stream.1]], write>] {{.*}} remark "copy: layers change the stream, and what enters them is still needed"
// CHECK-NEXT: plan.repeat from 0 count 2 period 1 {
// CHECK-NEXT: plan.launch @rows_rmsnorm_16_{{.*}} [#plan.use<@[[OWN]], readwrite>, #plan.use<@norm, read, layer = 0>]
// CHECK-NEXT: {{^ +[}]$}}
// CHECK-NEXT: plan.launch @rows_add_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[OWN]], read>]
module attributes {llm.model = {architecture = "needed_later", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @norm "layers.{i}.norm" layers [0, 2] : !v
  func.func @needed_later(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows
      attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %l = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    %y = llm.residual_add %x, %l : !rows
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %scale = llm.param @norm[%i] : !v
    %y = llm.rms_norm %x, %scale eps 0.001 : !rows, !v
    return %y : !rows
  }
}

// -----

// A layer whose result is another slice than the carried one ends in a copy to it; the same
// function twice has memory of its own each time.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "copied"
// CHECK: plan.entry @copied
// CHECK: plan.repeat from 0 count 1 period 2 {
// CHECK-NEXT: plan.launch @linear_{{.*}} [#plan.use<@stream, read>, #plan.use<@w, read, layer = 0>, #plan.use<@[[A:product]], write>]
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[A]], read>, #plan.use<@stream, write>]
// CHECK-NEXT: plan.launch @linear_{{.*}} [#plan.use<@stream, read>, #plan.use<@w, read, layer = 1>, #plan.use<@[[B:product.1]], write>]
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[B]], read>, #plan.use<@stream, write>]
// CHECK-NEXT: {{^ +[}]$}}
// CHECK-NEXT: plan.output "logits" slice @stream
module attributes {llm.model = {architecture = "copied", layers = 2 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "layers.{i}.w" layers [0, 2] : !w
  func.func @copied(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows
      attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@layer, @layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %w = llm.param @w[%i] : !w
    %y = llm.linear %x, %w : !rows, !w -> !rows
    return %y : !rows
  }
}

// -----

// A weight is packed for the layers of the function that uses it. The two kinds fuse @q with
// different neighbours, and no member of @q is packed twice.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
!v = !llm.weight<[16, 16], #llm.dense<f16>>

// CHECK-LABEL: plan.program {{.*}} architecture = "kinds"
// CHECK: plan.weights @[[BOTH:q_v]] in @weights layers <0 to 1, 2 to 3> rows 32
// CHECK: plan.weights @[[Q:q]] in @weights layers <1 to 2, 3 to 4> rows 16
// CHECK: plan.weights @[[V:v.*]] in @weights layers <1 to 2, 3 to 4> rows 16
// CHECK-NOT: plan.weights
// CHECK: plan.entry
module attributes {llm.model = {architecture = "kinds", layers = 4 : i64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @q "q.{i}" layers [0, 4] : !w
  llm.weight_family @v "v.{i}" layers [0, 1, 2, 3] : !w
  llm.weight_family @v_1 "v.{i}" layers [1, 2, 3, 4] : !v
  func.func @main(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.repeat [@even, @odd] from 0 count 2 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @even(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %q = llm.param @q[%i] : !w
    %v = llm.param @v[%i] : !w
    %p:2 = llm.fusion "qkv-linear" (%x, %q, %v) : (!rows, !w, !w) -> (!rows, !rows) {
    ^bb0(%a: !rows, %b: !w, %c: !w):
      %0 = llm.linear %a, %b : !rows, !w -> !rows
      %1 = llm.linear %a, %c : !rows, !w -> !rows
      llm.yield %0, %1 : !rows, !rows
    }
    %y = llm.residual_add %p#0, %p#1 : !rows
    return %y : !rows
  }
  func.func private @odd(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %q = llm.param @q[%i] : !w
    %v = llm.param @v_1[%i] : !v
    %a = llm.linear %x, %q : !rows, !w -> !rows
    %b = llm.linear %x, %v : !rows, !v -> !rows
    %y = llm.residual_add %a, %b : !rows
    return %y : !rows
  }
}
