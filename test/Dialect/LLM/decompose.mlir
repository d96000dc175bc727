// RUN: llmc-opt %s --split-input-file --llm-decompose | FileCheck %s
// RUN: llmc-opt %s --split-input-file --llm-decompose=ops=llm.softcap 2>/dev/null | FileCheck %s --check-prefix=ONLY

// CHECK-LABEL: func.func @gate
// CHECK-SAME: %[[G:.*]]: tensor<?x64xf32>, %[[U:.*]]: tensor<?x64xf32>
// CHECK-NEXT: %[[A:.*]] = llm.activation silu %[[G]]
// CHECK-NEXT: llm.binary mul %[[A]], %[[U]]
// ONLY-LABEL: func.func @gate
// ONLY: llm.gate silu
func.func @gate(%g: tensor<?x64xf32>, %u: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = llm.gate silu %g, %u : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @softcap
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>
// CHECK-NEXT: %[[S:.*]] = llm.scale %[[X]] by 0.25
// CHECK-NEXT: %[[T:.*]] = llm.activation tanh %[[S]]
// CHECK-NEXT: llm.scale %[[T]] by 4.0
// ONLY-LABEL: func.func @softcap
// ONLY-NOT: llm.softcap
func.func @softcap(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %0 = llm.softcap %x cap 4.0 : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @norm
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[W:.*]]: !llm.weight<[64], #llm.dense<f32>>, %[[B:.*]]: !llm.batch
// CHECK-NEXT: %[[SQ:.*]] = llm.binary mul %[[X]], %[[X]]
// CHECK-NEXT: %[[M:.*]] = llm.row_stat mean %[[SQ]]
// CHECK-NEXT: %[[E:.*]] = llm.offset %[[M]] by 0.25
// CHECK-NEXT: %[[R:.*]] = llm.activation sqrt %[[E]]
// CHECK-NEXT: %[[Y:.*]] = llm.binary div %[[X]], %[[R]]
// CHECK-NEXT: %[[WR:.*]] = llm.weight_rows %[[W]], %[[B]]
// CHECK-NEXT: %[[WO:.*]] = llm.offset %[[WR]] by 1.0
// CHECK-NEXT: llm.binary mul %[[Y]], %[[WO]]
func.func @norm(%x: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<f32>>, %b: !llm.batch) -> tensor<?x64xf32> {
  %0 = llm.rms_norm %x, %w eps 0.25 offset 1.0 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return %0 : tensor<?x64xf32>
}

// -----

// A norm of heads with a scale stays: it would need the scale once a head.
// CHECK-LABEL: func.func @heads
// CHECK-NEXT: llm.rms_norm
func.func @heads(%x: tensor<?x4x16xf32>, %w: !llm.weight<[16], #llm.dense<f32>>) -> tensor<?x4x16xf32> {
  %0 = llm.rms_norm %x, %w eps 0.25 : tensor<?x4x16xf32>, !llm.weight<[16], #llm.dense<f32>>
  return %0 : tensor<?x4x16xf32>
}

// -----

// CHECK-LABEL: func.func @experts
// CHECK-SAME: %[[X:.*]]: tensor<?x2x64xf32>, %[[W:.*]]: tensor<?x2xf32>
// CHECK-NEXT: %[[C:.*]] = llm.split_heads %[[W]] : tensor<?x2xf32> -> tensor<?x1x2xf32>
// CHECK-NEXT: %[[Y:.*]] = llm.mix %[[C]], %[[X]]
// CHECK-NEXT: llm.merge_heads %[[Y]]
func.func @experts(%x: tensor<?x2x64xf32>, %w: tensor<?x2xf32>) -> tensor<?x64xf32> {
  %0 = llm.expert_sum %x by %w : (tensor<?x2x64xf32>, tensor<?x2xf32>) -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}
