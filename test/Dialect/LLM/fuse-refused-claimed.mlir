// What another fusion has, here one by hand, no pattern takes: each that would have had it says so: other-fusion.
// RUN: llmc-opt %s --llm-fuse | FileCheck %s --check-prefix=NONE
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s
// RUN: llmc-opt %s --llm-fuse=disable=gated-linear,linear-elementwise,linear-activation,linear-residual,router,norm-linear,residual-norm,attention-gate,rows --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=OFF --allow-empty

// OFF-NOT: other-fusion
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | grep -c "gated-linear .*Function=gate " | FileCheck %s --check-prefix=ONCE
// ONCE: {{^}}1{{$}}

!x = tensor<?x64xf32>
!w = !llm.weight<[64, 64], #llm.dense<f32>>
!l = tensor<?x8xf32>
!c = tensor<?x2xi32>
!s = tensor<?x2xf32>
!q = tensor<?x4x16xf32>
!kv = !llm.cache<paged, [2, 16, 16], f32>

// NONE-COUNT-8: llm.fusion "mine"
// NONE-NOT: llm.fusion

// One of the two products says it.
// CHECK-DAG: [Missed] gated-linear | Category:fusion | Function=gate | Reason="llm.gate, which reads the product, is part of fusion mine", predicate=other-fusion
func.func @gate(%x: !x, %a: !w, %z: !x, %b: !w) -> !x {
  %g = llm.linear %x, %a : !x, !w -> !x
  %u = llm.linear %z, %b : !x, !w -> !x
  %y = llm.fusion "mine" (%g, %u) : (!x, !x) -> !x {
  ^bb0(%i: !x, %j: !x):
    %0 = llm.gate silu %i, %j : !x
    llm.yield %0 : !x
  }
  return %y : !x
}

// CHECK-DAG: [Missed] linear-elementwise | Category:fusion | Function=scale | Reason="llm.scale, which reads the product, is part of fusion mine", predicate=other-fusion
func.func @scale(%x: !x, %a: !w) -> !x {
  %g = llm.linear %x, %a : !x, !w -> !x
  %y = llm.fusion "mine" (%g) : (!x) -> !x {
  ^bb0(%i: !x):
    %0 = llm.scale %i by 0.5 : !x
    %1 = llm.activation silu %0 : !x
    llm.yield %1 : !x
  }
  return %y : !x
}

// CHECK-DAG: [Missed] linear-activation | Category:fusion | Function=activation | Reason="llm.activation, which reads the product, is part of fusion mine", predicate=other-fusion
func.func @activation(%x: !x, %a: !w) -> !x {
  %g = llm.linear %x, %a : !x, !w -> !x
  %y = llm.fusion "mine" (%g) : (!x) -> !x {
  ^bb0(%i: !x):
    %0 = llm.activation silu %i : !x
    llm.yield %0 : !x
  }
  return %y : !x
}

// CHECK-DAG: [Missed] router | Category:fusion | Function=choice | Reason="llm.route, which reads the product, is part of fusion mine", predicate=other-fusion
func.func @choice(%x: !x, %a: !llm.weight<[8, 64], #llm.dense<f32>>) -> (!c, !s) {
  %l = llm.linear %x, %a : !x, !llm.weight<[8, 64], #llm.dense<f32>> -> !l
  %y:2 = llm.fusion "mine" (%l) : (!l) -> (!c, !s) {
  ^bb0(%i: !l):
    %0, %1 = llm.route softmax %i top 2 : (!l) -> (!c, !s)
    llm.yield %0, %1 : !c, !s
  }
  return %y#0, %y#1 : !c, !s
}

// CHECK-DAG: [Missed] linear-residual | Category:fusion | Function=residual | Reason="llm.residual_add, which reads the product, is part of fusion mine", predicate=other-fusion
func.func @residual(%x: !x, %z: !x, %a: !w) -> !x {
  %g = llm.linear %x, %a : !x, !w -> !x
  %y = llm.fusion "mine" (%z, %g) : (!x, !x) -> !x {
  ^bb0(%i: !x, %j: !x):
    %0 = llm.residual_add %i, %j : !x
    llm.yield %0 : !x
  }
  return %y : !x
}

// The product loses its norm, the sum before it too, and rows stops there.
// CHECK-DAG: [Missed] norm-linear | Category:fusion | Function=norm | Reason="the norm is part of fusion mine", predicate=other-fusion
// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=norm | Reason="llm.rms_norm, which reads the sum, is part of fusion mine", predicate=other-fusion
// CHECK-DAG: [Missed] rows | Category:fusion | Function=norm | Reason="it stands next to fusion mine, which does not grow", predicate=other-fusion
func.func @norm(%x: !x, %z: !x, %a: !w) -> !x {
  %s = llm.residual_add %x, %z : !x
  %n = llm.fusion "mine" (%s) : (!x) -> !x {
  ^bb0(%i: !x):
    %0 = llm.rms_norm %i eps 1.0e-5 : !x
    llm.yield %0 : !x
  }
  %y = llm.linear %n, %a : !x, !w -> !x
  return %y : !x
}

// CHECK-DAG: [Missed] attention-gate | Category:fusion | Function=heads | Reason="llm.gate, which reads the result, is part of fusion mine", predicate=other-fusion
func.func @heads(%q: !q, %c: !kv, %g: !x, %b: !llm.batch) -> !x {
  %a = llm.paged_attention %q, %c, %b scale 0.25 : !q, !kv -> !q
  %m = llm.merge_heads %a : !q -> !x
  %y = llm.fusion "mine" (%g, %m) : (!x, !x) -> !x {
  ^bb0(%i: !x, %j: !x):
    %0 = llm.gate sigmoid %i, %j : !x
    llm.yield %0 : !x
  }
  return %y : !x
}

// Behind a fusion that does not grow, rows stops too.
// CHECK-DAG: [Missed] rows | Category:fusion | Function=behind | Reason="it stands next to fusion mine, which does not grow", predicate=other-fusion
func.func @behind(%x: !x) -> !x {
  %s = llm.fusion "mine" (%x) : (!x) -> !x {
  ^bb0(%i: !x):
    %0 = llm.activation silu %i : !x
    llm.yield %0 : !x
  }
  %y = llm.rms_norm %s eps 1.0e-5 : !x
  return %y : !x
}
