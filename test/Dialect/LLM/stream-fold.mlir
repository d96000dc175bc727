// RUN: llmc-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @scale_by_one
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @scale_by_one(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = llm.scale %x by 1.0 : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// Two factors round twice, so they stay two.
// CHECK-LABEL: func.func @scale_of_scale
func.func @scale_of_scale(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.scale {{.*}} by 3.0
  // CHECK-NEXT: llm.scale {{.*}} by 5.0
  %0 = llm.scale %x by 3.0 : tensor<?x64xf32>
  %1 = llm.scale %0 by 5.0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
