// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

!scale = !llm.weight<[64], #llm.dense<f32>>

// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<?x64xf32>, %s: !scale) -> tensor<?x64xf32> {
  // CHECK: llm.rms_norm %{{.*}}, %{{.*}} eps 1.0e-05 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  %0 = llm.rms_norm %x, %s eps 1.0e-5 : tensor<?x64xf32>, !scale
  // CHECK: llm.rms_norm %{{.*}}, %{{.*}} eps 9.5e-07 offset 1.0 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  %1 = llm.rms_norm %0, %s eps 9.5e-7 offset 1.0 : tensor<?x64xf32>, !scale
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @rms_norm_of_heads
func.func @rms_norm_of_heads(%x: tensor<?x4x64xf32>, %s: !scale) -> tensor<?x4x64xf32> {
  // CHECK: llm.rms_norm %{{.*}}, %{{.*}} eps 1.0e-06 : tensor<?x4x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  %0 = llm.rms_norm %x, %s eps 1.0e-6 : tensor<?x4x64xf32>, !scale
  return %0 : tensor<?x4x64xf32>
}

// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<?x64xf32>, %s: !scale, %b: !scale) -> tensor<?x64xf32> {
  // CHECK: llm.layer_norm %{{.*}}, %{{.*}} bias %{{.*}} eps 1.0e-05 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>, !llm.weight<[64], #llm.dense<f32>>
  %0 = llm.layer_norm %x, %s bias %b eps 1.0e-5 : tensor<?x64xf32>, !scale, !scale
  // CHECK: llm.layer_norm %{{.*}}, %{{.*}} eps 1.0e-05 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  %1 = llm.layer_norm %0, %s eps 1.0e-5 : tensor<?x64xf32>, !scale
  return %1 : tensor<?x64xf32>
}
