// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<?x8x64xf32>, %g: tensor<?x8xf32>, %r: tensor<?x1x64xf32>)
    -> tensor<?x8x64xf32> {
  // CHECK-NEXT: llm.binary mul %{{.*}}, %{{.*}} : tensor<?x8x64xf32>, tensor<?x8xf32> -> tensor<?x8x64xf32>
  %0 = llm.binary mul %x, %g : tensor<?x8x64xf32>, tensor<?x8xf32> -> tensor<?x8x64xf32>
  // CHECK-NEXT: llm.binary div %{{.*}}, %{{.*}} : tensor<?x1x64xf32>, tensor<?x8x64xf32> -> tensor<?x8x64xf32>
  %1 = llm.binary div %r, %0 : tensor<?x1x64xf32>, tensor<?x8x64xf32> -> tensor<?x8x64xf32>
  return %1 : tensor<?x8x64xf32>
}

// CHECK-LABEL: func.func @rows
func.func @rows(%w: !llm.weight<[64], #llm.dense<f32>>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.weight_rows %{{.*}}, %{{.*}} : !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  %0 = llm.weight_rows %w, %batch : !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  // CHECK-NEXT: llm.offset %{{.*}} by 1.0 : tensor<?x64xf32>
  %1 = llm.offset %0 by 1.0 : tensor<?x64xf32>
  // CHECK-NEXT: llm.clamp %{{.*}} min -7.0 max 7.0 : tensor<?x64xf32>
  %2 = llm.clamp %1 min -7.0 max 7.0 : tensor<?x64xf32>
  // CHECK-NEXT: llm.clamp %{{.*}} max 7.0 : tensor<?x64xf32>
  %3 = llm.clamp %2 max 7.0 : tensor<?x64xf32>
  // CHECK-NEXT: llm.softmax %{{.*}} : tensor<?x64xf32>
  %4 = llm.softmax %3 : tensor<?x64xf32>
  // CHECK-NEXT: llm.row_stat deviation %{{.*}} : tensor<?x64xf32> -> tensor<?x1xf32>
  %5 = llm.row_stat deviation %4 : tensor<?x64xf32> -> tensor<?x1xf32>
  // CHECK-NEXT: llm.position_scale %{{.*}} scale 0.1 period 8192 shift 1 : tensor<?x1xf32>
  %6 = llm.position_scale %batch scale 0.1 period 8192 shift 1 : tensor<?x1xf32>
  // CHECK-NEXT: llm.position_scale %{{.*}} scale 0.1 period 8192 : tensor<?x1xf32>
  %7 = llm.position_scale %batch scale 0.1 period 8192 : tensor<?x1xf32>
  // CHECK-NEXT: llm.rms_norm %{{.*}} eps 1.0e-05 : tensor<?x64xf32>
  %8 = llm.rms_norm %4 eps 1.0e-5 : tensor<?x64xf32>
  // CHECK-NEXT: llm.layer_norm %{{.*}} eps 1.0e-05 : tensor<?x64xf32>
  %9 = llm.layer_norm %8 eps 1.0e-5 : tensor<?x64xf32>
  return %9 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[I:.*]]: index
func.func @parts(%i: index, %x: tensor<?x4x96xf32>, %c: tensor<?x4x4xf32>) -> tensor<?x4x96xf32> {
  // CHECK-NEXT: llm.slice %{{.*}} from 64 size 32 : tensor<?x4x96xf32> -> tensor<?x4x32xf32>
  %0 = llm.slice %x from 64 size 32 : tensor<?x4x96xf32> -> tensor<?x4x32xf32>
  // CHECK-NEXT: llm.concat %{{.*}}, %{{.*}} : tensor<?x4x32xf32>, tensor<?x4x96xf32> -> tensor<?x4x128xf32>
  %1 = llm.concat %0, %x : tensor<?x4x32xf32>, tensor<?x4x96xf32> -> tensor<?x4x128xf32>
  // CHECK-NEXT: llm.transpose %{{.*}} : tensor<?x4x128xf32> -> tensor<?x128x4xf32>
  %2 = llm.transpose %1 : tensor<?x4x128xf32> -> tensor<?x128x4xf32>
  // CHECK-NEXT: llm.take %{{.*}}[1] : tensor<?x4x96xf32> -> tensor<?x96xf32>
  %3 = llm.take %x[1] : tensor<?x4x96xf32> -> tensor<?x96xf32>
  // CHECK-NEXT: llm.take %{{.*}}[%[[I]] + -2] : tensor<?x4x96xf32> -> tensor<?x96xf32>
  %4 = llm.take %x[%i + -2] : tensor<?x4x96xf32> -> tensor<?x96xf32>
  // CHECK-NEXT: llm.put %{{.*}}[%[[I]] + 0], %{{.*}} : tensor<?x4x96xf32>, tensor<?x96xf32>
  %5 = llm.put %x[%i + 0], %4 : tensor<?x4x96xf32>, tensor<?x96xf32>
  // CHECK-NEXT: llm.mix %{{.*}}, %{{.*}} : tensor<?x4x4xf32>, tensor<?x4x96xf32> -> tensor<?x4x96xf32>
  %6 = llm.mix %c, %5 : tensor<?x4x4xf32>, tensor<?x4x96xf32> -> tensor<?x4x96xf32>
  return %6 : tensor<?x4x96xf32>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.activation gelu_quick %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation relu2 %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation softplus %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation exp %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation log %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation sqrt %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation reciprocal %{{.*}} : tensor<?x64xf32>
  %0 = llm.activation gelu_quick %x : tensor<?x64xf32>
  %1 = llm.activation relu2 %0 : tensor<?x64xf32>
  %2 = llm.activation softplus %1 : tensor<?x64xf32>
  %3 = llm.activation exp %2 : tensor<?x64xf32>
  %4 = llm.activation log %3 : tensor<?x64xf32>
  %5 = llm.activation sqrt %4 : tensor<?x64xf32>
  %6 = llm.activation reciprocal %5 : tensor<?x64xf32>
  return %6 : tensor<?x64xf32>
}
