// RUN: llmc-opt %s --convert-llm-to-linalg | FileCheck %s

// CHECK-DAG: #[[$INPUT:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[$WEIGHT:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-DAG: #[[$RESULT:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>

// CHECK-LABEL: func.func @linear(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[W:.*]]: tensor<16x8xf16>, %[[B:.*]]: tensor<16xf32>)
func.func @linear(%x: tensor<?x8xf32>, %w: !llm.weight<[16, 8], #llm.dense<f16>>,
                  %b: !llm.weight<[16], #llm.dense<f32>>) -> tensor<?x16xf32> {
  // CHECK: %[[SUMS:.*]] = linalg.generic
  // CHECK-SAME: indexing_maps = [#[[$INPUT]], #[[$WEIGHT]], #[[$RESULT]]]
  // CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
  // CHECK-SAME: ins(%[[X]], %[[W]] : tensor<?x8xf32>, tensor<16x8xf16>)
  // CHECK: ^bb0(%[[V:.*]]: f32, %[[E:.*]]: f16, %[[ACC:.*]]: f32):
  // CHECK: %[[WIDE:.*]] = arith.extf %[[E]] : f16 to f32
  // CHECK: math.fma %[[V]], %[[WIDE]], %[[ACC]]
  // CHECK: linalg.generic {{.*}} ins(%[[SUMS]], %[[B]]
  // CHECK: arith.addf
  %y = llm.linear %x, %w bias %b : tensor<?x8xf32>, !llm.weight<[16, 8], #llm.dense<f16>>,
      !llm.weight<[16], #llm.dense<f32>> -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @narrow_result
func.func @narrow_result(%x: tensor<?x8xbf16>, %w: !llm.weight<[16, 8], #llm.dense<bf16>>) -> tensor<?x16xbf16> {
  // The sum itself is f32.
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x16xf32>)
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  %y = llm.linear %x, %w : tensor<?x8xbf16>, !llm.weight<[16, 8], #llm.dense<bf16>> -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}

// CHECK-LABEL: func.func @output_head
func.func @output_head(%x: tensor<?x8xf32>, %w: !llm.weight<[32, 8], #llm.dense<f32>>) -> tensor<?x32xf32> {
  // CHECK-COUNT-1: linalg.generic
  // CHECK: math.fma
  // CHECK-NOT: linalg.generic
  %y = llm.output_head %x, %w : tensor<?x8xf32>, !llm.weight<[32, 8], #llm.dense<f32>> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
