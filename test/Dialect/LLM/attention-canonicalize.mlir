// RUN: llmc-opt %s --canonicalize -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @split_of_merge
// CHECK-SAME: %[[HEADS:.*]]: tensor<?x4x16xf32>
func.func @split_of_merge(%x: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  // CHECK-NEXT: return %[[HEADS]]
  %0 = llm.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %1 = llm.split_heads %0 : tensor<?x64xf32> -> tensor<?x4x16xf32>
  return %1 : tensor<?x4x16xf32>
}

// -----

// CHECK-LABEL: func.func @merge_of_split
// CHECK-SAME: %[[ROWS:.*]]: tensor<?x64xf32>
func.func @merge_of_split(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: return %[[ROWS]]
  %0 = llm.split_heads %x : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %1 = llm.merge_heads %0 : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// Other heads: no value is the same.
// CHECK-LABEL: func.func @other_heads
func.func @other_heads(%x: tensor<?x4x16xf32>) -> tensor<?x2x32xf32> {
  // CHECK-NEXT: llm.merge_heads
  // CHECK-NEXT: llm.split_heads
  %0 = llm.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %1 = llm.split_heads %0 : tensor<?x64xf32> -> tensor<?x2x32xf32>
  return %1 : tensor<?x2x32xf32>
}

// -----

// An append is an effect: it stays although nothing reads its result.
// CHECK-LABEL: func.func @append_stays
func.func @append_stays(%k: tensor<?x2x16xf32>, %cache: !llm.cache<paged, [2, 16, 16], f32>, %batch: !llm.batch) {
  // CHECK-NEXT: llm.kv_append
  %0 = llm.kv_append %k, %k, %cache, %batch : tensor<?x2x16xf32>, tensor<?x2x16xf32>, !llm.cache<paged, [2, 16, 16], f32>
  return
}
