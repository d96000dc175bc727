// Behind a product that another fusion has, the refusal is said.

// RUN: llmc-opt %s --llm-fuse-linear-activation | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-linear-activation --remarks-filter=fusion -verify-diagnostics

// CHECK-LABEL: func.func @fused_product
func.func @fused_product(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK: llm.fusion "linear-residual"
  // CHECK-NOT: llm.fusion
  %p = llm.fusion "linear-residual" (%x, %w) : (tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: !llm.weight<[64, 64], #llm.dense<f32>>):
    %q = llm.linear %a, %b : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
    %r = llm.binary add %q, %a : tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x64xf32>
    llm.yield %r : tensor<?x64xf32>
  }
  // expected-remark @+1 {{[Missed] linear-activation | Category:fusion | Function=fused_product | Reason="the input comes from fusion linear-residual", predicate=producer}}
  %y = llm.activation relu %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
