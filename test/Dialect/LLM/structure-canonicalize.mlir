// RUN: llmc-opt %s --canonicalize | FileCheck %s

!w = !llm.weight<[64, 64], #llm.dense<f32>>

// CHECK-LABEL: func.func @unused_result
func.func @unused_result(%x: tensor<?x64xf32>, %w: !w, %v: !w) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "qkv-linear" (%{{.*}}, %{{.*}}) : (tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32>
  // CHECK: llm.linear
  // CHECK-NOT: llm.linear
  // CHECK: llm.yield %{{.*}} : tensor<?x64xf32>
  // CHECK: return %[[Y]]
  %0:2 = llm.fusion "qkv-linear" (%x, %w, %v) : (tensor<?x64xf32>, !w, !w) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  ^bb0(%a: tensor<?x64xf32>, %b: !w, %c: !w):
    %1 = llm.linear %a, %b : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    %2 = llm.linear %a, %c : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    llm.yield %1, %2 : tensor<?x64xf32>, tensor<?x64xf32>
  }
  return %0#1 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @input_given_twice
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @input_given_twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: llm.fusion "row" (%[[X]]) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<?x64xf32>):
  // CHECK-NEXT: llm.residual_add %[[A]], %[[A]]
  %0 = llm.fusion "row" (%x, %x) : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>):
    %1 = llm.residual_add %a, %b : tensor<?x64xf32>
    llm.yield %1 : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}

// A fusion without effects whose results nobody reads is dead.
// CHECK-LABEL: func.func @dead
func.func @dead(%x: tensor<?x64xf32>) {
  // CHECK-NEXT: return
  %0 = llm.fusion "row" (%x) : (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>):
    %1 = llm.residual_add %a, %a : tensor<?x64xf32>
    llm.yield %1 : tensor<?x64xf32>
  }
  return
}

// An append in the body keeps the fusion; an observation keeps its op.
// CHECK-LABEL: func.func @effects_stay
func.func @effects_stay(%k: tensor<?x2x16xf32>, %c: !llm.cache<paged, [2, 16, 16], f32>, %b: !llm.batch) {
  // CHECK: llm.fusion "append"
  // CHECK: llm.kv_append
  %0 = llm.fusion "append" (%k, %c, %b) : (tensor<?x2x16xf32>, !llm.cache<paged, [2, 16, 16], f32>, !llm.batch) -> !llm.cache<paged, [2, 16, 16], f32> {
  ^bb0(%key: tensor<?x2x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch):
    %1 = llm.kv_append %key, %key, %cache, %batch : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !llm.cache<paged, [2, 16, 16], f32>
    llm.yield %1 : !llm.cache<paged, [2, 16, 16], f32>
  }
  // CHECK: llm.observe
  llm.observe %k "key" : tensor<?x2x16xf32>
  return
}
