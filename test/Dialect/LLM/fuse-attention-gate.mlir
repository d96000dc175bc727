// RUN: llmc-opt %s --llm-fuse-attention-gate -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-attention-gate --llm-fuse-attention-gate -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-attention-gate --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-attention-gate=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-attention-gate=enabled=false --remarks-filter=fusion -split-input-file 2>&1 | FileCheck %s --check-prefix=DISABLED
// RUN: llmc-opt %s --llm-fuse-attention-gate --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!kv = !llm.cache<paged, [2, 16, 16], f32>
!q = tensor<?x4x16xf32>
!x = tensor<?x64xf32>

// DISABLED: [Missed] attention-gate | Category:fusion | Function=gated | Reason="the pattern is disabled"

// CHECK-LABEL: func.func @gated
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x16xf32>, %[[C:.*]]: !llm.cache<paged, [2, 16, 16], f32>, %[[G:.*]]: tensor<?x64xf32>, %[[B:.*]]: !llm.batch
func.func @gated(%q: !q, %c: !kv, %g: !x, %b: !llm.batch) -> !x {
  // CHECK: %[[Y:.*]] = llm.fusion "attention-gate" (%[[Q]], %[[C]], %[[B]], %[[G]])
  // CHECK: %[[A:.*]] = llm.paged_attention
  // CHECK-NEXT: %[[M:.*]] = llm.merge_heads %[[A]]
  // CHECK-NEXT: %[[GATED:.*]] = llm.gate sigmoid %{{.*}}, %[[M]]
  // CHECK-NEXT: llm.yield %[[GATED]]
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] attention-gate | Category:fusion | Function=gated | bytes_per_token_saved=512, launches_saved=1, ops=3}}
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.gate sigmoid %g, %m : !x
  return %y : !x
}

// One number a head, of which the fusion takes the function, and a norm of each head. The view behind them stays outside.
// CHECK-LABEL: func.func @chain
func.func @chain(%q: !q, %c: !kv, %g: tensor<?x4xf32>, %n: !llm.weight<[16], #llm.dense<f32>>, %b: !llm.batch) -> !x {
  // CHECK: llm.fusion "attention-gate"
  // CHECK: llm.paged_attention
  // CHECK: llm.activation softplus
  // CHECK: llm.binary mul
  // CHECK: llm.rms_norm
  // CHECK: llm.yield
  // CHECK: }
  // CHECK: llm.merge_heads
  // expected-remark @+1 {{launches_saved=3, ops=4}}
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %s = llm.activation softplus %g : tensor<?x4xf32>
  %y = llm.binary mul %a, %s : !q, tensor<?x4xf32> -> !q
  %z = llm.rms_norm %y, %n eps 1.0e-6 : !q, !llm.weight<[16], #llm.dense<f32>>
  %m = llm.merge_heads %z : !q -> !x
  return %m : !x
}

// A part of each head that nothing else reads is read where it lies.
// CHECK-LABEL: func.func @half
func.func @half(%q: !q, %c: !kv, %both: tensor<?x4x32xf32>, %b: !llm.batch) -> !x {
  // CHECK: llm.fusion "attention-gate" ({{.*}}%arg2{{.*}})
  // CHECK: llm.slice
  // CHECK: llm.merge_heads
  // CHECK: llm.paged_attention
  // CHECK: llm.merge_heads
  // CHECK: llm.gate
  // CHECK: llm.yield
  // expected-remark @+1 {{launches_saved=2, ops=5}}
  %half = llm.slice %both from 16 size 16 : tensor<?x4x32xf32> -> !q
  %g = llm.merge_heads %half : !q -> !x
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.gate sigmoid %g, %m : !x
  return %y : !x
}

// -----

!kv = !llm.cache<paged, [2, 16, 16], f32>
!q = tensor<?x4x16xf32>
!x = tensor<?x64xf32>
!w = !llm.weight<[64, 64], #llm.dense<f32>>

// Nothing to fuse, nothing to say.
// CHECK-LABEL: func.func @product
func.func @product(%q: !q, %c: !kv, %w: !w, %b: !llm.batch) -> !x {
  // CHECK-NOT: llm.fusion
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.linear %m, %w : !x, !w -> !x
  return %y : !x
}

// CHECK-LABEL: func.func @two_uses
func.func @two_uses(%q: !q, %c: !kv, %g: !x, %b: !llm.batch) -> (!x, !x) {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] attention-gate | Category:fusion | Function=two_uses | Reason="the result has another use than llm.gate", predicate=single-use}}
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.gate sigmoid %g, %m : !x
  return %y, %m : !x, !x
}

// CHECK-LABEL: func.func @norm_of_all
func.func @norm_of_all(%q: !q, %c: !kv, %n: !llm.weight<[64], #llm.dense<f32>>, %b: !llm.batch) -> !x {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] attention-gate | Category:fusion | Function=norm_of_all | Reason="llm.rms_norm is not over one head each", predicate=same-shape}}
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.rms_norm %m, %n eps 1.0e-6 : !x, !llm.weight<[64], #llm.dense<f32>>
  return %y : !x
}

// The gate is computed from the attention's result: it cannot come before it.
// CHECK-LABEL: func.func @of_itself
func.func @of_itself(%q: !q, %c: !kv, %w: !w, %b: !llm.batch) -> !x {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] attention-gate | Category:fusion | Function=of_itself | Reason="the result has another use than llm.gate", predicate=single-use}}
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %g = llm.linear %m, %w : !x, !w -> !x
  %y = llm.gate sigmoid %g, %m : !x
  return %y : !x
}
