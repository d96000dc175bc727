// RUN: llmc-opt %s | llmc-opt - | FileCheck %s --check-prefix=ROUND
// RUN: llmc-opt %s --llm-expand-composites --mlir-print-debuginfo | FileCheck %s --implicit-check-not=llm.composite --implicit-check-not=llm.implements
// RUN: llmc-opt %s --llm-expand-composites --remarks-filter=composite -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// ROUND: llm.composite "twice" @op.twice(%arg0) : (tensor<?x64xf32>) -> tensor<?x64xf32>
// ROUND: llm.composite "power" @op.power(%arg0) {by = 3.000000e+00 : f64} : (tensor<?x64xf32>) -> tensor<?x64xf32>
// REMARK-COUNT-2: [Passed] composite | Category:composite
// REMARK-NOT: [Passed] composite

func.func private @op.twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "twice"} {
  %y = llm.scale %x by 2.0 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// A definition may hold others.
func.func private @op.power(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "power"} {
  %0 = llm.scale %x by 3.0 : tensor<?x64xf32>
  %1 = llm.composite "twice" @op.twice(%0) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @calls
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @calls(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NEXT: %[[A:.*]] = llm.scale %[[X]] by 2.0 : tensor<?x64xf32> loc(#[[NAMED:.*]])
  // CHECK-NEXT: %[[B:.*]] = llm.scale %[[X]] by 3.0
  // CHECK-NEXT: %[[C:.*]] = llm.scale %[[B]] by 2.0
  // CHECK-NEXT: return %[[A]], %[[C]]
  %0 = llm.composite "twice" @op.twice(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32> loc("decoder.twice")
  %1 = llm.composite "power" @op.power(%x) {by = 3.0} : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}
// CHECK: #[[NAMED]] = loc("decoder.twice"(#{{.*}}))
