// RUN: llmc-opt %s --llm-simplify --llm-verify-model -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --llm-simplify --llm-verify-model -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify=disable=early-selection -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: _last

!row = tensor<?x8xf32>
!vector = !llm.weight<[8], #llm.dense<f32>>
!square = !llm.weight<[8, 8], #llm.dense<f32>>
!kv = !llm.cache<paged, [2, 4, 4], f32>

// The last layer has a function of its own, which chooses behind its attention.
// CHECK-LABEL: func.func @forward
// CHECK: %[[X:.*]] = llm.repeat [@layer] from 0 count 2
// CHECK: %[[Y:.*]] = llm.repeat [@layer_last] from 2 count 1 (%[[X]])
// CHECK-NOT: llm.select_rows
// CHECK: %[[N:.*]] = llm.rms_norm %[[Y]]
// CHECK: llm.output_head %[[N]]
// OFF-LABEL: func.func @forward
// OFF: llm.repeat [@layer] from 0 count 3
// OFF: llm.rms_norm
// OFF: llm.select_rows
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @norm "norm" : !vector
llm.weight_family @in "in.{i}" layers [0, 3] : !vector
llm.weight_family @o "o.{i}" layers [0, 3] : !square
llm.weight_family @down "down.{i}" layers [0, 3] : !square
llm.state_family @kv layers [0, 3] : !kv
func.func @forward(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %0 = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %x = llm.repeat [@layer] from 0 count 3 (%0) with (%batch) : (!row) with (!llm.batch)
  %w = llm.param @norm : !vector
  // expected-remark @+1 {{[Passed] early-selection | Category:simplify | Function=forward | Reason="the last layer ends on chosen rows", operations_per_row=128, ops=5, products=2}}
  %n = llm.rms_norm %x, %w eps 1.0e-5 : !row, !vector
  // expected-remark @+1 {{[Passed] early-selection | Category:simplify | Function=forward | Reason="the selection stands before operations that compute row by row", operations_per_row=0, ops=1, products=0}}
  %r = llm.select_rows %n, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  llm.observe %l "logits" : tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}

// CHECK-LABEL: func.func private @layer(
// CHECK-NOT: llm.select_rows
// CHECK-LABEL: func.func private @layer_last
// CHECK-SAME: %[[I:.*]]: index, %[[IN:.*]]: tensor<?x8xf32>, %[[B:.*]]: !llm.batch
// CHECK: %[[A:.*]] = llm.paged_attention
// CHECK-NEXT: %[[AR:.*]] = llm.select_rows %[[A]], %[[B]] : tensor<?x2x4xf32>
// CHECK-NEXT: %[[M:.*]] = llm.merge_heads %[[AR]]
// CHECK: %[[P:.*]] = llm.linear %[[M]]
// CHECK-NEXT: %[[XR:.*]] = llm.select_rows %[[IN]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = llm.residual_add %[[XR]], %[[P]]
// CHECK: llm.linear %[[S]]
func.func private @layer(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %w = llm.param @in[%i] : !vector
  %n = llm.rms_norm %x, %w eps 1.0e-5 : !row, !vector
  %h = llm.split_heads %n : !row -> tensor<?x2x4xf32>
  %s = llm.state @kv[%i] : !kv
  %c = llm.kv_append %h, %h, %s, %batch : tensor<?x2x4xf32>, tensor<?x2x4xf32>, !kv
  // expected-remark @+1 {{[Missed] early-selection | Category:simplify | Function=layer_last | Reason="llm.paged_attention is computed for all tokens", predicate=row-wise}}
  %a = llm.paged_attention %h, %c, %batch scale 0.5 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
  %m = llm.merge_heads %a : tensor<?x2x4xf32> -> !row
  %o = llm.param @o[%i] : !square
  %p = llm.linear %m, %o : !row, !square -> !row
  %y = llm.residual_add %x, %p : !row
  %d = llm.param @down[%i] : !square
  %q = llm.linear %y, %d : !row, !square -> !row
  %z = llm.residual_add %y, %q : !row
  return %z : !row
}

// -----

// All rows are observed, in the entry and at the end of every layer.
!row = tensor<?x8xf32>
!square = !llm.weight<[8, 8], #llm.dense<f32>>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @down "down.{i}" layers [0, 3] : !square
// CHECK-LABEL: func.func @observed
// CHECK: llm.repeat [@layer] from 0 count 3
// CHECK: llm.observe
// CHECK-NEXT: llm.select_rows
func.func @observed(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %0 = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %x = llm.repeat [@layer] from 0 count 3 (%0) with (%batch) : (!row) with (!llm.batch)
  // expected-remark @+1 {{[Missed] early-selection | Category:simplify | Function=observed | Reason="all rows are observed as 'final_norm' (--observe=logits)", predicate=observed}}
  %n = llm.rms_norm %x eps 1.0e-5 : !row
  llm.observe %n "final_norm" : !row
  %r = llm.select_rows %n, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}
func.func private @layer(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %d = llm.param @down[%i] : !square
  %q = llm.linear %x, %d : !row, !square -> !row
  llm.observe %q "hidden.{i+1}"[%i] : !row
  return %q : !row
}

// -----

!row = tensor<?x8xf32>
!square = !llm.weight<[8, 8], #llm.dense<f32>>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @down "down.{i}" layers [0, 3] : !square
// CHECK-LABEL: func.func @observed_layer
// CHECK: llm.repeat [@layer] from 0 count 3
// CHECK-NEXT: llm.select_rows
// CHECK-NEXT: llm.rms_norm
func.func @observed_layer(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %0 = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %x = llm.repeat [@layer] from 0 count 3 (%0) with (%batch) : (!row) with (!llm.batch)
  %n = llm.rms_norm %x eps 1.0e-5 : !row
  // expected-remark @+1 {{[Passed] early-selection}}
  %r = llm.select_rows %n, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}
func.func private @layer(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %d = llm.param @down[%i] : !square
  // expected-remark @+1 {{[Missed] early-selection | Category:simplify | Function=layer | Reason="all rows are observed as 'hidden.{i+1}' (--observe=logits)", predicate=observed}}
  %q = llm.linear %x, %d : !row, !square -> !row
  llm.observe %q "hidden.{i+1}"[%i] : !row
  return %q : !row
}

// -----

// Without a product there is nothing to save in the last layer.
!row = tensor<?x8xf32>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
// CHECK-LABEL: func.func @cheap
// CHECK: llm.repeat [@layer] from 0 count 3
func.func @cheap(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %0 = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %x = llm.repeat [@layer] from 0 count 3 (%0) with (%batch) : (!row) with (!llm.batch)
  // expected-remark @+1 {{[Missed] early-selection | Category:simplify | Function=cheap | Reason="the last layer ends without a product that only chosen rows need", ops=1, predicate=cost}}
  %r = llm.select_rows %x, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}
func.func private @layer(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %n = llm.rms_norm %x eps 1.0e-5 : !row
  return %n : !row
}

// -----

// The last of several functions of a period is split off, with the rest of its round.
!row = tensor<?x8xf32>
!square = !llm.weight<[8, 8], #llm.dense<f32>>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @down "down.{i}" layers [1, 2, 3, 4, 5, 6] : !square
// CHECK: llm.weight_family @down "down.{i}" layers [1, 2, 3, 4, 5, 6]
// CHECK-LABEL: func.func @period
// CHECK: llm.repeat [@even, @odd] from 0 count 2
// CHECK-NEXT: llm.repeat [@even] from 4 count 1
// CHECK-NEXT: llm.repeat [@odd_last] from 5 count 1
func.func @period(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %0 = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %x = llm.repeat [@even, @odd] from 0 count 3 (%0) with (%batch) : (!row) with (!llm.batch)
  // expected-remark @+1 {{[Passed] early-selection}}
  %r = llm.select_rows %x, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}
func.func private @even(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %n = llm.rms_norm %x eps 1.0e-5 : !row
  return %n : !row
}
func.func private @odd(%i: index, %x: !row, %batch: !llm.batch) -> !row {
  %d = llm.param @down[%i] : !square
  %q = llm.linear %x, %d : !row, !square -> !row
  return %q : !row
}

// -----

// Experts group the tokens of a step: rows that were chosen have no kernel there.
!row = tensor<?x8xf32>
!experts = !llm.weight<[2, 8, 8], #llm.dense<f32>>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @router "router" : !llm.weight<[2, 8], #llm.dense<f32>>
llm.weight_family @experts "experts.{e}" : !experts
// CHECK-LABEL: func.func @experts_behind
// CHECK: llm.expert_sum
// CHECK-NEXT: llm.select_rows
// CHECK-NEXT: llm.scale
func.func @experts_behind(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %x = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %wr = llm.param @router : !llm.weight<[2, 8], #llm.dense<f32>>
  %g = llm.linear %x, %wr : !row, !llm.weight<[2, 8], #llm.dense<f32>> -> tensor<?x2xf32>
  %c, %w = llm.route softmax %g top 1 normalise none scale 1.0 : (tensor<?x2xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  %e = llm.param @experts : !experts
  %d = llm.expert_linear %x, %c, %e : (!row, tensor<?x1xi32>, !experts) -> tensor<?x1x8xf32>
  // expected-remark @+1 {{[Missed] early-selection | Category:simplify | Function=experts_behind | Reason="llm.expert_sum is computed for all tokens", predicate=row-wise}}
  %s = llm.expert_sum %d by %w : (tensor<?x1x8xf32>, tensor<?x1xf32>) -> !row
  %y = llm.scale %s by 3.0 : !row
  // expected-remark @+1 {{[Passed] early-selection}}
  %r = llm.select_rows %y, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}

// -----

// Rows of a weight are one for each token where they are no operand of arithmetic beside others:
// as many as are wanted are chosen of them.
!row = tensor<?x8xf32>
!vector = !llm.weight<[8], #llm.dense<f32>>
llm.weight_family @table "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
llm.weight_family @scale "scale" : !vector
// CHECK-LABEL: func.func @weights_behind
// CHECK: %[[X:.*]] = llm.embedding
// CHECK: %[[W:.*]] = llm.weight_rows
// CHECK-DAG: %[[CX:.*]] = llm.select_rows %[[X]],
// CHECK-DAG: %[[CW:.*]] = llm.select_rows %[[W]],
// CHECK: %[[P:.*]] = llm.binary mul %[[CX]], %[[CW]]
// CHECK-NEXT: %[[E:.*]] = llm.softmax %[[CW]]
// CHECK-NEXT: llm.gate silu %[[P]], %[[E]]
// CHECK-NEXT: llm.output_head
func.func @weights_behind(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %t = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
  %s = llm.param @scale : !vector
  // expected-remark @+1 {{Reason="llm.embedding is computed for all tokens"}}
  %x = llm.embedding %tokens, %t : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> !row
  %w = llm.weight_rows %s, %batch : !vector -> !row
  %p = llm.binary mul %x, %w : !row, !row -> !row
  %e = llm.softmax %w : !row
  %g = llm.gate silu %p, %e : !row
  // expected-remark @+1 {{[Passed] early-selection}}
  %r = llm.select_rows %g, %batch : !row
  %l = llm.output_head %r, %t : !row, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
  return %l : tensor<?x16xf32>
}
