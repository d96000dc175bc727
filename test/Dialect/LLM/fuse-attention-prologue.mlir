// RUN: llmc-opt %s --llm-fuse-attention-prologue -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-attention-prologue --llm-fuse-attention-prologue -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-attention-prologue --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-attention-prologue=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-attention-prologue --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
!kv = !llm.cache<paged, [2, 16, 16], f32>
!h = !llm.weight<[16], #llm.dense<f32>>

// CHECK-LABEL: func.func @plain
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x16xf32>, %[[K:.*]]: tensor<?x2x16xf32>, %[[V:.*]]: tensor<?x2x16xf32>, %[[C:.*]]: !llm.cache<paged, [2, 16, 16], f32>, %[[B:.*]]: !llm.batch
func.func @plain(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> tensor<?x4x16xf32> {
  // CHECK: %[[READY:.*]]:2 = llm.fusion "attention-prologue" (%[[Q]], %[[B]], %[[K]], %[[V]], %[[C]])
  // CHECK: %[[QR:.*]] = llm.rotary
  // CHECK-NEXT: llm.rotary
  // CHECK-NEXT: %[[CACHE:.*]] = llm.kv_append
  // CHECK-NEXT: llm.yield %[[QR]], %[[CACHE]]
  // CHECK: llm.paged_attention %[[READY]]#0, %[[READY]]#1
  // expected-remark @+1 {{[Passed] attention-prologue | Category:fusion | Function=plain | bytes_per_token_saved=256, launches_saved=2, ops=3}}
  %qr = llm.rotary %q, %b rope(#rope) : tensor<?x4x16xf32>
  %kr = llm.rotary %k, %b rope(#rope) : tensor<?x2x16xf32>
  %c1 = llm.kv_append %kr, %v, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @head_norms
func.func @head_norms(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch, %qs: !h, %ks: !h) -> tensor<?x4x16xf32> {
  // CHECK: llm.fusion "attention-prologue"
  // CHECK: llm.rms_norm
  // CHECK: llm.rms_norm
  // CHECK: llm.rotary
  // CHECK: llm.rotary
  // CHECK: llm.kv_append
  // CHECK: llm.yield
  // expected-remark @+1 {{launches_saved=4, ops=5}}
  %qn = llm.rms_norm %q, %qs eps 1.0e-6 : tensor<?x4x16xf32>, !h
  %kn = llm.rms_norm %k, %ks eps 1.0e-6 : tensor<?x2x16xf32>, !h
  %qr = llm.rotary %qn, %b rope(#rope) : tensor<?x4x16xf32>
  %kr = llm.rotary %kn, %b rope(#rope) : tensor<?x2x16xf32>
  %c1 = llm.kv_append %kr, %v, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// -----

!kv = !llm.cache<paged, [2, 16, 16], f32>
// CHECK-LABEL: func.func @no_rotary
func.func @no_rotary(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> tensor<?x4x16xf32> {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=no_rotary | Reason="the key comes from an argument"}}
  %c1 = llm.kv_append %k, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %q, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
#slow = #llm.rope<"default", base = 1000000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.001]>
!kv = !llm.cache<paged, [2, 16, 16], f32>
// CHECK-LABEL: func.func @two_records
func.func @two_records(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> tensor<?x4x16xf32> {
  // CHECK-NOT: llm.fusion
  %qr = llm.rotary %q, %b rope(#rope) : tensor<?x4x16xf32>
  %kr = llm.rotary %k, %b rope(#slow) : tensor<?x2x16xf32>
  // expected-remark @+1 {{Reason="query and key have different rotary records"}}
  %c1 = llm.kv_append %kr, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @two_readers
func.func @two_readers(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> (tensor<?x4x16xf32>, tensor<?x4x16xf32>) {
  // CHECK-NOT: llm.fusion
  %qr = llm.rotary %q, %b rope(#rope) : tensor<?x4x16xf32>
  %kr = llm.rotary %k, %b rope(#rope) : tensor<?x2x16xf32>
  // expected-remark @+1 {{Reason="2 attentions read the state"}}
  %c1 = llm.kv_append %kr, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  %d = llm.paged_attention %qr, %c1, %b scale 0.5 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a, %d : tensor<?x4x16xf32>, tensor<?x4x16xf32>
}
