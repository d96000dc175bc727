// RUN: llmc-opt %s --llm-simplify=fold-scales=true -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-simplify='fold-scales=true disable=folded-scale' -split-input-file | FileCheck %s --check-prefix=OFF

// CHECK: folded_scales = 1 : i64
// OFF-NOT: folded_scales
module attributes {llm.model = {context_length = 4096 : i64}} {
  // CHECK-LABEL: func.func @recurrent
  // CHECK-NOT: llm.scale
  // CHECK: llm.linear_attention {{.*}} scale 0.15
  // OFF-LABEL: func.func @recurrent
  // OFF: llm.scale
  func.func @recurrent(%q: tensor<?x32xf32>, %k: tensor<?x2x16xf32>, %v: tensor<?x2x4xf32>, %g: tensor<?x2xf32>,
      %s: !llm.cache<recurrent, [2, 16, 4], f32>, %batch: !llm.batch) -> tensor<?x2x4xf32> {
    // expected-remark @+1 {{[Missed] folded-scale | Category:simplify | Function=recurrent | Reason="times 0.3, which is no power of two, llm.linear_attention rounds otherwise (--fold-scales)", predicate=power-of-two}}
    %0 = llm.scale %q by 0.3 : tensor<?x32xf32>
    %1 = llm.split_heads %0 : tensor<?x32xf32> -> tensor<?x2x16xf32>
    %y, %n = llm.linear_attention %1, %k, %v, %g, %s, %batch scale 0.5
        : tensor<?x2x16xf32>, tensor<?x2x4xf32>, tensor<?x2xf32>, !llm.cache<recurrent, [2, 16, 4], f32>
    return %y : tensor<?x2x4xf32>
  }
}

// -----

!index = !llm.cache<latent, [1, 4, 0], f32>
// CHECK-LABEL: func.func @index
// CHECK-NEXT: llm.select_positions
// OFF-LABEL: func.func @index
// OFF: llm.scale
func.func @index(%q: tensor<?x2x4xf32>, %w: tensor<?x2xf32>, %c: !index, %batch: !llm.batch) -> tensor<?x8xi32> {
  // expected-remark @+1 {{[Missed] folded-scale | Category:simplify | Function=index | Reason="times 0.25, values below 2^-126 round otherwise and nothing says that there are none (--fold-scales)", predicate=normal-range}}
  %0 = llm.scale %w by 0.25 : tensor<?x2xf32>
  %s = llm.select_positions %q, %0, %c, %batch top 8 : tensor<?x2x4xf32>, tensor<?x2xf32>, !index -> tensor<?x8xi32>
  return %s : tensor<?x8xi32>
}

// -----

!kv = !llm.cache<paged, [1, 4, 4], f32>
// CHECK-LABEL: func.func @attention
// CHECK-NEXT: llm.paged_attention {{.*}} scale 1.5
// CHECK: llm.scale {{.*}} by -3.0
// OFF-LABEL: func.func @attention
// OFF: llm.scale
func.func @attention(%q: tensor<?x2x4xf32>, %c: !kv, %batch: !llm.batch) -> tensor<?x2x4xf32> {
  // expected-remark @+1 {{predicate=power-of-two}}
  %0 = llm.scale %q by 3.0 : tensor<?x2x4xf32>
  %1 = llm.paged_attention %0, %c, %batch scale 0.5 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
  // expected-remark @+1 {{[Missed] folded-scale | Category:simplify | Function=attention | Reason="the factor is -3", predicate=positive}}
  %2 = llm.scale %1 by -3.0 : tensor<?x2x4xf32>
  %3 = llm.paged_attention %2, %c, %batch scale 0.5 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
  return %3 : tensor<?x2x4xf32>
}

// -----

// Somebody else reads the product.
!kv = !llm.cache<paged, [1, 4, 4], f32>
// CHECK-LABEL: func.func @two_readers
// CHECK-NEXT: llm.scale
func.func @two_readers(%q: tensor<?x2x4xf32>, %c: !kv, %batch: !llm.batch) -> (tensor<?x2x4xf32>, tensor<?x2x4xf32>) {
  %0 = llm.scale %q by 3.0 : tensor<?x2x4xf32>
  %1 = llm.paged_attention %0, %c, %batch scale 0.5 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
  return %0, %1 : tensor<?x2x4xf32>, tensor<?x2x4xf32>
}
