// A fusion stands in one place: what feeds one of its parts from another, or would be overtaken by an
// effect that it may not swap with, refuses it: convex, effect-order. Those of qkv-linear are in its own test.
// RUN: llmc-opt %s --llm-fuse --allow-unregistered-dialect | FileCheck %s --check-prefix=NONE
// RUN: llmc-opt %s --llm-fuse --allow-unregistered-dialect --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s

// NONE-NOT: llm.fusion

!x = tensor<?x64xf32>
!s = !llm.weight<[64], #llm.dense<f32>>
!q = tensor<?x4x16xf32>
!k = tensor<?x2x16xf32>
!kv = !llm.cache<paged, [2, 16, 16], f32>
#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>

// What `residual-norm` cannot have, `rows` cannot either.
// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=sum_around | Reason="{{.*}} reads one part {{.*}}another{{.*}}", predicate=convex
// CHECK-DAG: [Missed] rows | Category:fusion | Function=sum_around | Reason="{{.*}} reads one part {{.*}}another{{.*}}", predicate=convex
func.func @sum_around(%x: !x, %d: !x) -> !x {
  %sum = llm.residual_add %x, %d : !x
  %s = "test.scale"(%sum) : (!x) -> !s
  %y = llm.rms_norm %sum, %s eps 1.0e-5 : !x, !s
  return %y : !x
}

// The query is made from the key.
// CHECK-DAG: [Missed] attention-prologue | Category:fusion | Function=key_around | Reason="{{.*}} reads one part {{.*}}another{{.*}}", predicate=convex
func.func @key_around(%k: !k, %v: !k, %c: !kv, %b: !llm.batch) -> !q {
  %kr = llm.rotary %k, %b rope(#rope) : !k
  %q = "test.query"(%kr) : (!k) -> !q
  %qr = llm.rotary %q, %b rope(#rope) : !q
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=sum_sent | Reason="it would change the order of test.send and test.receive", predicate=effect-order
// CHECK-DAG: [Missed] rows | Category:fusion | Function=sum_sent | Reason="it would change the order of test.send and test.receive", predicate=effect-order
func.func @sum_sent(%x: !x, %d: !x) -> !x {
  %sum = llm.residual_add %x, %d : !x
  "test.send"(%sum) : (!x) -> ()
  "test.receive"() : () -> ()
  %y = llm.rms_norm %sum eps 1.0e-5 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] attention-prologue | Category:fusion | Function=key_sent | Reason="it would change the order of test.send and test.receive", predicate=effect-order
func.func @key_sent(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch) -> !q {
  %kr = llm.rotary %k, %b rope(#rope) : !k
  "test.send"(%kr) : (!k) -> ()
  "test.receive"() : () -> ()
  %qr = llm.rotary %q, %b rope(#rope) : !q
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// The attention would read what is appended behind it.
// CHECK-DAG: [Missed] attention-gate | Category:fusion | Function=appended | Reason="it would change the order of llm.paged_attention and llm.kv_append", predicate=effect-order
func.func @appended(%q: !q, %g: !q, %k: !k, %c: !kv, %b: !llm.batch) -> (!q, !kv) {
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %c1 = llm.kv_append %k, %k, %c, %b : !k, !k, !kv
  %y = llm.gate sigmoid %g, %a : !q
  return %y, %c1 : !q, !kv
}
