// RUN: llmc-opt %s --llm-fuse-gated-linear -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-gated-linear --llm-fuse-gated-linear -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-gated-linear --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-gated-linear=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-gated-linear --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!w = !llm.weight<[128, 64], #llm.dense<f32>>
!b = !llm.weight<[128], #llm.dense<f32>>

// CHECK-LABEL: func.func @gated
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[G:.*]]: !llm.weight<[128, 64], #llm.dense<f32>>, %[[U:.*]]: !llm.weight<[128, 64], #llm.dense<f32>>, %[[BIAS:.*]]: !llm.weight<[128], #llm.dense<f32>>
func.func @gated(%x: tensor<?x64xf32>, %wg: !w, %wu: !w, %bias: !b) -> tensor<?x128xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "gated-linear" (%[[X]], %[[U]], %[[G]], %[[BIAS]])
  // CHECK: llm.linear
  // CHECK: llm.linear
  // CHECK: %[[GATED:.*]] = llm.gate gelu_tanh
  // CHECK: llm.yield %[[GATED]]
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] gated-linear | Category:fusion | Function=gated | bytes_per_token_saved=2304, launches_saved=2, ops=3}}
  %u = llm.linear %x, %wu : tensor<?x64xf32>, !w -> tensor<?x128xf32>
  %g = llm.linear %x, %wg bias %bias : tensor<?x64xf32>, !w, !b -> tensor<?x128xf32>
  %y = llm.gate gelu_tanh %g, %u : tensor<?x128xf32>
  return %y : tensor<?x128xf32>
}

// -----

// CHECK-LABEL: func.func @no_epilogue
func.func @no_epilogue(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %u = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=no_epilogue | Reason="no product's epilogue has sigmoid", predicate=kernel}}
  %y = llm.gate sigmoid %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_inputs
func.func @other_inputs(%x: tensor<?x64xf32>, %z: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %u = llm.linear %z, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=other_inputs | Reason="gate and up are products of different inputs", predicate=same-input}}
  %y = llm.gate silu %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_storage
func.func @other_storage(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>, %v: !llm.weight<[64, 64], #llm.dense<bf16>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %u = llm.linear %x, %v : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<bf16>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=other_storage | Reason="gate is stored as f32, up as bf16", predicate=same-storage}}
  %y = llm.gate silu %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_use
func.func @other_use(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %u = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  llm.observe %g "gate" : tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=other_use | Reason="gate has another use than the gate", predicate=single-use}}
  %y = llm.gate silu %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @no_product
func.func @no_product(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=no_product | Reason="up comes from an argument", predicate=producer}}
  %y = llm.gate silu %g, %x : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!experts = !llm.weight<[8, 128, 64], #llm.dense<f32>>
!rows = tensor<?x64xf32>
!choice = tensor<?x2xi32>
!chosen = tensor<?x2x128xf32>

// CHECK-LABEL: func.func @experts
func.func @experts(%x: !rows, %c: !choice, %wg: !experts, %wu: !experts) -> !chosen {
  // CHECK: llm.fusion "gated-linear"
  // CHECK: llm.expert_linear
  // CHECK: llm.expert_linear
  // CHECK: llm.gate silu
  // expected-remark @+1 {{[Passed] gated-linear}}
  %g = llm.expert_linear %x, %c, %wg : (!rows, !choice, !experts) -> !chosen
  %u = llm.expert_linear %x, %c, %wu : (!rows, !choice, !experts) -> !chosen
  %y = llm.gate silu %g, %u : !chosen
  return %y : !chosen
}

// -----

!experts = !llm.weight<[8, 128, 64], #llm.dense<f32>>
!rows = tensor<?x64xf32>
!choice = tensor<?x2xi32>
!chosen = tensor<?x2x128xf32>

// CHECK-LABEL: func.func @other_choices
func.func @other_choices(%x: !rows, %c: !choice, %d: !choice, %w: !experts) -> !chosen {
  // CHECK-NOT: llm.fusion
  %g = llm.expert_linear %x, %c, %w : (!rows, !choice, !experts) -> !chosen
  %u = llm.expert_linear %x, %d, %w : (!rows, !choice, !experts) -> !chosen
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=other_choices | Reason="gate and up are products of different choices of experts", predicate=same-input}}
  %y = llm.gate silu %g, %u : !chosen
  return %y : !chosen
}

// -----

!experts = !llm.weight<[8, 128, 64], #llm.dense<f32>>
!fewer = !llm.weight<[4, 128, 64], #llm.dense<f32>>
!rows = tensor<?x64xf32>
!choice = tensor<?x2xi32>
!chosen = tensor<?x2x128xf32>

// CHECK-LABEL: func.func @other_counts
func.func @other_counts(%x: !rows, %c: !choice, %w: !experts, %v: !fewer) -> !chosen {
  // CHECK-NOT: llm.fusion
  %g = llm.expert_linear %x, %c, %w : (!rows, !choice, !experts) -> !chosen
  %u = llm.expert_linear %x, %c, %v : (!rows, !choice, !fewer) -> !chosen
  // expected-remark @+1 {{[Missed] gated-linear | Category:fusion | Function=other_counts | Reason="gate and up have different numbers of experts", predicate=same-shape}}
  %y = llm.gate silu %g, %u : !chosen
  return %y : !chosen
}
