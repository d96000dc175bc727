// RUN: llmc-opt %s --llm-fuse-router -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-router --llm-fuse-router -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-router --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-router=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-router=enabled=false --remarks-filter=fusion -split-input-file 2>&1 | FileCheck %s --check-prefix=DISABLED
// RUN: llmc-opt %s --llm-fuse-router --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!x = tensor<?x64xf32>
!w = !llm.weight<[8, 64], #llm.dense<f32>>
!l = tensor<?x8xf32>
!c = tensor<?x2xi32>
!s = tensor<?x2xf32>

// DISABLED: [Missed] router | Category:fusion | Function=plain | Reason="the pattern is disabled"

// CHECK-LABEL: func.func @plain
func.func @plain(%x: !x, %w: !w) -> (!c, !s) {
  // CHECK: %[[R:.*]]:2 = llm.fusion "router" (%arg0, %arg1)
  // CHECK: %[[L:.*]] = llm.linear
  // CHECK-NEXT: llm.route softmax %[[L]]
  // CHECK-NEXT: llm.yield
  // CHECK: return %[[R]]#0, %[[R]]#1
  // expected-remark @+1 {{[Passed] router | Category:fusion | Function=plain | bytes_per_token_saved=64, launches_saved=1, ops=2}}
  %l = llm.linear %x, %w : !x, !w -> !l
  %c, %s = llm.route softmax %l top 2 normalise sum : (!l) -> (!c, !s)
  return %c, %s : !c, !s
}

// With a bias of the product, what is done to the logits, and a correction.
// CHECK-LABEL: func.func @between
func.func @between(%x: !x, %w: !w, %v: !llm.weight<[8], #llm.dense<f32>>) -> (!c, !s) {
  // CHECK: llm.fusion "router"
  // CHECK: llm.linear
  // CHECK-NEXT: llm.scale
  // CHECK-NEXT: llm.softcap
  // CHECK-NEXT: llm.route
  // expected-remark @+1 {{launches_saved=3, ops=4}}
  %l = llm.linear %x, %w bias %v : !x, !w, !llm.weight<[8], #llm.dense<f32>> -> !l
  %m = llm.scale %l by 0.5 : !l
  %n = llm.softcap %m cap 30.0 : !l
  %c, %s = llm.route sigmoid %n bias %v top 2 : (!l, !llm.weight<[8], #llm.dense<f32>>) -> (!c, !s)
  return %c, %s : !c, !s
}

// -----

!x = tensor<?x64xf32>
!w = !llm.weight<[8, 64], #llm.dense<f32>>
!l = tensor<?x8xf32>
!c = tensor<?x2xi32>
!s = tensor<?x2xf32>

// CHECK-LABEL: func.func @no_product
func.func @no_product(%l: !l) -> (!c, !s) {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] router | Category:fusion | Function=no_product | Reason="the logits come from an argument", predicate=producer}}
  %c, %s = llm.route softmax %l top 2 : (!l) -> (!c, !s)
  return %c, %s : !c, !s
}

// CHECK-LABEL: func.func @two_uses
func.func @two_uses(%x: !x, %w: !w) -> (!c, !s, !l) {
  // CHECK-NOT: llm.fusion
  %l = llm.linear %x, %w : !x, !w -> !l
  // expected-remark @+1 {{[Missed] router | Category:fusion | Function=two_uses | Reason="the logits have another use than the router", predicate=single-use}}
  %c, %s = llm.route softmax %l top 2 : (!l) -> (!c, !s)
  return %c, %s, %l : !c, !s, !l
}

// CHECK-LABEL: func.func @by_a_table
func.func @by_a_table(%x: !x, %w: !w, %ids: tensor<?xi32>, %t: !llm.weight<[50, 2], #llm.dense<f32>>) -> (!c, !s) {
  // CHECK-NOT: llm.fusion
  %l = llm.linear %x, %w : !x, !w -> !l
  // expected-remark @+1 {{[Missed] router | Category:fusion | Function=by_a_table | Reason="experts are named by a table; the scores only weigh them", predicate=kernel}}
  %c, %s = llm.route softmax %l table %t of %ids top 2 : (!l, !llm.weight<[50, 2], #llm.dense<f32>>, tensor<?xi32>) -> (!c, !s)
  return %c, %s : !c, !s
}

// -----

// A weight that several threads had better read together.
!x = tensor<?x2048xf32>
!w = !llm.weight<[128, 2048], #llm.dense<bf16>>
!l = tensor<?x128xf32>
!c = tensor<?x8xi32>
!s = tensor<?x8xf32>
// CHECK-LABEL: func.func @wide
func.func @wide(%x: !x, %w: !w) -> (!c, !s) {
  // CHECK-NOT: llm.fusion
  %l = llm.linear %x, %w : !x, !w -> !l
  // expected-remark @+1 {{[Missed] router | Category:fusion | Function=wide | Reason="one thread reads 524288 bytes of weight that threads of a product of its own share", nanoseconds=11107, predicate=cost, tokens=1, weight_bytes=524288}}
  %c, %s = llm.route softmax %l top 8 : (!l) -> (!c, !s)
  return %c, %s : !c, !s
}
