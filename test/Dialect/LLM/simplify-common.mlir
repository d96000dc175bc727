// RUN: llmc-opt %s --llm-simplify -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify=disable=common-subexpression,unused -split-input-file | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func.func @twice
// CHECK-NEXT: %[[A:.*]] = llm.activation silu
// CHECK-NEXT: return %[[A]], %[[A]]
// OFF-LABEL: func.func @twice
// OFF-COUNT-2: llm.activation silu
func.func @twice(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = llm.activation silu %x : tensor<?x8xf32>
  // expected-remark @+1 {{[Passed] common-subexpression | Category:simplify | Function=twice | Reason="llm.activation is computed already"}}
  %1 = llm.activation silu %x : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @other
// CHECK-COUNT-2: llm.activation
func.func @other(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = llm.activation silu %x : tensor<?x8xf32>
  %1 = llm.activation gelu %x : tensor<?x8xf32>
  return %0, %1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @nobody
// CHECK-NEXT: return
// OFF-LABEL: func.func @nobody
// OFF-COUNT-2: llm.
func.func @nobody(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @+1 {{[Passed] unused | Category:simplify | Function=nobody | Reason="llm.activation has no reader"}}
  %0 = llm.activation silu %x : tensor<?x8xf32>
  // expected-remark @+1 {{Reason="llm.scale has no reader"}}
  %1 = llm.scale %0 by 3.0 : tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}

// -----

// An observation is a reader.
// CHECK-LABEL: func.func @observed
// CHECK-NEXT: llm.activation
// CHECK-NEXT: llm.observe
func.func @observed(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = llm.activation silu %x : tensor<?x8xf32>
  llm.observe %0 "seen" : tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}
