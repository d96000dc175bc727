// RUN: llmc-opt %s --llm-simplify=max-context=64 -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify=max-context=64 --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify='max-context=64 disable=unreached-window,unreached-chunk,unreached-frequencies,unreached-position-scale,unreached-selection,unread-state' -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-simplify -split-input-file | FileCheck %s --check-prefix=OFF

!kv = !llm.cache<paged, [1, 4, 4], f32>
// The facts say what the program was made for.
// CHECK: bounded_context = 64 : i64
// OFF-NOT: bounded_context
module attributes {llm.model = {context_length = 4096 : i64}} {
  // CHECK-LABEL: func.func @window
  // CHECK: llm.paged_attention
  // CHECK-NOT: window
  // CHECK: llm.paged_attention
  // CHECK-SAME: window 63
  // OFF-LABEL: func.func @window
  // OFF: window 64
  // OFF: window 63
  func.func @window(%q: tensor<?x2x4xf32>, %c: !kv, %batch: !llm.batch) -> tensor<?x2x4xf32> {
    // expected-remark @+1 {{[Passed] unreached-window | Category:simplify | Function=window | Reason="the window binds no sequence", max_context=64, positions=64}}
    %0 = llm.paged_attention %q, %c, %batch scale 0.5 window 64 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
    // expected-remark @+1 {{[Missed] unreached-window | Category:simplify | Function=window | Reason="the window binds longer sequences", max_context=64, positions=63, predicate=max-context}}
    %1 = llm.paged_attention %0, %c, %batch scale 0.5 window 63 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
    return %1 : tensor<?x2x4xf32>
  }
  // CHECK-LABEL: func.func @chunk
  // CHECK-NOT: chunk 64
  // CHECK: chunk 32
  // OFF-LABEL: func.func @chunk
  // OFF: chunk 64
  func.func @chunk(%q: tensor<?x2x4xf32>, %c: !kv, %batch: !llm.batch) -> tensor<?x2x4xf32> {
    // expected-remark @+1 {{[Passed] unreached-chunk | Category:simplify | Function=chunk | Reason="the chunk binds no sequence", max_context=64, positions=64}}
    %0 = llm.paged_attention %q, %c, %batch scale 0.5 chunk 64 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
    // expected-remark @+1 {{[Missed] unreached-chunk}}
    %1 = llm.paged_attention %0, %c, %batch scale 0.5 chunk 32 : tensor<?x2x4xf32>, !kv -> tensor<?x2x4xf32>
    return %1 : tensor<?x2x4xf32>
  }
}

// -----

#short = #llm.rope<"longrope", base = 1.0e4, width = 4, halves, magnitude = 1.5, [1.0, 0.5], long [0.25, 0.125] beyond 64>
#binds = #llm.rope<"longrope", base = 1.0e4, width = 4, halves, magnitude = 1.5, [1.0, 0.5], long [0.25, 0.125] beyond 63>
// CHECK: #[[SHORT:.*]] = #llm.rope<"longrope", base = 10000.0, width = 4, halves, magnitude = 1.5, [1.0, 0.5]>
// CHECK: #[[LONG:.*]] = #llm.rope<"longrope", base = 10000.0, width = 4, halves, magnitude = 1.5, [1.0, 0.5], long [0.25, 0.125] beyond 63>
// CHECK: llm.rotary {{.*}} rope(#[[SHORT]])
// CHECK: llm.rotary {{.*}} rope(#[[LONG]])
// OFF: beyond 64
func.func @frequencies(%x: tensor<?x2x4xf32>, %batch: !llm.batch) -> tensor<?x2x4xf32> {
  // expected-remark @+1 {{[Passed] unreached-frequencies | Category:simplify | Function=frequencies | Reason="the threshold binds no sequence", max_context=64, positions=64}}
  %0 = llm.rotary %x, %batch rope(#short) : tensor<?x2x4xf32>
  // expected-remark @+1 {{[Missed] unreached-frequencies}}
  %1 = llm.rotary %0, %batch rope(#binds) : tensor<?x2x4xf32>
  return %1 : tensor<?x2x4xf32>
}

// -----

// Positions go up to 63, and 63 + 1 begins the next period of 64.
// CHECK-LABEL: func.func @position_scale
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[S:.*]] = llm.position_scale {{.*}} period 64 shift 1
// CHECK-NEXT: %[[Y:.*]] = llm.binary mul %[[S]], %[[X]]
// CHECK-NEXT: llm.position_scale {{.*}} period 16777217
// CHECK-NEXT: llm.binary mul {{.*}}, %[[Y]]
// CHECK-NEXT: return
// OFF-LABEL: func.func @position_scale
// OFF-COUNT-2: llm.position_scale
func.func @position_scale(%x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32> {
  %s = llm.position_scale %batch scale 0.1 period 65 shift 1 : tensor<?x1xf32>
  // expected-remark @+1 {{[Passed] unreached-position-scale | Category:simplify | Function=position_scale | Reason="the period binds no sequence", max_context=64, positions=64}}
  %0 = llm.binary mul %x, %s : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %t = llm.position_scale %batch scale 0.1 period 64 shift 1 : tensor<?x1xf32>
  // expected-remark @+1 {{[Missed] unreached-position-scale}}
  %1 = llm.binary mul %t, %0 : tensor<?x1xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %u = llm.position_scale %batch scale 0.1 period 16777217 : tensor<?x1xf32>
  // expected-remark @+1 {{[Missed] unreached-position-scale | Category:simplify | Function=position_scale | Reason="positions just below the period are no f32 numbers", period=16777217, predicate=exact-quotient}}
  %2 = llm.binary mul %u, %1 : tensor<?x1xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %2 : tensor<?x8xf32>
}

// -----

// Without the choice nothing reads the keys of the index, and nothing computes them.
!index = !llm.cache<latent, [1, 4, 0], f32>
!kv = !llm.cache<latent, [1, 4, 4], f32>
// CHECK-NOT: @index
// OFF: llm.state_family @index
llm.state_family @index layers [0, 1] : !index
llm.state_family @kv layers [0, 1] : !kv
// CHECK-LABEL: func.func @selection
// CHECK-NOT: llm.select_positions
// CHECK-NOT: llm.scale
// CHECK: llm.paged_attention {{.*}}, %{{.*}}, %{{.*}} scale 0.5 :
// OFF-LABEL: func.func @selection
// OFF: llm.select_positions
func.func @selection(%i: index, %x: tensor<?x1x4xf32>, %w: tensor<?x1xf32>, %batch: !llm.batch) -> tensor<?x1x4xf32> {
  %k = llm.scale %x by 3.0 : tensor<?x1x4xf32>
  %0 = llm.state @index[%i] : !index
  // expected-remark @+1 {{[Passed] unread-state | Category:simplify | Function=selection | Reason="nothing reads @index"}}
  %1 = llm.kv_append %k, %0, %batch : tensor<?x1x4xf32>, !index
  %s = llm.select_positions %x, %w, %1, %batch top 64 : tensor<?x1x4xf32>, tensor<?x1xf32>, !index -> tensor<?x64xi32>
  %2 = llm.state @kv[%i] : !kv
  %3 = llm.kv_append %x, %2, %batch : tensor<?x1x4xf32>, !kv
  // expected-remark @+1 {{[Passed] unreached-selection | Category:simplify | Function=selection | Reason="the choice binds no sequence", max_context=64, positions=64}}
  %y = llm.paged_attention %x, %3, %batch selection %s : tensor<?x64xi32> scale 0.5 : tensor<?x1x4xf32>, !kv -> tensor<?x1x4xf32>
  return %y : tensor<?x1x4xf32>
}

// -----

!index = !llm.cache<latent, [1, 4, 0], f32>
!kv = !llm.cache<latent, [1, 4, 4], f32>
// CHECK: @index
llm.state_family @index layers [0, 1] : !index
llm.state_family @kv layers [0, 1] : !kv
// CHECK: llm.select_positions
func.func @few(%i: index, %x: tensor<?x1x4xf32>, %w: tensor<?x1xf32>, %batch: !llm.batch) -> tensor<?x1x4xf32> {
  %0 = llm.state @index[%i] : !index
  %1 = llm.kv_append %x, %0, %batch : tensor<?x1x4xf32>, !index
  %s = llm.select_positions %x, %w, %1, %batch top 16 : tensor<?x1x4xf32>, tensor<?x1xf32>, !index -> tensor<?x16xi32>
  %2 = llm.state @kv[%i] : !kv
  %3 = llm.kv_append %x, %2, %batch : tensor<?x1x4xf32>, !kv
  // expected-remark @+1 {{[Missed] unreached-selection | Category:simplify | Function=few | Reason="the choice binds longer sequences", max_context=64, positions=16, predicate=max-context}}
  %y = llm.paged_attention %x, %3, %batch selection %s : tensor<?x16xi32> scale 0.5 : tensor<?x1x4xf32>, !kv -> tensor<?x1x4xf32>
  return %y : tensor<?x1x4xf32>
}
