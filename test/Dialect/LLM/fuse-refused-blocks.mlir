// Operations of different blocks are no fusion of any pattern: same-block.
// RUN: llmc-opt %s --llm-fuse --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s

!x = tensor<?x64xf32>
!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-DAG: [Missed] gated-linear | Category:fusion | Function=gate | Reason="gate is made in another block", predicate=same-block
func.func @gate(%x: !x, %w: !w, %v: !w) -> !x {
  %g = llm.linear %x, %w : !x, !w -> !x
  cf.br ^behind
^behind:
  %u = llm.linear %x, %v : !x, !w -> !x
  %y = llm.gate silu %g, %u : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-elementwise | Category:fusion | Function=element | Reason="the product is made in another block", predicate=same-block
func.func @element(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  cf.br ^behind
^behind:
  %y = llm.softcap %p cap 30.0 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] linear-activation | Category:fusion | Function=activation | Reason="the input is made in another block", predicate=same-block
func.func @activation(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  cf.br ^behind
^behind:
  %y = llm.activation silu %p : !x
  return %y : !x
}

// CHECK-DAG: [Missed] router | Category:fusion | Function=route | Reason="the logits are made in another block", predicate=same-block
func.func @route(%x: !x, %w: !llm.weight<[8, 64], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %l = llm.linear %x, %w : !x, !llm.weight<[8, 64], #llm.dense<f32>> -> tensor<?x8xf32>
  cf.br ^behind
^behind:
  %c, %s = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %s : tensor<?x2xi32>, tensor<?x2xf32>
}

// CHECK-DAG: [Missed] linear-residual | Category:fusion | Function=residual | Reason="delta is made in another block", predicate=same-block
func.func @residual(%x: !x, %w: !w) -> !x {
  %p = llm.linear %x, %w : !x, !w -> !x
  cf.br ^behind
^behind:
  %y = llm.residual_add %x, %p : !x
  return %y : !x
}

// CHECK-DAG: [Missed] norm-linear | Category:fusion | Function=norm | Reason="the rows are read in another block", predicate=same-block
func.func @norm(%x: !x, %w: !w) -> !x {
  %n = llm.rms_norm %x eps 1.0e-5 : !x
  cf.br ^behind
^behind:
  %y = llm.linear %n, %w : !x, !w -> !x
  return %y : !x
}

// CHECK-DAG: [Missed] residual-norm | Category:fusion | Function=sum | Reason="the sum is made in another block", predicate=same-block
func.func @sum(%x: !x, %d: !x) -> !x {
  %s = llm.residual_add %x, %d : !x
  cf.br ^behind
^behind:
  %y = llm.rms_norm %s eps 1.0e-5 : !x
  return %y : !x
}

// CHECK-DAG: [Missed] attention-gate | Category:fusion | Function=attention | Reason="the result is used in another block", predicate=same-block
func.func @attention(%q: tensor<?x4x16xf32>, %g: tensor<?x4x16xf32>, %c: !llm.cache<paged, [2, 16, 16], f32>, %b: !llm.batch) -> tensor<?x4x16xf32> {
  %a = llm.paged_attention %q, %c, %b scale 0.25 : tensor<?x4x16xf32>, !llm.cache<paged, [2, 16, 16], f32> -> tensor<?x4x16xf32>
  cf.br ^behind
^behind:
  %y = llm.gate sigmoid %g, %a : tensor<?x4x16xf32>
  return %y : tensor<?x4x16xf32>
}
