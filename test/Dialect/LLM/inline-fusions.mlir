// RUN: llmc-opt %s --llm-inline-fusions | FileCheck %s
// RUN: llmc-opt %s --llm-inline-fusions=patterns=row | FileCheck %s --check-prefix=ROW

// CHECK-LABEL: func.func @inline
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[D:.*]]: tensor<?x64xf32>, %[[S:.*]]: !llm.weight
// ROW-LABEL: func.func @inline
func.func @inline(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NEXT: %[[SUM:.*]] = llm.residual_add %[[X]], %[[D]]
  // CHECK-NEXT: %[[NORM:.*]] = llm.rms_norm %[[SUM]], %[[S]]
  // CHECK-NEXT: %[[TWICE:.*]] = llm.scale %[[NORM]] by 2.0
  // CHECK-NEXT: return %[[SUM]], %[[TWICE]]
  // ROW: llm.fusion "residual-norm"
  // ROW: llm.yield
  // ROW-NEXT: }
  // ROW-NEXT: llm.scale
  %0:2 = llm.fusion "residual-norm" (%x, %d, %s) : (tensor<?x64xf32>, tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>, %c: !llm.weight<[64], #llm.dense<f32>>):
    %sum = llm.residual_add %a, %b : tensor<?x64xf32>
    %norm = llm.rms_norm %sum, %c eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
    llm.yield %sum, %norm : tensor<?x64xf32>, tensor<?x64xf32>
  }
  %1 = llm.fusion "row" (%0#1) : (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>):
    %2 = llm.scale %a by 2.0 : tensor<?x64xf32>
    llm.yield %2 : tensor<?x64xf32>
  }
  return %0#0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
}

// What a fusion yields may be its input.
// CHECK-LABEL: func.func @yields_input
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
func.func @yields_input(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = llm.fusion "row" (%x) : (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>):
    llm.yield %a : tensor<?x64xf32>
  }
  return %0 : tensor<?x64xf32>
}
