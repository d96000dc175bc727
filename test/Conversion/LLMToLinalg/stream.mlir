// RUN: llmc-opt %s --convert-llm-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @residual_add(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[D:.*]]: tensor<?x8xf32>)
func.func @residual_add(%x: tensor<?x8xf32>, %d: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: linalg.generic {{.*}} ["parallel", "parallel"]} ins(%[[X]], %[[D]]
  // CHECK: arith.addf
  %y = llm.residual_add %x, %d : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @scale
func.func @scale(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
  // CHECK: arith.mulf %{{.*}}, %[[TWO]] : f32
  %y = llm.scale %x by 2.0 : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @silu
func.func @silu(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[NEG:.*]] = arith.negf %[[V:.*]] : f32
  // CHECK: %[[EXP:.*]] = math.exp %[[NEG]]
  // CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[EXP]]
  // CHECK: arith.divf %[[V]], %[[SUM]]
  %y = llm.activation silu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: math.erf
  %0 = llm.activation gelu %x : tensor<?x8xf32>
  // CHECK: math.tanh
  // CHECK: arith.mulf
  %1 = llm.activation gelu_tanh %0 : tensor<?x8xf32>
  // CHECK: arith.cmpf ugt
  // CHECK: arith.select
  %2 = llm.activation relu %1 : tensor<?x8xf32>
  // CHECK: math.exp
  // CHECK: arith.divf
  %3 = llm.activation sigmoid %2 : tensor<?x8xf32>
  // CHECK: math.tanh
  %4 = llm.activation tanh %3 : tensor<?x8xf32>
  return %4 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @gate(
// CHECK-SAME: %[[G:.*]]: tensor<?x8xf32>, %[[U:.*]]: tensor<?x8xf32>)
func.func @gate(%g: tensor<?x8xf32>, %u: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: linalg.generic {{.*}} ins(%[[G]], %[[U]]
  // CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32):
  // CHECK: %[[ACT:.*]] = arith.divf %[[A]]
  // CHECK: arith.mulf %[[ACT]], %[[B]]
  %y = llm.gate silu %g, %u : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @softcap(
func.func @softcap(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // CHECK: %[[CAP:.*]] = arith.constant 3.000000e+01 : f32
  // CHECK: arith.divf %{{.*}}, %[[CAP]]
  // CHECK: math.tanh
  // CHECK: arith.mulf %[[CAP]]
  %y = llm.softcap %x cap 30.0 : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
