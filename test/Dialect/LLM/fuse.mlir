// The pipeline: every pattern, its order, and forbidding one by name.
// RUN: llmc-opt %s --llm-fuse | FileCheck %s --check-prefixes=CHECK,LINEAR
// RUN: llmc-opt %s --llm-fuse="residual-norm-first=true" | FileCheck %s --check-prefixes=CHECK,NORM
// RUN: llmc-opt %s --llm-fuse="disable=linear-residual,qkv-linear" --remarks-filter=fusion 2>&1 | FileCheck %s --check-prefix=DISABLED

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!s = !llm.weight<[64], #llm.dense<f32>>

// DISABLED-NOT: llm.fusion "linear-residual"
// DISABLED-NOT: llm.fusion "qkv-linear"
// DISABLED-DAG: [Missed] qkv-linear | Category:fusion | Function=block | Reason="the pattern is disabled"
// DISABLED-DAG: [Missed] linear-residual | Category:fusion | Function=block | Reason="the pattern is disabled"
// DISABLED-DAG: [Passed] residual-norm
// DISABLED-DAG: [Passed] gated-linear

// CHECK-LABEL: func.func @block
func.func @block(%x: tensor<?x64xf32>, %a: tensor<?x64xf32>, %w: !w, %s: !s) -> (tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>) {
  // LINEAR: llm.fusion "linear-residual"
  // LINEAR: llm.rms_norm
  // NORM: llm.linear
  // NORM: llm.fusion "residual-norm"
  %o = llm.linear %a, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %sum = llm.residual_add %x, %o : tensor<?x64xf32>
  %n = llm.rms_norm %sum, %s eps 1.0e-5 : tensor<?x64xf32>, !s
  // CHECK-DAG: llm.fusion "gated-linear"
  %g = llm.linear %n, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %u = llm.linear %n, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %y = llm.gate silu %g, %u : tensor<?x64xf32>
  // CHECK-DAG: llm.fusion "qkv-linear"
  %p = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %q = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  return %sum, %p, %q : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>
}
