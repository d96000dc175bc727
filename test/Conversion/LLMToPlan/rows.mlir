// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// Row operations: in place over the first input that dies, else into a slice of their own.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "norms"
// CHECK: plan.weights @[[NORM:norm]] in @weights rows 16 cols 1 storage f32 layout #plan.rows bytes 64
// CHECK: plan.entry @norms
// The stream is read again by the last sum: the first norm is not in place.
// CHECK: plan.launch @rows_rmsnorm_16_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[NORM]], read>, #plan.use<@[[A:rms_norm]], write>] items <1, tokens> remark "llm.rms_norm"
// CHECK-NEXT: plan.launch @rows_layernorm_16_{{.*}} [#plan.use<@[[A]], readwrite>, #plan.use<@[[NORM]], read>, #plan.use<@shift, read>] items <1, tokens> remark "llm.layer_norm"
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[A]], readwrite>] items <1, tokens> remark "llm.scale"
// CHECK-NEXT: plan.launch @rows_add_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[A]], read>] items <1, tokens> remark "llm.residual_add"
// CHECK-NEXT: plan.output "logits" slice @stream
module attributes {llm.model = {architecture = "norms"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @norm "norm" : !v
  llm.weight_family @shift "shift" : !v
  func.func @norms(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %scale = llm.param @norm : !v
    %shift = llm.param @shift : !v
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %a = llm.rms_norm %x, %scale eps 0.001 : !rows, !v
    %b = llm.layer_norm %a, %scale bias %shift eps 0.001 : !rows, !v, !v
    %c = llm.scale %b by 0.5 : !rows
    %y = llm.residual_add %x, %c : !rows
    return %y : !rows
  }
}

// -----

// A norm over heads has one item for every head of a token.

!rows = tensor<?x16xf32>
!heads = tensor<?x4x4xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!v = !llm.weight<[4], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "heads"
// CHECK: plan.entry @heads
// CHECK: plan.launch @rows_rmsnorm_4_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@norm, read>] items <4, tokens> remark "llm.rms_norm"
// CHECK-NEXT: plan.output "logits" slice @stream rows tokens width 16
module attributes {llm.model = {architecture = "heads"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @norm "norm" : !v
  func.func @heads(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %scale = llm.param @norm : !v
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %h = llm.split_heads %x : !rows -> !heads
    %n = llm.rms_norm %h, %scale eps 0.001 : !heads, !v
    %y = llm.merge_heads %n : !heads -> !rows
    return %y : !rows
  }
}

// -----

// residual-norm: the sum and its norm in one launch, each in place of what it reads last.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!v = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "residual_norm"
// CHECK: plan.entry @residual_norm
// CHECK: plan.launch @rows_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[A:activation]], write>] {{.*}} remark "llm.activation"
// CHECK-NEXT: plan.launch @rows_add_rmsnorm_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[A]], readwrite>, #plan.use<@norm, read>] items <1, tokens> remark "residual-norm"
// CHECK-NEXT: plan.launch @rows_silu_mul_16_{{.*}} [#plan.use<@stream, readwrite>, #plan.use<@[[A]], read>] {{.*}} remark "llm.gate"
module attributes {llm.model = {architecture = "residual_norm"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @norm "norm" : !v
  func.func @residual_norm(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows
      attributes {llm.entry} {
    %table = llm.param @embed : !table
    %scale = llm.param @norm : !v
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %a = llm.activation silu %x : !rows
    %s:2 = llm.fusion "residual-norm" (%x, %a, %scale) : (!rows, !rows, !v) -> (!rows, !rows) {
    ^bb0(%stream: !rows, %delta: !rows, %weight: !v):
      %0 = llm.residual_add %stream, %delta : !rows
      %1 = llm.rms_norm %0, %weight eps 0.001 : !rows, !v
      llm.yield %0, %1 : !rows, !rows
    }
    %y = llm.gate silu %s#0, %s#1 : !rows
    return %y : !rows
  }
}

// -----

// Rows that are chosen are never in place: another row may still be read.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "chosen"
// CHECK: plan.entry @chosen
// CHECK: plan.launch @rows_16_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[R:select_rows]], write>] items <1, outputs> remark "llm.select_rows"
// CHECK-NEXT: plan.observe "rows" slice @[[R]] rows outputs width 16
// CHECK-NEXT: plan.output "logits" slice @[[R]] rows outputs width 16
module attributes {llm.model = {architecture = "chosen"}} {
  llm.weight_family @embed "embed" : !table
  func.func @chosen(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %r = llm.select_rows %x, %batch : !rows
    llm.observe %r "rows" : !rows
    return %r : !rows
  }
}

// -----

!wide = tensor<?x24xf32>
!part = tensor<?x8xf32>
!wide_w = !llm.weight<[24, 8], #llm.dense<f32>>
!square_w = !llm.weight<[8, 8], #llm.dense<f32>>

// Over columns of longer rows only what nothing reads as whole rows: the product would copy it.
// CHECK-LABEL: plan.entry @columns
// CHECK: plan.launch @linear_{{.*}} #plan.use<@[[WIDE:product[.0-9]*]], write>]
// CHECK: plan.launch @rows_scale_{{.*}} [#plan.use<@[[WIDE]], readwrite>]
// CHECK: plan.launch @rows_silu_{{.*}} [#plan.use<@[[WIDE]], read>, #plan.use<@[[OWN:[a-z.0-9]+]], write>]
// CHECK-NOT: copy:
// CHECK: plan.launch @linear_{{.*}}residual{{.*}} [#plan.use<@[[OWN]], read>
module attributes {llm.model = {architecture = "columns", context_length = 32}} {
  llm.weight_family @embed "embed" : !square_w
  llm.weight_family @wide "wide" : !wide_w
  llm.weight_family @down "down" : !square_w
  func.func @columns(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !part attributes {llm.entry} {
    %table = llm.param @embed : !square_w
    %w = llm.param @wide : !wide_w
    %d = llm.param @down : !square_w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !square_w -> !part
    %p = llm.linear %x, %w : !part, !wide_w -> !wide
    %a = llm.slice %p from 8 size 8 : !wide -> !part
    %s = llm.scale %a by 0.5 : !part
    %y = llm.activation silu %s : !part
    %sum = llm.fusion "linear-residual" (%y, %d, %x) : (!part, !square_w, !part) -> !part {
    ^bb0(%rows: !part, %weight: !square_w, %stream: !part):
      %0 = llm.linear %rows, %weight : !part, !square_w -> !part
      %1 = llm.residual_add %stream, %0 : !part
      llm.yield %1 : !part
    }
    %r = llm.select_rows %sum, %batch : !part
    %logits = llm.output_head %r, %table : !part, !square_w -> !part
    return %logits : !part
  }
}
