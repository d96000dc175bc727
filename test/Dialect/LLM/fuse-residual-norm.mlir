// RUN: llmc-opt %s --llm-fuse-residual-norm -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-residual-norm --llm-fuse-residual-norm -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-residual-norm --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-residual-norm=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-residual-norm --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

// RUN: llmc-opt %s --llm-fuse-residual-norm=max-hidden-size=32 --remarks-filter=fusion -split-input-file 2>&1 | FileCheck %s --check-prefix=NARROW

!s = !llm.weight<[64], #llm.dense<f32>>

// NARROW: [Missed] residual-norm | Category:fusion | Function=sum_and_norm | Reason="the row has 64 elements, more than 32", limit=32, predicate=width, width=64

// CHECK-LABEL: func.func @sum_and_norm
func.func @sum_and_norm(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %s: !s) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[BOTH:.*]]:2 = llm.fusion "residual-norm"
  // CHECK: %[[SUM:.*]] = llm.residual_add
  // CHECK-NEXT: %[[NORM:.*]] = llm.rms_norm %[[SUM]]
  // CHECK-NEXT: llm.yield %[[SUM]], %[[NORM]]
  // CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
  // expected-remark @+1 {{[Passed] residual-norm | Category:fusion | Function=sum_and_norm | bytes_per_token_saved=256, launches_saved=1, ops=2}}
  %sum = llm.residual_add %x, %d : tensor<?x64xf32>
  %y = llm.rms_norm %sum, %s eps 1.0e-5 : tensor<?x64xf32>, !s
  return %sum, %y : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// Nothing else reads the sum: it is no result.
// CHECK-LABEL: func.func @norm_alone
func.func @norm_alone(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "residual-norm"
  // CHECK: %[[NORM:.*]] = llm.layer_norm
  // CHECK-NEXT: llm.yield %[[NORM]] : tensor<?x64xf32>
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] residual-norm | Category:fusion | Function=norm_alone | bytes_per_token_saved=512, launches_saved=1, ops=2}}
  %sum = llm.residual_add %x, %d : tensor<?x64xf32>
  %y = llm.layer_norm %sum, %s eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @two_norms
func.func @two_norms(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: llm.fusion "residual-norm"
  // CHECK: }
  // CHECK-NEXT: llm.rms_norm
  // expected-remark @+1 {{[Passed] residual-norm}}
  %sum = llm.residual_add %x, %d : tensor<?x64xf32>
  %y = llm.rms_norm %sum, %s eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  // expected-remark @+1 {{[Missed] residual-norm | Category:fusion | Function=two_norms | Reason="the sum is part of fusion residual-norm", predicate=other-fusion}}
  %z = llm.rms_norm %sum, %s eps 1.0e-6 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %y, %z : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// A norm of anything but a sum is none of this pattern's business.
// CHECK-LABEL: func.func @no_sum
func.func @no_sum(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %y = llm.rms_norm %x, %s eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %y : tensor<?x64xf32>
}

// -----

// A norm behind a block, the sum, and the norm of the next block.
// CHECK-LABEL: func.func @norm_sum_norm
func.func @norm_sum_norm(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %v: !llm.weight<[64], #llm.dense<f32>>, %w: !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[BOTH:.*]]:2 = llm.fusion "residual-norm"
  // CHECK: llm.rms_norm
  // CHECK-NEXT: llm.residual_add
  // CHECK-NEXT: llm.layer_norm
  // CHECK: return %[[BOTH]]#0, %[[BOTH]]#1
  // expected-remark @+1 {{[Passed] residual-norm | Category:fusion | Function=norm_sum_norm | bytes_per_token_saved=768, launches_saved=2, ops=3}}
  %n = llm.rms_norm %d, %v eps 1.0e-5 offset 1.0 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  %s = llm.residual_add %x, %n : tensor<?x64xf32>
  %y = llm.layer_norm %s, %w eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %s, %y : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @scaled_sum
func.func @scaled_sum(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: llm.fusion "residual-norm"
  // expected-remark @+1 {{[Passed] residual-norm | Category:fusion | Function=scaled_sum | bytes_per_token_saved=512, launches_saved=1, ops=2}}
  %n = llm.scale %d by 0.25 : tensor<?x64xf32>
  %s = llm.residual_add %x, %n : tensor<?x64xf32>
  return %s : tensor<?x64xf32>
}

// -----

// A delta that is needed elsewhere stays outside.
// CHECK-LABEL: func.func @delta_seen
func.func @delta_seen(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: llm.fusion
  %n = llm.scale %d by 0.25 : tensor<?x64xf32>
  %s = llm.residual_add %x, %n : tensor<?x64xf32>
  return %s, %n : tensor<?x64xf32>, tensor<?x64xf32>
}
