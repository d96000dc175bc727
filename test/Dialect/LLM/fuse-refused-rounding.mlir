// A value inside a kernel stays f32: where its type is narrower the fusion would be other numbers,
// and only who asks for it by the pattern's name has it: rounding-point.
// RUN: llmc-opt %s --llm-fuse | FileCheck %s --check-prefix=NONE
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s
// RUN: llmc-opt %s --llm-fuse="across-rounding=gated-linear,linear-elementwise,linear-activation,router,linear-residual,residual-norm,attention-prologue,attention-gate,rows" | FileCheck %s --check-prefix=ACROSS
// The same by the option of a pass, and by that of a phase.
// RUN: llmc-opt %s --llm-fuse-norm-linear="across-rounding=true launch-seconds=1" | FileCheck %s --check-prefix=NORM
// RUN: llmc-opt %s --llm-fuse-linear-residual=across-rounding=true | FileCheck %s --check-prefix=PASS

// NONE-NOT: llm.fusion

!x = tensor<?x64xbf16>
!w = !llm.weight<[64, 64], #llm.dense<bf16>>
!q = tensor<?x4x16xbf16>
!k = tensor<?x2x16xbf16>
!kv = !llm.cache<paged, [2, 16, 16], f32>
#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>

// CHECK-DAG: [Missed] gated-linear | Category:fusion | Function=gate | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @gate
// ACROSS: llm.fusion "gated-linear"
func.func @gate(%x: !x, %w: !w, %v: !w) -> !x {
  %g = llm.linear %x, %w : !x, !w -> !x
  %u = llm.linear %x, %v : !x, !w -> !x
  %y = llm.gate silu %g, %u : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-elementwise | Category:fusion | Function=element | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @element
// ACROSS: llm.fusion "linear-elementwise"
func.func @element(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.softcap %p cap 30.0 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-activation | Category:fusion | Function=activation | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @activation
// ACROSS: llm.fusion "linear-activation"
func.func @activation(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.activation silu %p : !x
  return %y : !x
}

// CHECK-DAG: [Missed] router | Category:fusion | Function=route | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @route
// ACROSS: llm.fusion "router"
func.func @route(%x: !x, %w: !llm.weight<[8, 64], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xbf16>) {
  %l = llm.linear %x, %w : !x, !llm.weight<[8, 64], #llm.dense<f32>> -> tensor<?x8xbf16>
  %c, %s = llm.route softmax %l top 2 : (tensor<?x8xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>)
  return %c, %s : tensor<?x2xi32>, tensor<?x2xbf16>
}

// CHECK-DAG: [Missed] linear-residual | Category:fusion | Function=residual | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @residual
// ACROSS: llm.fusion "linear-residual"
// PASS-LABEL: @residual
// PASS: llm.fusion "linear-residual"
func.func @residual(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  %y = llm.residual_add %x, %p : !x
  return %y : !x
}

// CHECK-DAG: [Missed] norm-linear | Category:fusion | Function=norm | Reason="llm.rms_norm rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// NORM-LABEL: @norm
// NORM: llm.fusion "norm-linear"
func.func @norm(%x: !x, %w: !w) -> !x {
  %n = llm.rms_norm %x eps 1.0e-5 : !x
  %y = llm.linear %n, %w : !x, !w -> !x
  return %y : !x
}

// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=sum | Reason="llm.residual_add rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @sum
// ACROSS: llm.fusion "residual-norm"
func.func @sum(%x: !x, %d: !x) -> !x {
  %s = llm.residual_add %x, %d : !x
  %y = llm.rms_norm %s eps 1.0e-5 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] attention-prologue | Category:fusion | Function=key | Reason="llm.rotary rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @key
// ACROSS: llm.fusion "attention-prologue"
func.func @key(%q: !q, %k: !k, %v: !k, %c: !kv, %b: !llm.batch) -> !q {
  %kr = llm.rotary %k, %b rope(#rope) : !k
  %c1 = llm.kv_append %kr, %v, %c, %b : !k, !k, !kv
  %a = llm.paged_attention %q, %c1, %b scale 0.25 : !q, !kv -> !q
  return %a : !q
}

// CHECK-DAG: [Missed] attention-gate | Category:fusion | Function=attention | Reason="llm.paged_attention rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @attention
// ACROSS: llm.fusion "attention-gate"
func.func @attention(%q: !q, %g: !q, %c: !kv, %b: !llm.batch) -> !q {
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %y = llm.gate sigmoid %g, %a : !q
  return %y : !q
}

// CHECK-DAG: [Missed] rows | Category:fusion | Function=row | Reason="llm.scale rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point
// ACROSS-LABEL: @row
// ACROSS: llm.fusion "rows"
func.func @row(%x: !x) -> !x {
  %s = llm.scale %x by 0.3 : !x
  %y = llm.activation silu %s : !x
  return %y : !x
}
