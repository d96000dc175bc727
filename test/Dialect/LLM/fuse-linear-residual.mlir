// RUN: llmc-opt %s --llm-fuse-linear-residual -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-residual --llm-fuse-linear-residual -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-residual --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-linear-residual=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-linear-residual --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @residual
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[A:.*]]: tensor<?x64xf32>, %[[W:.*]]: !llm.weight
func.func @residual(%x: tensor<?x64xf32>, %a: tensor<?x64xf32>, %w: !w) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "linear-residual" (%[[A]], %[[W]], %[[X]])
  // CHECK-NEXT: ^bb0(%[[IN:.*]]: tensor<?x64xf32>, %[[WEIGHT:.*]]: !llm.weight<[64, 64], #llm.dense<f32>>, %[[STREAM:.*]]: tensor<?x64xf32>):
  // CHECK-NEXT: %[[P:.*]] = llm.linear %[[IN]], %[[WEIGHT]]
  // CHECK-NEXT: %[[S:.*]] = llm.residual_add %[[STREAM]], %[[P]]
  // CHECK-NEXT: llm.yield %[[S]]
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] linear-residual | Category:fusion | Function=residual | bytes_per_token_saved=512, launches_saved=1, ops=2}}
  %p = llm.linear %a, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %y = llm.residual_add %x, %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @scaled
func.func @scaled(%x: tensor<?x64xf32>, %a: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %p = llm.linear %a, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %s = llm.scale %p by 0.5 : tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] linear-residual | Category:fusion | Function=scaled | Reason="delta comes from llm.scale", predicate=producer}}
  %y = llm.residual_add %x, %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_use
func.func @other_use(%x: tensor<?x64xf32>, %a: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %p = llm.linear %a, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  llm.observe %p "delta" : tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] linear-residual | Category:fusion | Function=other_use | Reason="the product has another use than the add", predicate=single-use}}
  %y = llm.residual_add %x, %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The sum over a token's experts has the same epilogue.

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<?x64xf32>, %e: tensor<?x2x64xf32>, %w: tensor<?x2xf32>) -> tensor<?x64xf32> {
  // CHECK: llm.fusion "linear-residual"
  // CHECK: llm.expert_sum
  // CHECK: llm.residual_add
  // expected-remark @+1 {{[Passed] linear-residual | Category:fusion | Function=experts | bytes_per_token_saved=512, launches_saved=1, ops=2}}
  %s = llm.expert_sum %e by %w : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  %y = llm.residual_add %x, %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
