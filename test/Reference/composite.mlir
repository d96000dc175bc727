// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// A composite is what its decomposition gives: 3 * x.
// CHECK: composite step 0 result 0: [1, 2]
// CHECK-NEXT: [4.5000000000 -6.0000000000]
func.func @composite(%x: tensor<?x2xf32>) -> tensor<?x2xf32> attributes {test.steps = [
    {args = [dense<[[1.5, -2.0]]> : tensor<1x2xf32>]}]} {
  %y = llm.composite "thrice" @op.thrice(%x) : (tensor<?x2xf32>) -> tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
func.func private @op.thrice(%x: tensor<?x2xf32>) -> tensor<?x2xf32>
    attributes {llm.implements = "thrice"} {
  %y = llm.scale %x by 3.0 : tensor<?x2xf32>
  return %y : tensor<?x2xf32>
}
