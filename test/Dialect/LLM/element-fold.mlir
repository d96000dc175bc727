// RUN: llmc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @nothing
// CHECK-SAME: %[[X:.*]]: tensor<?x4x8xf32>
func.func @nothing(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = llm.offset %x by 0.0 : tensor<?x4x8xf32>
  %1 = llm.slice %0 from 0 size 8 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %2 = llm.concat %1 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %3 = llm.transpose %2 : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
  %4 = llm.transpose %3 : tensor<?x8x4xf32> -> tensor<?x4x8xf32>
  return %4 : tensor<?x4x8xf32>
}

// CHECK-LABEL: func.func @something
func.func @something(%x: tensor<?x4x8xf32>) -> tensor<?x4x4xf32> {
  // CHECK-NEXT: llm.offset
  // CHECK-NEXT: llm.slice
  // CHECK-NEXT: llm.transpose
  %0 = llm.offset %x by 1.0e-30 : tensor<?x4x8xf32>
  %1 = llm.slice %0 from 4 size 4 : tensor<?x4x8xf32> -> tensor<?x4x4xf32>
  %2 = llm.transpose %1 : tensor<?x4x4xf32> -> tensor<?x4x4xf32>
  return %2 : tensor<?x4x4xf32>
}
