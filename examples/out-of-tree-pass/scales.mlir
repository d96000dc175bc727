// Checked with and without the option `inexact` by test/Examples/out-of-tree-pass.test.

// CHECK-LABEL: func.func @power_of_two
func.func @power_of_two(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.scale %{{.*}} by 6.0
  // CHECK-NEXT: return
  %0 = llm.scale %x by 2.0 : tensor<?x64xf32>
  %1 = llm.scale %0 by 3.0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @rounds_twice
func.func @rounds_twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // EXACT-NEXT: llm.scale %{{.*}} by 3.0
  // EXACT-NEXT: llm.scale %{{.*}} by 5.0
  // INEXACT-NEXT: llm.scale %{{.*}} by 15.0
  // CHECK-NEXT: return
  %0 = llm.scale %x by 3.0 : tensor<?x64xf32>
  %1 = llm.scale %0 by 5.0 : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}
