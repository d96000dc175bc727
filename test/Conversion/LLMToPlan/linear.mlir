// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file | FileCheck %s

// The embedding and the products: what a launch reads and writes, in which order, and how its
// work is divided.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>

// A tied table is packed once, for the product; the head works on the rows of outputs.

// CHECK-LABEL: plan.program {{.*}} architecture = "tied"
// CHECK: plan.weights @[[TABLE:embed]] in @weights rows 40 cols 16 storage f32 layout #plan.panels<tile = 2>
// CHECK-SAME: sources [#plan.source<"embed.weight", rows = 40, name = "embed.weight">]
// CHECK-NOT: plan.weights
// CHECK: plan.slice @[[STREAM:stream]] in @activations size(tokens * 64)
// CHECK: plan.slice @[[ROWS:select_rows]] in @activations size(outputs * 64)
// CHECK: plan.slice @[[LOGITS:logits]] in @activations size(outputs * 160)
// CHECK: plan.entry @tied
// CHECK-NEXT: plan.launch @embedding_f32_n40_d16{{.*}} [#plan.use<@[[TABLE]], read>, #plan.use<@[[STREAM]], write>] items <1, tokens> remark "embedding"
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[STREAM]], read>, #plan.use<@[[ROWS]], write>] items <1, outputs> remark "llm.select_rows"
// CHECK-NEXT: plan.launch @linear_f32_n40_k16_{{.*}}outputs [#plan.use<@[[ROWS]], read>, #plan.use<@[[TABLE]], read>, #plan.use<@[[LOGITS]], write>] items <2, outputs tile {{[0-9]+}}> remark "llm.output_head"
// CHECK-NEXT: plan.output "logits" slice @[[LOGITS]] rows outputs width 40 element f32
module attributes {llm.model = {architecture = "tied"}} {
  llm.weight_family @embed "embed.weight" : !table
  func.func @tied(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x40xf32>
      attributes {llm.entry} {
    %table = llm.param @embed : !table
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %r = llm.select_rows %x, %batch : !rows
    %y = llm.output_head %r, %table : !rows, !table -> tensor<?x40xf32>
    return %y : tensor<?x40xf32>
  }
}

// -----

// A bias is one more operand, between the weight and the result; the input is only read.

!rows = tensor<?x16xf32>
!wide = tensor<?x24xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[24, 16], #llm.dense<f32>>
!b = !llm.weight<[24], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "bias"
// CHECK: plan.weights @w in @weights rows 24 cols 16 storage f32 layout #plan.panels<tile = 2>
// CHECK: plan.weights @b in @weights rows 24 cols 1 storage f32 layout #plan.rows
// CHECK: plan.entry @bias
// CHECK: plan.launch @linear_f32_n24_k16_{{.*}}bias{{.*}} [#plan.use<@stream, read>, #plan.use<@w, read>, #plan.use<@b, read>, #plan.use<@[[Y:product]], write>] items <1, tokens tile {{[0-9]+}}> remark "llm.linear"
// CHECK-NEXT: plan.output "logits" slice @[[Y]] rows tokens width 24
module attributes {llm.model = {architecture = "bias"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "w" : !w
  llm.weight_family @b "b" : !b
  func.func @bias(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !wide attributes {llm.entry} {
    %table = llm.param @embed : !table
    %w = llm.param @w : !w
    %b = llm.param @b : !b
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.linear %x, %w bias %b : !rows, !w, !b -> !wide
    return %y : !wide
  }
}

// -----

// qkv-linear: one packed weight, one result whose columns are q, k and v; a product without a
// bias beside ones with gets zeros.

!rows = tensor<?x16xf32>
!kv = tensor<?x8xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!wq = !llm.weight<[16, 16], #llm.dense<f32>>
!wk = !llm.weight<[8, 16], #llm.dense<f32>>
!bk = !llm.weight<[8], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "qkv"
// CHECK: plan.weights @[[W:q_k_v]] in @weights rows 32 cols 16
// CHECK-SAME: sources [#plan.source<"q", rows = 16, name = "q">, #plan.source<"k", rows = 8, name = "k">, #plan.source<"v", rows = 8, name = "v">]
// CHECK: plan.weights @[[B:.*bk.*]] in @weights rows 32 cols 1
// CHECK-SAME: sources [#plan.source<zeros, rows = 16>, #plan.source<"bk", rows = 8, name = "bk">, #plan.source<zeros, rows = 8>]
// CHECK: plan.slice @[[QKV:product]] in @activations size(tokens * 128)
// CHECK: plan.entry @qkv
// CHECK: plan.launch @linear_f32_n32_k16_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[W]], read>, #plan.use<@[[B]], read>, #plan.use<@[[QKV]], write>] {{.*}} remark "qkv-linear"
// The columns of k, alone, are rows with a stride; an output is a slice of its own.
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[QKV]], readwrite>] items <1, tokens> remark "llm.activation"
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[QKV]], read>, #plan.use<@[[OUT:output]], write>] items <1, tokens>
// CHECK-NEXT: plan.output "logits" slice @[[OUT]] rows tokens width 8
module attributes {llm.model = {architecture = "qkv"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @q "q" : !wq
  llm.weight_family @k "k" : !wk
  llm.weight_family @v "v" : !wk
  llm.weight_family @bk "bk" : !bk
  func.func @qkv(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !kv attributes {llm.entry} {
    %table = llm.param @embed : !table
    %q = llm.param @q : !wq
    %k = llm.param @k : !wk
    %v = llm.param @v : !wk
    %bk = llm.param @bk : !bk
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y:3 = llm.fusion "qkv-linear" (%x, %q, %k, %v, %bk) : (!rows, !wq, !wk, !wk, !bk) -> (!rows, !kv, !kv) {
    ^bb0(%a: !rows, %wq: !wq, %wk: !wk, %wv: !wk, %b: !bk):
      %0 = llm.linear %a, %wq : !rows, !wq -> !rows
      %1 = llm.linear %a, %wk bias %b : !rows, !wk, !bk -> !kv
      %2 = llm.linear %a, %wv : !rows, !wk -> !kv
      llm.yield %0, %1, %2 : !rows, !kv, !kv
    }
    %z = llm.activation silu %y#1 : !kv
    return %z : !kv
  }
}

// -----

// gated-linear: gate and up alternate in panels of 16 rows, gate first whatever the order of the
// products, and the result is as wide as one of them. (The function's own name is taken.)

!rows = tensor<?x16xf32>
!wide = tensor<?x24xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[24, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "gated"
// CHECK: plan.weights @[[W:gate_up]] in @weights rows 64 cols 16 storage f32 layout #plan.panels<tile = {{[0-9]+}}> interleave 16
// CHECK-SAME: sources [#plan.source<"gate", rows = 24, name = "gate">, #plan.source<"up", rows = 24, name = "up">]
// CHECK: plan.slice @[[Y:gated.1]] in @activations size(tokens * 96)
// CHECK: plan.entry @gated
// CHECK: plan.launch @linear_f32_n64_k16_{{.*}}gelu_tanh{{.*}}gated{{.*}} [#plan.use<@stream, read>, #plan.use<@[[W]], read>, #plan.use<@[[Y]], write>] {{.*}} remark "gated-linear"
module attributes {llm.model = {architecture = "gated"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @gate "gate" : !w
  llm.weight_family @up "up" : !w
  func.func @gated(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !wide attributes {llm.entry} {
    %table = llm.param @embed : !table
    %gate = llm.param @gate : !w
    %up = llm.param @up : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.fusion "gated-linear" (%x, %up, %gate) : (!rows, !w, !w) -> !wide {
    ^bb0(%a: !rows, %wu: !w, %wg: !w):
      %u = llm.linear %a, %wu : !rows, !w -> !wide
      %g = llm.linear %a, %wg : !rows, !w -> !wide
      %r = llm.gate gelu_tanh %g, %u : !wide
      llm.yield %r : !wide
    }
    return %y : !wide
  }
}

// -----

// linear-residual adds in place of a stream that dies here …

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "in_place"
// CHECK: plan.entry @in_place
// CHECK: plan.launch @rows_{{.*}} [#plan.use<@stream, read>, #plan.use<@[[A:activation]], write>]
// CHECK-NEXT: plan.launch @linear_f32_n16_k16_{{.*}}residual_inplace [#plan.use<@[[A]], read>, #plan.use<@w, read>, #plan.use<@stream, readwrite>] {{.*}} remark "linear-residual"
// CHECK-NEXT: plan.output "logits" slice @stream
module attributes {llm.model = {architecture = "in_place"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "w" : !w
  func.func @in_place(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %w = llm.param @w : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %a = llm.activation silu %x : !rows
    %y = llm.fusion "linear-residual" (%a, %w, %x) : (!rows, !w, !rows) -> !rows {
    ^bb0(%in: !rows, %weight: !w, %stream: !rows):
      %p = llm.linear %in, %weight : !rows, !w -> !rows
      %s = llm.residual_add %stream, %p : !rows
      llm.yield %s : !rows
    }
    return %y : !rows
  }
}

// -----

// … and into a slice of its own where the stream is read again.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "needed_later"
// CHECK: plan.entry @needed_later
// CHECK: plan.launch @linear_f32_n16_k16_{{.*}}residual [#plan.use<@[[A:activation]], read>, #plan.use<@w, read>, #plan.use<@stream, read>, #plan.use<@[[SUM:sum]], write>] {{.*}} remark "linear-residual"
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@stream, {{read|readwrite}}>, #plan.use<@[[SUM]], {{read|readwrite}}>] {{.*}} remark "llm.residual_add"
module attributes {llm.model = {architecture = "needed_later"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "w" : !w
  func.func @needed_later(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %w = llm.param @w : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %a = llm.activation silu %x : !rows
    %y = llm.fusion "linear-residual" (%a, %w, %x) : (!rows, !w, !rows) -> !rows {
    ^bb0(%in: !rows, %weight: !w, %stream: !rows):
      %p = llm.linear %in, %weight : !rows, !w -> !rows
      %s = llm.residual_add %stream, %p : !rows
      llm.yield %s : !rows
    }
    %z = llm.residual_add %x, %y : !rows
    return %z : !rows
  }
}

// -----

// … and where it is the product's own input: no row is overwritten that is still read.

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "own_input"
// CHECK: plan.entry @own_input
// CHECK: plan.launch @linear_f32_n16_k16_{{.*}}residual [#plan.use<@stream, read>, #plan.use<@w, read>, #plan.use<@stream, read>, #plan.use<@[[SUM:sum]], write>]
// CHECK-NEXT: plan.output "logits" slice @[[SUM]]
module attributes {llm.model = {architecture = "own_input"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @w "w" : !w
  func.func @own_input(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %w = llm.param @w : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y = llm.fusion "linear-residual" (%x, %w) : (!rows, !w) -> !rows {
    ^bb0(%in: !rows, %weight: !w):
      %p = llm.linear %in, %weight : !rows, !w -> !rows
      %s = llm.residual_add %in, %p : !rows
      llm.yield %s : !rows
    }
    return %y : !rows
  }
}

// -----

// A product of some columns of a wider slice takes a copy of them.

!rows = tensor<?x16xf32>
!half = tensor<?x8xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!w = !llm.weight<[8, 16], #llm.dense<f32>>
!v = !llm.weight<[8, 8], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "columns"
// CHECK: plan.slice @[[COPY:input]] in @activations size(tokens * 32)
// CHECK: plan.entry @columns
// CHECK: plan.launch @linear_{{.*}}#plan.use<@[[BOTH:product]], write>] {{.*}} remark "qkv-linear"
// CHECK-NEXT: plan.launch @rows_{{.*}} [#plan.use<@[[BOTH]], read>, #plan.use<@[[COPY]], write>] items <1, tokens> remark "copy: the kernel reads whole rows, these are columns"
// CHECK-NEXT: plan.launch @linear_f32_n8_k8_{{.*}} [#plan.use<@[[COPY]], read>, #plan.use<@c, read>, #plan.use<@{{product.1}}, write>]
module attributes {llm.model = {architecture = "columns"}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @a "a" : !w
  llm.weight_family @b "b" : !w
  llm.weight_family @c "c" : !v
  func.func @columns(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !half attributes {llm.entry} {
    %table = llm.param @embed : !table
    %a = llm.param @a : !w
    %b = llm.param @b : !w
    %c = llm.param @c : !v
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %y:2 = llm.fusion "qkv-linear" (%x, %a, %b) : (!rows, !w, !w) -> (!half, !half) {
    ^bb0(%in: !rows, %wa: !w, %wb: !w):
      %0 = llm.linear %in, %wa : !rows, !w -> !half
      %1 = llm.linear %in, %wb : !rows, !w -> !half
      llm.yield %0, %1 : !half, !half
    }
    %z = llm.linear %y#1, %c : !half, !v -> !half
    return %z : !half
  }
}

// -----

// Learned positions choose rows of a table, an activation is the end of its product, and the
// bounded logits are cut into parts for several threads, in place.

!rows = tensor<?x16xf32>
!logits = tensor<?x16384xf32>
!table = !llm.weight<[16384, 16], #llm.dense<f32>>
!places = !llm.weight<[34, 16], #llm.dense<f32>>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK-LABEL: plan.program {{.*}} architecture = "learned"
// CHECK: plan.kernel @[[PLACES:embedding_f32_n34_d16_r[0-9]_p_o2]]
// CHECK: plan.entry @learned
// CHECK: plan.launch @[[PLACES]] [#plan.use<@places, read>, #plan.use<@[[P:positions]], write>] items <1, tokens> remark "position_embedding"
// CHECK: plan.launch @linear_{{.*}}gelu_tanh{{.*}} remark "linear-activation"
// CHECK: plan.launch @linear_{{.*}}#plan.use<@[[LOGITS:logits]], write>]
// CHECK-NEXT: plan.launch @rows_softcap_{{.*}} [#plan.use<@[[LOGITS]], readwrite>] items <2, outputs> remark "llm.softcap"
module attributes {llm.model = {architecture = "learned", context_length = 32}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @places "places" : !places
  llm.weight_family @w "w" : !w
  func.func @learned(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !logits attributes {llm.entry} {
    %table = llm.param @embed : !table
    %places = llm.param @places : !places
    %w = llm.param @w : !w
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    %p = llm.position_embedding %batch, %places offset 2 : !places -> !rows
    %s = llm.residual_add %x, %p : !rows
    %f = llm.fusion "linear-activation" (%s, %w) : (!rows, !w) -> !rows {
    ^bb0(%a: !rows, %b: !w):
      %0 = llm.linear %a, %b : !rows, !w -> !rows
      %1 = llm.activation gelu_tanh %0 : !rows
      llm.yield %1 : !rows
    }
    %r = llm.select_rows %f, %batch : !rows
    %y = llm.output_head %r, %table : !rows, !table -> !logits
    %z = llm.softcap %y cap 30.0 : !logits
    return %z : !logits
  }
}
