// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @stream
func.func @stream(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: llm.residual_add %{{.*}}, %{{.*}} : tensor<?x64xf32>
  %0 = llm.residual_add %x, %d : tensor<?x64xf32>
  // CHECK: llm.scale %{{.*}} by 8.0 : tensor<?x64xf32>
  %1 = llm.scale %0 by 8.0 : tensor<?x64xf32>
  // CHECK: llm.softcap %{{.*}} cap 30.0 : tensor<?x64xf32>
  %2 = llm.softcap %1 cap 30.0 : tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @activations
func.func @activations(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: llm.activation silu %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation gelu %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation gelu_tanh %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation relu %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation sigmoid %{{.*}} : tensor<?x64xf32>
  // CHECK-NEXT: llm.activation tanh %{{.*}} : tensor<?x64xf32>
  %0 = llm.activation silu %x : tensor<?x64xf32>
  %1 = llm.activation gelu %0 : tensor<?x64xf32>
  %2 = llm.activation gelu_tanh %1 : tensor<?x64xf32>
  %3 = llm.activation relu %2 : tensor<?x64xf32>
  %4 = llm.activation sigmoid %3 : tensor<?x64xf32>
  %5 = llm.activation tanh %4 : tensor<?x64xf32>
  return %5 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @gate
func.func @gate(%g: tensor<?x64xbf16>, %u: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK-NEXT: llm.gate gelu_tanh %{{.*}}, %{{.*}} : tensor<?x64xbf16>
  %0 = llm.gate gelu_tanh %g, %u : tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}
