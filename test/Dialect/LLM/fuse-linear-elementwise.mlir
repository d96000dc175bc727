// RUN: llmc-opt %s --llm-fuse-linear-elementwise -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-elementwise --llm-fuse-linear-elementwise -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-elementwise --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-linear-elementwise=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-linear-elementwise --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @softcap
// CHECK: %[[Y:.*]] = llm.fusion "linear-elementwise"
// CHECK: %[[L:.*]] = llm.output_head
// CHECK-NEXT: %[[S:.*]] = llm.scale %[[L]]
// CHECK-NEXT: %[[C:.*]] = llm.softcap %[[S]]
// CHECK-NEXT: llm.yield %[[C]]
// CHECK: return %[[Y]]
func.func @softcap(%x: tensor<?x64xf32>, %w: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise | Category:fusion | Function=softcap | bytes_per_token_saved=1024, launches_saved=2, ops=3}}
  %l = llm.output_head %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %s = llm.scale %l by 0.0625 : tensor<?x64xf32>
  %y = llm.softcap %s cap 30.0 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// Values of the same rows, one element a row, and the residual.
// CHECK-LABEL: func.func @beside
// CHECK: llm.fusion "linear-elementwise"
// CHECK: llm.linear
// CHECK-NEXT: llm.activation sigmoid
// CHECK-NEXT: llm.binary mul
// CHECK-NEXT: llm.binary mul
// CHECK-NEXT: llm.residual_add
// CHECK-NEXT: llm.yield
func.func @beside(%x: tensor<?x64xf32>, %g: tensor<?x64xf32>, %one: tensor<?x1xf32>, %w: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise}}
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %a = llm.activation sigmoid %p : tensor<?x64xf32>
  %m = llm.binary mul %a, %g : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
  %n = llm.binary mul %m, %one : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  %y = llm.residual_add %x, %n : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// Two products side by side, each with work of its own.
// CHECK-LABEL: func.func @pair
// CHECK: llm.fusion "linear-elementwise"
// CHECK: llm.linear
// CHECK: llm.clamp
// CHECK: llm.linear
// CHECK: llm.clamp
// CHECK: llm.offset
// CHECK: llm.gate
// CHECK-NEXT: llm.yield
func.func @pair(%x: tensor<?x64xf32>, %wg: !w, %wu: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise}}
  %g = llm.linear %x, %wg : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %gc = llm.clamp %g max 7.0 : tensor<?x64xf32>
  %u = llm.linear %x, %wu : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %uc = llm.clamp %u min -7.0 max 7.0 : tensor<?x64xf32>
  %u1 = llm.offset %uc by 1.0 : tensor<?x64xf32>
  %y = llm.gate silu %gc, %u1 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[8, 32, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @experts
// CHECK: llm.fusion "linear-elementwise"
// CHECK-COUNT-2: llm.expert_linear
// CHECK: llm.yield
func.func @experts(%x: tensor<?x64xf32>, %c: tensor<?x2xi32>, %wg: !w, %wu: !w) -> tensor<?x2x32xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise}}
  %g = llm.expert_linear %x, %c, %wg : (tensor<?x64xf32>, tensor<?x2xi32>, !w) -> tensor<?x2x32xf32>
  %u = llm.expert_linear %x, %c, %wu : (tensor<?x64xf32>, tensor<?x2xi32>, !w) -> tensor<?x2x32xf32>
  %gs = llm.softcap %g cap 10.0 : tensor<?x2x32xf32>
  %y = llm.gate silu %gs, %u : tensor<?x2x32xf32>
  return %y : tensor<?x2x32xf32>
}

// -----

// Stored differently: the gate is behind one of the products all the same.
// CHECK-LABEL: func.func @other_storage
// CHECK: llm.linear
// CHECK: llm.fusion "linear-elementwise"
// CHECK: llm.linear
// CHECK: llm.gate
func.func @other_storage(%x: tensor<?x64xf32>, %wg: !llm.weight<[64, 64], #llm.dense<f32>>, %wu: !llm.weight<[64, 64], #llm.dense<bf16>>) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise}}
  %g = llm.linear %x, %wg : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %u = llm.linear %x, %wu : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<bf16>> -> tensor<?x64xf32>
  %y = llm.gate relu %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// Patterns of their own.
// CHECK-LABEL: func.func @left_to_others
// CHECK-NOT: llm.fusion
func.func @left_to_others(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %w: !w) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %a = llm.activation silu %p : tensor<?x64xf32>
  %q = llm.linear %a, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %r = llm.residual_add %x, %q : tensor<?x64xf32>
  %g = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %u = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %z = llm.gate silu %g, %u : tensor<?x64xf32>
  return %a, %r, %z : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @other_use
// CHECK-NOT: llm.fusion
func.func @other_use(%x: tensor<?x64xf32>, %w: !w) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] linear-elementwise | Category:fusion | Function=other_use | Reason="a value inside has another use than what is behind it", predicate=single-use}}
  %y = llm.scale %p by 2.0 : tensor<?x64xf32>
  return %p, %y : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!w = !llm.weight<[1, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @other_shape
// CHECK-NOT: llm.fusion
func.func @other_shape(%x: tensor<?x64xf32>, %w: !w) -> tensor<?x64xf32> {
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x1xf32>
  // expected-remark @+1 {{[Missed] linear-elementwise | Category:fusion | Function=other_shape | Reason="llm.binary has rows of another shape than the product", predicate=same-shape}}
  %y = llm.binary mul %x, %p : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @sibling
// CHECK-NOT: llm.fusion
func.func @sibling(%x: tensor<?x64xf32>, %wq: !w, %wk: !w) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %q = llm.linear %x, %wq : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %k = llm.linear %x, %wk : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] linear-elementwise | Category:fusion | Function=sibling | Reason="another product of the input is stored alike (qkv-linear)", predicate=other-fusion}}
  %y = llm.scale %q by 2.0 : tensor<?x64xf32>
  return %y, %k : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!w = !llm.weight<[8, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @routes
// CHECK-NOT: llm.fusion
func.func @routes(%x: tensor<?x64xf32>, %w: !w) -> (tensor<?x2xi32>, tensor<?x2xf32>) {
  %l = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x8xf32>
  // expected-remark @+1 {{[Missed] linear-elementwise | Category:fusion | Function=routes | Reason="the values choose experts (router)", predicate=other-fusion}}
  %s = llm.softcap %l cap 30.0 : tensor<?x8xf32>
  %c, %v = llm.route softmax %s top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return %c, %v : tensor<?x2xi32>, tensor<?x2xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// As far as it goes: what reads behind the observed value stays outside.
// CHECK-LABEL: func.func @part
// CHECK: llm.fusion "linear-elementwise"
// CHECK: llm.clamp
// CHECK-NEXT: llm.yield
// CHECK: llm.softcap
func.func @part(%x: tensor<?x64xf32>, %w: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Passed] linear-elementwise}}
  %p = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %s = llm.scale %p by 2.0 : tensor<?x64xf32>
  %c = llm.clamp %s max 8.0 : tensor<?x64xf32>
  llm.observe %c "clamped" : tensor<?x64xf32>
  %y = llm.softcap %c cap 4.0 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
