// A pattern that is off says each place where it stood, by its own name: enabled. Each function is of the pattern
// that it is named after.
// RUN: llmc-opt %s --llm-fuse="disable=gated-linear,linear-elementwise,linear-activation,router,qkv-linear,linear-residual,norm-linear,residual-norm,attention-prologue,attention-gate,rows" --remarks-filter=fusion 2>&1 | FileCheck %s --implicit-check-not=llm.fusion
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=ON

!x = tensor<?x64xf32>
!w = !llm.weight<[64, 64], #llm.dense<f32>>
!q = tensor<?x4x16xf32>
!k = tensor<?x2x16xf32>
!kv = !llm.cache<paged, [2, 16, 16], f32>
#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>

// CHECK-DAG: [Missed] gated-linear | Category:fusion | Function=gated_linear | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] gated-linear | Category:fusion | Function=gated_linear
func.func @gated_linear(%x: !x, %w: !w, %v: !w) -> !x {
  %g = llm.linear %x, %w : !x, !w -> !x
  %u = llm.linear %x, %v : !x, !w -> !x
  %y = llm.gate silu %g, %u : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-elementwise | Category:fusion | Function=linear_elementwise | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] linear-elementwise | Category:fusion | Function=linear_elementwise
func.func @linear_elementwise(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.softcap %p cap 30.0 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-activation | Category:fusion | Function=linear_activation | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] linear-activation | Category:fusion | Function=linear_activation
func.func @linear_activation(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.activation silu %p : !x
  return %y : !x
}

// CHECK-DAG: [Missed] router | Category:fusion | Function=router | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] router | Category:fusion | Function=router
func.func @router(%x: !x, %w: !llm.weight<[8, 64], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %l = llm.linear %x, %w : !x, !llm.weight<[8, 64], #llm.dense<f32>> -> tensor<?x8xf32>
  %c, %s = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %s : tensor<?x2xi32>, tensor<?x2xf32>
}

// CHECK-DAG: [Missed] qkv-linear | Category:fusion | Function=qkv_linear | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] qkv-linear | Category:fusion | Function=qkv_linear
func.func @qkv_linear(%x: !x, %w: !w, %v: !w) -> (!x, !x) {
  %q = llm.linear %x, %w : !x, !w -> !x
  %k = llm.linear %x, %v : !x, !w -> !x
  return %q, %k : !x, !x
}

// CHECK-DAG: [Missed] linear-residual | Category:fusion | Function=linear_residual | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] linear-residual | Category:fusion | Function=linear_residual
func.func @linear_residual(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.residual_add %x, %p : !x
  return %y : !x
}

// On this target the pattern does not pay; where it does is in its own test.
// CHECK-DAG: [Missed] norm-linear | Category:fusion | Function=norm_linear | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Missed] norm-linear | Category:fusion | Function=norm_linear
func.func @norm_linear(%x: !x, %w: !w) -> !x {
  %n = llm.rms_norm %x eps 1.0e-5 : !x
  %y = llm.linear %n, %w : !x, !w -> !x
  return %y : !x
}

// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=residual_norm | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] residual-norm | Category:fusion | Function=residual_norm
func.func @residual_norm(%x: !x, %d: !x) -> !x {
  %s = llm.residual_add %x, %d : !x
  %y = llm.rms_norm %s eps 1.0e-5 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] attention-prologue | Category:fusion | Function=attention_prologue | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] attention-prologue | Category:fusion | Function=attention_prologue
func.func @attention_prologue(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch) -> !q {
  %qr = llm.rotary %q, %b rope(#rope) : !q
  %kr = llm.rotary %k, %b rope(#rope) : !k
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %qr, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// CHECK-DAG: [Missed] attention-gate | Category:fusion | Function=attention_gate | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] attention-gate | Category:fusion | Function=attention_gate
func.func @attention_gate(%q: !q, %g: !q, %c: !kv, %b: !llm.batch) -> !q {
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %y = llm.gate sigmoid %g, %a : !q
  return %y : !q
}

// CHECK-DAG: [Missed] rows | Category:fusion | Function=rows | Reason="the pattern is disabled", predicate=enabled
// ON-DAG: [Passed] rows | Category:fusion | Function=rows
func.func @rows(%x: !x) -> !x {
  %s = llm.scale %x by 0.3 : !x
  %y = llm.activation silu %s : !x
  return %y : !x
}
