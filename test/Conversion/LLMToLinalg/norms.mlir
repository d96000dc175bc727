// RUN: llmc-opt %s --convert-llm-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[$ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$LAST:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @rms_norm(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[SCALE:.*]]: tensor<64xbf16>) -> tensor<?x64xf32>
func.func @rms_norm(%x: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<bf16>>) -> tensor<?x64xf32> {
  // CHECK: %[[ZERO:.*]] = linalg.fill
  // CHECK: %[[SQUARES:.*]] = linalg.generic
  // CHECK-SAME: indexing_maps = [#[[$ALL]], #[[$ROW]]], iterator_types = ["parallel", "reduction"]
  // CHECK-SAME: ins(%[[X]] : tensor<?x64xf32>) outs(%[[ZERO]] : tensor<?xf32>)
  // CHECK: ^bb0(%[[V:.*]]: f32, %[[ACC:.*]]: f32):
  // CHECK: math.fma %[[V]], %[[V]], %[[ACC]]
  // CHECK: %[[ROOT:.*]] = linalg.generic {{.*}} ins(%[[SQUARES]] : tensor<?xf32>)
  // CHECK: arith.divf
  // CHECK: arith.addf
  // CHECK: math.sqrt
  // CHECK: linalg.generic
  // CHECK-SAME: indexing_maps = [#[[$ALL]], #[[$ROW]], #[[$LAST]], #[[$ALL]]]
  // CHECK-SAME: ins(%[[X]], %[[ROOT]], %[[SCALE]] : tensor<?x64xf32>, tensor<?xf32>, tensor<64xbf16>)
  // CHECK: ^bb0(%[[E:.*]]: f32, %[[R:.*]]: f32, %[[S:.*]]: bf16, %{{.*}}: f32):
  // CHECK-DAG: %[[WIDE:.*]] = arith.extf %[[S]] : bf16 to f32
  // CHECK-DAG: %[[UNIT:.*]] = arith.divf %[[E]], %[[R]]
  // CHECK: arith.mulf %[[UNIT]], %[[WIDE]]
  %y = llm.rms_norm %x, %w eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<bf16>>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm_of_heads(
// CHECK-SAME: %[[X:.*]]: tensor<?x4x16xf16>, %[[SCALE:.*]]: tensor<16xf32>)
func.func @rms_norm_of_heads(%x: tensor<?x4x16xf16>, %w: !llm.weight<[16], #llm.dense<f32>>) -> tensor<?x4x16xf16> {
  // CHECK: linalg.generic {{.*}} ["parallel", "parallel", "reduction"]
  // CHECK-SAME: ins(%[[X]] : tensor<?x4x16xf16>) outs(%{{.*}} : tensor<?x4xf32>)
  // CHECK: arith.extf
  // CHECK: linalg.generic
  // CHECK: %[[ROOT:.*]] = linalg.generic
  // CHECK: %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
  // CHECK: arith.addf %{{.*}}, %[[ONE]]
  // CHECK: arith.truncf %{{.*}} : f32 to f16
  %y = llm.rms_norm %x, %w eps 1.0e-5 offset 1.0 : tensor<?x4x16xf16>, !llm.weight<[16], #llm.dense<f32>>
  return %y : tensor<?x4x16xf16>
}

// -----

// CHECK-LABEL: func.func @layer_norm(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[SCALE:.*]]: tensor<64xf32>, %[[BIAS:.*]]: tensor<64xf32>)
func.func @layer_norm(%x: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<f32>>,
                      %b: !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[X]]
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[TOTAL]]
  // CHECK: linalg.generic {{.*}} ["parallel", "reduction"]} ins(%[[X]], %[[MEAN]]
  // CHECK: %[[D:.*]] = arith.subf
  // CHECK: math.fma %[[D]], %[[D]]
  // CHECK: %[[ROOT:.*]] = linalg.generic
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]], %[[ROOT]], %[[SCALE]], %[[BIAS]]
  // CHECK: arith.subf
  // CHECK: arith.divf
  // CHECK: arith.mulf
  // CHECK: arith.addf
  %y = llm.layer_norm %x, %w bias %b eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>,
      !llm.weight<[64], #llm.dense<f32>>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @layer_norm_without_bias(
func.func @layer_norm_without_bias(%x: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-COUNT-5: linalg.generic
  // CHECK: arith.mulf
  // CHECK-NEXT: linalg.yield
  %y = llm.layer_norm %x, %w eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %y : tensor<?x64xf32>
}
