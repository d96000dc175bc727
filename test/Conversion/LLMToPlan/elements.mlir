// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// Arithmetic of heads: what is the same for a head or for all of them is read as it is, a weight
// where it lies, and results go over what dies.

!rows = tensor<?x16xf32>
!heads = tensor<?x4x4xf32>
!one = tensor<?x4xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!small = !llm.weight<[4, 16], #llm.dense<f32>>
!v = !llm.weight<[4], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "binary"
// CHECK: plan.entry @binary
// CHECK: plan.launch @[[LINEAR:linear[^ ]*]] [#plan.use<@stream, read>, {{.*}}, #plan.use<@[[A:product]], write>]
// CHECK-NEXT: plan.launch @rows_mul_4_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[A]], read>] items <4, tokens> remark "llm.binary"
// CHECK-NEXT: plan.launch @rows_add_4_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@scale, read>] items <4, tokens> remark "llm.binary"
// CHECK-NEXT: plan.launch @rows_mean_4_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[M:row_stat]], write>] items <4, tokens> remark "llm.row_stat"
// CHECK-NEXT: plan.launch @rows_sub_4_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[M]], read>] items <4, tokens> remark "llm.binary"
// CHECK-NEXT: plan.launch @rows_clamp_16_{{.*}} [#plan.use<@stream, readwrite>] items <1, tokens> remark "llm.clamp"
// CHECK-NEXT: plan.output "logits" slice @stream
module attributes {llm.model = {architecture = "binary"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @gain "gain" : !small
  llm.weight_family @scale "scale" : !v
  func.func @binary(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %gain = llm.param @gain : !small
    %scale = llm.param @scale : !v
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %g = llm.linear %x, %gain : !rows, !small -> !one
    %h = llm.split_heads %x : !rows -> !heads
    %a = llm.binary mul %h, %g : !heads, !one -> !heads
    %w = llm.weight_rows %scale, %batch : !v -> !one
    %r = llm.split_heads %w : !one -> tensor<?x1x4xf32>
    %b = llm.binary add %a, %r : !heads, tensor<?x1x4xf32> -> !heads
    %m = llm.row_stat mean %b : !heads -> tensor<?x4x1xf32>
    %c = llm.binary sub %b, %m : !heads, tensor<?x4x1xf32> -> !heads
    %d = llm.clamp %c max 7.0 : !heads
    %y = llm.merge_heads %d : !heads -> !rows
    return %y : !rows
  }
}

// -----

// Parts of a row and heads are seen where they lie; what must be moved is.

!rows = tensor<?x16xf32>
!heads = tensor<?x4x4xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "parts"
// CHECK: plan.entry @parts
// CHECK: plan.launch @embedding
// The head that is put comes from the value itself, which therefore is copied.
// CHECK-NEXT: plan.launch @rows_16_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[P:put]], write>]
// CHECK-NEXT: plan.launch @rows_4_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[P]], readwrite>] items <1, tokens> remark "llm.put"
// CHECK-NEXT: plan.launch @rows_12_{{.*}} [#plan.use<@[[P]], read>, #plan.use<@[[C:concat]], write>] items <1, tokens> remark "llm.concat"
// CHECK-NEXT: plan.launch @rows_4_{{.*}} [#plan.use<@[[P]], read>, #plan.use<@[[C]], write>] items <1, tokens> remark "llm.concat"
// CHECK-COUNT-4: plan.launch @rows_1_{{.*}} [#plan.use<@[[C]], read>, #plan.use<@[[T:transpose]], write>] items <4, tokens> remark "llm.transpose"
// CHECK-NEXT: plan.output "logits" slice @[[T]]
module attributes {llm.model = {architecture = "parts"}} {
  llm.weight_family @embed "embed" : !table
  func.func @parts(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %h = llm.split_heads %x : !rows -> !heads
    %t = llm.take %h[3] : !heads -> tensor<?x4xf32>
    %p = llm.put %h[1], %t : !heads, tensor<?x4xf32>
    %q = llm.merge_heads %p : !heads -> !rows
    %a = llm.slice %q from 0 size 4 : !rows -> tensor<?x4xf32>
    %b = llm.slice %q from 4 size 12 : !rows -> tensor<?x12xf32>
    %c = llm.concat %b, %a : tensor<?x12xf32>, tensor<?x4xf32> -> !rows
    %d = llm.split_heads %c : !rows -> !heads
    %e = llm.transpose %d : !heads -> !heads
    %y = llm.merge_heads %e : !heads -> !rows
    return %y : !rows
  }
}

// -----

// Layers that take their own part of a value know their number; a value for all layers is written
// by none.

!rows = tensor<?x4xf32>
!heads = tensor<?x3x4xf32>
!table = !llm.weight<[40, 4], #llm.dense<f32>>
!wide = !llm.weight<[40, 12], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "layers"
// CHECK: plan.weights @layer in @weights layers <0 to 3> rows 1 cols 1 storage f32 layout #plan.rows bytes 64
// CHECK-SAME: sources [#plan.source<values [0.000000e+00, 1.000000e+00, 2.000000e+00], rows = 1>]
// CHECK: plan.repeat from 0 count 3 period 1
// CHECK-NEXT: plan.launch @rows_4_{{.*}} [#plan.use<@stream.1, read>, #plan.use<@[[T:take]], write>, #plan.use<@layer, read, layer = 0>] items <1, tokens> remark "llm.take"
// CHECK-NEXT: plan.launch @rows_silu_4_{{.*}} [#plan.use<@[[T]], readwrite>]
// CHECK-NEXT: plan.launch @rows_add_4_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[T]], read>]
module attributes {llm.model = {architecture = "layers", layers = 3}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @parts "parts" : !wide
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch, %p: !heads) -> !rows {
    %t = llm.take %p[%i + 0] : !heads -> !rows
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

// -----

// Two values that layers exchange: what lies where the other has to go is saved first.

!rows = tensor<?x8xf32>

// CHECK-LABEL: plan.program {{.*}} architecture = "exchange"
// CHECK: plan.repeat from 0 count 1 period 1
// CHECK-NEXT: plan.launch @[[COPY:rows_8_[^ ]*]] [#plan.use<@input.1, read>, #plan.use<@[[A:carried]], write>]
// CHECK-NEXT: plan.launch @[[COPY]] [#plan.use<@input, read>, #plan.use<@[[B:carried.1]], write>]
// CHECK-NEXT: plan.launch @[[COPY]] [#plan.use<@[[A]], read>, #plan.use<@input, write>]
// CHECK-NEXT: plan.launch @[[COPY]] [#plan.use<@[[B]], read>, #plan.use<@input.1, write>]
module attributes {llm.model = {architecture = "exchange"}} {
  func.func private @layer(%i: index, %x: !rows, %y: !rows) -> (!rows, !rows) {
    return %y, %x : !rows, !rows
  }
  func.func @main(%x: !rows, %y: !rows) -> !rows attributes {llm.entry} {
    %a:2 = llm.repeat [@layer] from 0 count 1 (%x, %y) : (!rows, !rows)
    return %a#0 : !rows
  }
}
