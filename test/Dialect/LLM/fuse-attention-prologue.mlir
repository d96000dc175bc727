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
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=no_rotary | Reason="the key comes from an argument", predicate=producer}}
  %c1 = llm.kv_append %k, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %q, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
#slow = #llm.rope<"default", base = 1000000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.001]>
!kv = !llm.cache<paged, [2, 16, 16], f32>
// What does not go together with the query is fused without it.
// CHECK-LABEL: func.func @two_records
func.func @two_records(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> tensor<?x4x16xf32> {
  // CHECK: llm.rotary
  // CHECK: llm.fusion "attention-prologue"
  // CHECK: llm.rotary
  // CHECK-NEXT: llm.kv_append
  %qr = llm.rotary %q, %b rope(#rope) : tensor<?x4x16xf32>
  // expected-remark @+1 {{launches_saved=1, ops=2}}
  %kr = llm.rotary %k, %b rope(#slow) : tensor<?x2x16xf32>
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=two_records | Reason="query and key have different rotary records", predicate=same-settings}}
  %c1 = llm.kv_append %kr, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @two_readers
func.func @two_readers(%q: tensor<?x4x16xf32>, %k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> (tensor<?x4x16xf32>, tensor<?x4x16xf32>) {
  // CHECK: llm.fusion "attention-prologue"
  %qr = llm.rotary %q, %b rope(#rope) : tensor<?x4x16xf32>
  // expected-remark @+1 {{launches_saved=1, ops=2}}
  %kr = llm.rotary %k, %b rope(#rope) : tensor<?x2x16xf32>
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=two_readers | Reason="2 attentions read the state", attentions=2, predicate=readers}}
  %c1 = llm.kv_append %kr, %k, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  %d = llm.paged_attention %qr, %c1, %b scale 0.5 : tensor<?x4x16xf32>, !kv -> tensor<?x4x16xf32>
  return %a, %d : tensor<?x4x16xf32>, tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @same_value
func.func @same_value(%k: tensor<?x2x16xf32>, %c: !kv, %b: !llm.batch) -> tensor<?x2x16xf32> {
  // CHECK-NOT: llm.fusion
  %kr = llm.rotary %k, %b rope(#rope) : tensor<?x2x16xf32>
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=same_value | Reason="the values are what the key goes through", predicate=kernel}}
  %c1 = llm.kv_append %kr, %kr, %c, %b : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !kv
  %a = llm.paged_attention %k, %c1, %b scale 0.25 : tensor<?x2x16xf32>, !kv -> tensor<?x2x16xf32>
  return %a : tensor<?x2x16xf32>
}

// -----

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
!kv = !llm.cache<paged, [2, 16, 16], f32>
!q = tensor<?x4x16xf32>
!k = tensor<?x2x16xf32>
!h = !llm.weight<[16], #llm.dense<f32>>

// Norms without a scale, of v too, and none of them followed by a rotary.
// CHECK-LABEL: func.func @norms_alone
func.func @norms_alone(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch, %s: !h) -> !q {
  // CHECK: llm.fusion "attention-prologue"
  // CHECK: llm.rms_norm
  // CHECK: llm.layer_norm
  // CHECK: llm.rms_norm
  // CHECK: llm.kv_append
  // expected-remark @+1 {{launches_saved=3, ops=4}}
  %qn = llm.rms_norm %q eps 1.0e-6 : !q
  %kn = llm.layer_norm %k, %s eps 1.0e-6 : !k, !h
  %vn = llm.rms_norm %v eps 1.0e-6 : !k
  %c1 = llm.kv_append %kn, %vn, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qn, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// A part of wider heads is read where it lies; of the two only the query turns.
// CHECK-LABEL: func.func @part_of_heads
func.func @part_of_heads(%both: tensor<?x4x32xf32>, %k: !k, %c: !kv, %b: !llm.batch, %s: !h) -> !q {
  // CHECK: llm.fusion "attention-prologue" ({{.*}}%arg0{{.*}})
  // CHECK: llm.slice
  // CHECK: llm.rotary
  // CHECK: llm.rms_norm
  // CHECK: llm.kv_append
  // expected-remark @+1 {{launches_saved=3, ops=4}}
  %q = llm.slice %both from 16 size 16 : tensor<?x4x32xf32> -> !q
  %qr = llm.rotary %q, %b rope(#rope) : !q
  %kn = llm.rms_norm %k, %s eps 1.0e-6 : !k, !h
  %c1 = llm.kv_append %kn, %k, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// A norm over all heads is not one of each.
// CHECK-LABEL: func.func @norm_of_all
func.func @norm_of_all(%q: !q, %k: tensor<?x32xf32>, %c: !kv, %b: !llm.batch, %s: !llm.weight<[32], #llm.dense<f32>>) -> !q {
  // CHECK: llm.rms_norm
  // CHECK-NOT: llm.fusion
  %kn = llm.rms_norm %k, %s eps 1.0e-6 : tensor<?x32xf32>, !llm.weight<[32], #llm.dense<f32>>
  %kh = llm.split_heads %kn : tensor<?x32xf32> -> !k
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=norm_of_all | Reason="the key comes from llm.split_heads", predicate=producer}}
  %c1 = llm.kv_append %kh, %kh, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %q, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// -----

// Latent attention: keys of a normed part and a part that turns, queries likewise.
#rope = #llm.rope<"default", base = 10000.0, width = 8, halves, magnitude = 1.0, [1.0, 0.1, 0.01, 0.001]>
!kv = !llm.cache<latent, [1, 24, 16], f32>
!x = tensor<?x24xf32>
// CHECK-LABEL: func.func @latent
func.func @latent(%q: tensor<?x4x16xf32>, %wide: tensor<?x4x20xf32>, %x: !x, %c: !kv, %b: !llm.batch, %s: !llm.weight<[16], #llm.dense<f32>>) -> tensor<?x4x16xf32> {
  // CHECK: %[[P:.*]]:2 = llm.fusion "attention-prologue"
  // CHECK: llm.rms_norm
  // CHECK: llm.concat
  // CHECK: llm.slice
  // CHECK: llm.rotary
  // CHECK: llm.concat
  // CHECK: llm.kv_append
  // CHECK: llm.paged_attention %[[P]]#0, %[[P]]#1
  %own = llm.slice %x from 0 size 16 : !x -> tensor<?x16xf32>
  // expected-remark @+1 {{launches_saved=6, ops=8}}
  %n = llm.rms_norm %own, %s eps 1.0e-6 : tensor<?x16xf32>, !llm.weight<[16], #llm.dense<f32>>
  %k1 = llm.split_heads %n : tensor<?x16xf32> -> tensor<?x1x16xf32>
  %rest = llm.slice %x from 16 size 8 : !x -> tensor<?x8xf32>
  %k2 = llm.split_heads %rest : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %kr = llm.rotary %k2, %b rope(#rope) : tensor<?x1x8xf32>
  %k = llm.concat %k1, %kr : tensor<?x1x16xf32>, tensor<?x1x8xf32> -> tensor<?x1x24xf32>
  %q2 = llm.slice %wide from 12 size 8 : tensor<?x4x20xf32> -> tensor<?x4x8xf32>
  %qr = llm.rotary %q2, %b rope(#rope) : tensor<?x4x8xf32>
  %qc = llm.concat %q, %qr : tensor<?x4x16xf32>, tensor<?x4x8xf32> -> tensor<?x4x24xf32>
  %c1 = llm.kv_append %k, %c, %b : tensor<?x1x24xf32>, !kv
  %a = llm.paged_attention %qc, %c1, %b scale 0.25 : tensor<?x4x24xf32>, !kv -> tensor<?x4x16xf32>
  return %a : tensor<?x4x16xf32>
}

// -----

// What does not go together with the query, for other reasons.
#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
!kv = !llm.cache<paged, [2, 16, 16], f32>
!q = tensor<?x4x16xf32>
!k = tensor<?x2x16xf32>

// Heads of two parts beside whole ones.
// CHECK-LABEL: func.func @other_parts
func.func @other_parts(%q: tensor<?x4x12xf32>, %r: tensor<?x4x4xf32>, %k: !k, %v: !k, %c: !kv, %b: !llm.batch) -> !q {
  // CHECK: llm.rotary
  // CHECK: llm.concat
  // CHECK: llm.fusion "attention-prologue"
  %qr = llm.rotary %r, %b rope(#rope) : tensor<?x4x4xf32>
  %qc = llm.concat %q, %qr : tensor<?x4x12xf32>, tensor<?x4x4xf32> -> !q
  // expected-remark @+1 {{[Passed] attention-prologue | Category:fusion | Function=other_parts | bytes_per_token_saved=256, launches_saved=1, ops=2}}
  %kr = llm.rotary %k, %b rope(#rope) : !k
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=other_parts | Reason="query and key have heads of different parts", predicate=same-shape}}
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qc, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// CHECK-LABEL: func.func @query_batch
func.func @query_batch(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch, %d: !llm.batch) -> !q {
  // CHECK: llm.rotary
  // CHECK: llm.fusion "attention-prologue"
  %qr = llm.rotary %q, %d rope(#rope) : !q
  // expected-remark @+1 {{[Passed] attention-prologue}}
  %kr = llm.rotary %k, %b rope(#rope) : !k
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=query_batch | Reason="rotary and append have different batches", predicate=same-input}}
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// CHECK-LABEL: func.func @key_batch
func.func @key_batch(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch, %d: !llm.batch) -> !q {
  // CHECK-NOT: llm.fusion
  %kr = llm.rotary %k, %d rope(#rope) : !k
  // expected-remark @+1 {{[Missed] attention-prologue | Category:fusion | Function=key_batch | Reason="rotary and append have different batches", predicate=same-input}}
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %q, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}
