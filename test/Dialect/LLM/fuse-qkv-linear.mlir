// RUN: llmc-opt %s --llm-fuse-qkv-linear -split-input-file --allow-unregistered-dialect | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-qkv-linear --llm-fuse-qkv-linear -split-input-file --allow-unregistered-dialect | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-qkv-linear --remarks-filter=fusion -split-input-file --allow-unregistered-dialect -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-qkv-linear=enabled=false -split-input-file --allow-unregistered-dialect | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-qkv-linear --llm-inline-fusions -split-input-file --allow-unregistered-dialect | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion

!q = !llm.weight<[64, 64], #llm.dense<f32>>
!kv = !llm.weight<[32, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @qkv
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[WQ:.*]]: !llm.weight<[64, 64], #llm.dense<f32>>, %[[WK:.*]]: !llm.weight<[32, 64], #llm.dense<f32>>, %[[WV:.*]]: !llm.weight
func.func @qkv(%x: tensor<?x64xf32>, %wq: !q, %wk: !kv, %wv: !kv) -> (tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>) {
  // CHECK: %[[QKV:.*]]:3 = llm.fusion "qkv-linear" (%[[X]], %[[WQ]], %[[WK]], %[[WV]])
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x64xf32>, %[[B:.*]]: !llm.weight<[64, 64], #llm.dense<f32>>, %[[C:.*]]: !llm.weight<[32, 64], #llm.dense<f32>>, %[[D:.*]]: !llm.weight<[32, 64], #llm.dense<f32>>):
  // CHECK-NEXT: %[[Q:.*]] = llm.linear %[[A]], %[[B]]
  // CHECK-NEXT: %[[K:.*]] = llm.linear %[[A]], %[[C]]
  // CHECK-NEXT: %[[V:.*]] = llm.linear %[[A]], %[[D]]
  // CHECK-NEXT: llm.yield %[[Q]], %[[K]], %[[V]]
  // CHECK: return %[[QKV]]#0, %[[QKV]]#1, %[[QKV]]#2
  // expected-remark @+1 {{[Passed] qkv-linear | Category:fusion | Function=qkv | bytes_per_token_saved=512, launches_saved=2, ops=3}}
  %q = llm.linear %x, %wq : tensor<?x64xf32>, !q -> tensor<?x64xf32>
  %k = llm.linear %x, %wk : tensor<?x64xf32>, !kv -> tensor<?x32xf32>
  %v = llm.linear %x, %wv : tensor<?x64xf32>, !kv -> tensor<?x32xf32>
  return %q, %k, %v : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

// What reads a product early moves behind the fusion; what a later product
// reads stays in front.
llm.weight_family @k "k.{i}" layers [0, 4] : !llm.weight<[64, 64], #llm.dense<f32>>
// CHECK-LABEL: func.func @order
func.func @order(%i: index, %x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> (tensor<?x4x16xf32>, tensor<?x64xf32>) {
  // CHECK: %[[WK:.*]] = llm.param @k
  // CHECK: %[[QK:.*]]:2 = llm.fusion "qkv-linear" (%{{.*}}, %{{.*}}, %[[WK]])
  // CHECK: %[[HEADS:.*]] = llm.split_heads %[[QK]]#0
  // CHECK: llm.observe %[[HEADS]]
  // CHECK: return %[[HEADS]], %[[QK]]#1
  // expected-remark @+1 {{[Passed] qkv-linear}}
  %q = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %heads = llm.split_heads %q : tensor<?x64xf32> -> tensor<?x4x16xf32>
  llm.observe %heads "q.{i}"[%i] : tensor<?x4x16xf32>
  %wk = llm.param @k[%i] : !llm.weight<[64, 64], #llm.dense<f32>>
  %k = llm.linear %x, %wk : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  return %heads, %k : tensor<?x4x16xf32>, tensor<?x64xf32>
}

// -----

#q8_0 = #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>
// CHECK-LABEL: func.func @other_storage
func.func @other_storage(%x: tensor<?x64xf32>, %wq: !llm.weight<[64, 64], #llm.dense<f32>>, %wv: !llm.weight<[64, 64], #q8_0>) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: llm.fusion "qkv-linear"
  // CHECK: }
  // CHECK-NEXT: llm.linear
  // expected-remark @+1 {{[Passed] qkv-linear}}
  %q = llm.linear %x, %wq : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %k = llm.linear %x, %wq : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=other_storage | Reason="the weight is stored as q8_0, another product of the input as f32", predicate=same-storage}}
  %v = llm.linear %x, %wv : tensor<?x64xf32>, !llm.weight<[64, 64], #q8_0> -> tensor<?x64xf32>
  return %q, %k, %v : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @other_input
func.func @other_input(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: llm.fusion
  %q = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %k = llm.linear %y, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @of_a_gate
func.func @of_a_gate(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=of_a_gate | Reason="the product belongs to llm.gate (gated-linear)", predicate=other-fusion}}
  %g = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=of_a_gate | Reason="the product belongs to llm.gate (gated-linear)", predicate=other-fusion}}
  %u = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %y = llm.gate silu %g, %u : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The second product's bias hangs on the first product, through another op.
// CHECK-LABEL: func.func @feeds_the_next
func.func @feeds_the_next(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: llm.fusion
  %q = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  %b = "test.bias"(%q) : (tensor<?x64xf32>) -> !llm.weight<[64], #llm.dense<f32>>
  // expected-remark-re @+1 {{[Missed] qkv-linear | Category:fusion | Function=feeds_the_next | Reason="test.bias, outside of it (at {{.*}}fuse-qkv-linear.mlir{{.*}}:8), reads one part and feeds another, llm.linear", predicate=convex}}
  %k = llm.linear %x, %w bias %b : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>>, !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @effects_in_order
func.func @effects_in_order(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NOT: llm.fusion
  %q = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  "test.send"(%q) : (tensor<?x64xf32>) -> ()
  "test.receive"() : () -> ()
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=effects_in_order | Reason="it would change the order of test.send and test.receive", predicate=effect-order}}
  %k = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// A narrow product behind wide ones would have 48 rows of padding to read, 393216 bytes a step.
// CHECK-LABEL: func.func @narrow_apart
func.func @narrow_apart(%x: tensor<?x2048xf32>, %w: !llm.weight<[1024, 2048], #llm.dense<f32>>, %n: !llm.weight<[16, 2048], #llm.dense<f32>>) -> (tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<?x16xf32>) {
  // CHECK: %[[N:.*]] = llm.linear
  // CHECK: llm.fusion "qkv-linear"
  // CHECK-COUNT-2: llm.linear
  // CHECK: llm.yield
  // expected-remark @+1 {{[Passed] qkv-linear | Category:fusion | Function=narrow_apart | bytes_per_token_saved=8192, launches_saved=1, ops=2}}
  %q = llm.linear %x, %w : tensor<?x2048xf32>, !llm.weight<[1024, 2048], #llm.dense<f32>> -> tensor<?x1024xf32>
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=narrow_apart | Reason="a step of 1 tokens would take 14841 ns longer", bytes_per_token_recomputed=0, bytes_per_token_saved=16384, launches_saved=2, nanoseconds=14841, operations_per_token_recomputed=0, predicate=cost, tokens=1, weight_bytes=393216}}
  %s = llm.linear %x, %n : tensor<?x2048xf32>, !llm.weight<[16, 2048], #llm.dense<f32>> -> tensor<?x16xf32>
  %k = llm.linear %x, %w : tensor<?x2048xf32>, !llm.weight<[1024, 2048], #llm.dense<f32>> -> tensor<?x1024xf32>
  return %q, %k, %s : tensor<?x1024xf32>, tensor<?x1024xf32>, tensor<?x16xf32>
}
