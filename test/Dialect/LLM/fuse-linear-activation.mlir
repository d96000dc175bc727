// RUN: llmc-opt %s --llm-fuse-linear-activation -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-activation --llm-fuse-linear-activation -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-activation --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-linear-activation=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-linear-activation --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @activated
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: !llm.weight
func.func @activated(%x: tensor<?x64xf32>, %w: !w) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "linear-activation" (%[[X]], %[[W]])
  // CHECK: %[[P:.*]] = llm.linear
  // CHECK-NEXT: %[[A:.*]] = llm.activation gelu_tanh %[[P]]
  // CHECK-NEXT: llm.yield %[[A]]
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] linear-activation | Category:fusion | Function=activated | bytes_per_token_saved=512, launches_saved=1, ops=2}}
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %y = llm.activation gelu_tanh %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// Nobody expects a fusion where no product is: nothing is said.

// CHECK-LABEL: func.func @no_product
func.func @no_product(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %y = llm.activation gelu_tanh %x : tensor<?x64xf32>
  %s = llm.binary add %y, %x : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %z = llm.activation silu %s : tensor<?x64xf32>
  return %z : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_use
func.func @other_use(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %p = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  llm.observe %p "product" : tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] linear-activation | Category:fusion | Function=other_use | Reason="the product has another use than the activation", predicate=single-use}}
  %y = llm.activation relu %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<?x64xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 64], #llm.dense<f32>>) -> tensor<?x2x32xf32> {
  // CHECK: llm.fusion "linear-activation"
  // CHECK: llm.expert_linear
  // CHECK: llm.activation
  // expected-remark @+1 {{[Passed] linear-activation}}
  %p = llm.expert_linear %x, %c, %w : (tensor<?x64xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 64], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  %y = llm.activation relu %p : tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}
