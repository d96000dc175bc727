// RUN: llmc-opt %s --convert-llm-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @split_heads
func.func @split_heads(%x: tensor<?x64xf32>) -> tensor<?x4x16xf32> {
  // CHECK: tensor.expand_shape %{{.*}} {{\[}}[0], [1, 2]] output_shape [%{{.*}}, 4, 16]
  %y = llm.split_heads %x : tensor<?x64xf32> -> tensor<?x4x16xf32>
  return %y : tensor<?x4x16xf32>
}

// CHECK-LABEL: func.func @merge_heads
func.func @merge_heads(%x: tensor<?x4x16xf32>) -> tensor<?x64xf32> {
  // CHECK: tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2]]
  %y = llm.merge_heads %x : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @rotary_halves(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x8xf32>, %[[BATCH:.*]]: tensor<?x2xi32>)
func.func @rotary_halves(%x: tensor<?x2x8xf32>, %batch: !llm.batch) -> tensor<?x2x8xf32> {
  // CHECK: %[[FREQUENCIES:.*]] = arith.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
  // CHECK: %[[COS:.*]] = linalg.generic {{.*}} ins(%[[BATCH]], %[[FREQUENCIES]]
  // CHECK: arith.sitofp
  // CHECK: math.cos
  // CHECK: %[[SIN:.*]] = linalg.generic {{.*}} ins(%[[BATCH]], %[[FREQUENCIES]]
  // CHECK: math.sin
  // CHECK: linalg.generic {{.*}} ins(%[[X]]
  // CHECK: tensor.extract %[[COS]]
  // CHECK: tensor.extract %[[SIN]]
  // CHECK: tensor.extract %[[X]]
  %y = llm.rotary %x, %batch rope(#llm.rope<"default", base = 4.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5]>) : tensor<?x2x8xf32>
  return %y : tensor<?x2x8xf32>
}

// CHECK-LABEL: func.func @rotary_interleaved(
func.func @rotary_interleaved(%x: tensor<?x2x4xf32>, %batch: !llm.batch) -> tensor<?x2x4xf32> {
  // The magnitude is part of the tables.
  // CHECK: math.cos
  // CHECK-NEXT: %[[MAGNITUDE:.*]] = arith.constant 1.500000e+00 : f32
  // CHECK-NEXT: arith.mulf %{{.*}}, %[[MAGNITUDE]]
  // CHECK: arith.andi
  // CHECK: arith.shrui
  %y = llm.rotary %x, %batch rope(#llm.rope<"default", base = 4.0, width = 4, interleaved, magnitude = 1.5, [1.0, 0.5]>) : tensor<?x2x4xf32>
  return %y : tensor<?x2x4xf32>
}

// The extent of the token's sequence chooses the frequencies.
// CHECK-LABEL: func.func @rotary_long(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x4xf32>, %[[BATCH:.*]]: tensor<?x2xi32>)
func.func @rotary_long(%x: tensor<?x2x4xf32>, %batch: !llm.batch) -> tensor<?x2x4xf32> {
  // CHECK: %[[SHORT:.*]] = arith.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
  // CHECK: %[[LONG:.*]] = arith.constant dense<[7.500000e-01, 0.000000e+00]> : tensor<2xf32>
  // CHECK: linalg.generic {{.*}} ins(%[[BATCH]], %[[SHORT]], %[[LONG]], %[[BATCH]]
  // CHECK: arith.constant 4096 : i32
  // CHECK: arith.cmpi sgt
  // CHECK: arith.select
  // CHECK: math.cos
  %y = llm.rotary %x, %batch rope(#llm.rope<"longrope", base = 4.0, width = 4, halves, magnitude = 1.0, [1.0, 0.5], long [0.75, 0.0] beyond 4096>) : tensor<?x2x4xf32>
  return %y : tensor<?x2x4xf32>
}
