// The target of these lines starts launches slowly, and then the pattern pays.
// RUN: llmc-opt %s --llm-fuse-gated-linear --llm-fuse-qkv-linear --llm-fuse-norm-linear=launch-seconds=1 -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-gated-linear --llm-fuse-qkv-linear --llm-fuse-norm-linear=launch-seconds=1 --remarks-filter=fusion -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-fuse-norm-linear="launch-seconds=1 enabled=false" -split-input-file | FileCheck %s --check-prefix=DISABLED
// RUN: llmc-opt %s --llm-fuse-norm-linear=launch-seconds=1 --llm-inline-fusions -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-norm-linear --remarks-filter=fusion -split-input-file 2>&1 | FileCheck %s --check-prefix=COST
// RUN: llmc-opt %s --llm-fuse-norm-linear="launch-seconds=1 thread-bytes=1024" --remarks-filter=fusion -split-input-file 2>&1 | FileCheck %s --check-prefix=SCRATCH

// OFF-NOT: llm.fusion
// DISABLED-NOT: "norm-linear"

// COST: [Missed] norm-linear | Category:fusion | Function=head | Reason="a step of 512 tokens would take {{[0-9]+}} ns longer", {{.*}}predicate=cost
// SCRATCH: [Missed] norm-linear | Category:fusion | Function=head | Reason="rows of 24576 bytes are kept between passes, a thread has 1024", {{.*}}predicate=scratch

!w = !llm.weight<[32, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// The choice of rows too.
// CHECK-LABEL: func.func @head
// CHECK: llm.fusion "norm-linear"
// CHECK: llm.select_rows
// CHECK-NEXT: llm.rms_norm
// CHECK-NEXT: llm.output_head
// CHECK-NEXT: llm.yield
func.func @head(%x: tensor<?x64xf32>, %n: !n, %w: !w, %b: !llm.batch) -> tensor<?x32xf32> {
  // expected-remark @+1 {{[Passed] norm-linear | Category:fusion | Function=head | bytes_per_token_recomputed=1792, bytes_per_token_saved=1024, launches_saved=2, operations_per_token_recomputed=2240, ops=3, scratch_bytes=24576}}
  %s = llm.select_rows %x, %b : tensor<?x64xf32>
  %y = llm.rms_norm %s, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  %l = llm.output_head %y, %w : tensor<?x64xf32>, !w -> tensor<?x32xf32>
  return %l : tensor<?x32xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// It joins a fusion that is there.
// CHECK-LABEL: func.func @joins
// CHECK: llm.fusion "norm-linear"
// CHECK: llm.layer_norm
// CHECK-NEXT: llm.linear
// CHECK-NEXT: llm.linear
// CHECK-NEXT: llm.gate
// CHECK-NEXT: llm.yield
// CHECK: llm.fusion "norm-linear"
// CHECK: llm.rms_norm
// CHECK-NEXT: llm.linear
// CHECK-NEXT: llm.linear
// CHECK-NEXT: llm.yield
func.func @joins(%x: tensor<?x64xf32>, %n: !n, %w: !w) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // expected-remark @+1 {{[Passed] norm-linear}}
  %y = llm.layer_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  // expected-remark @+1 {{[Passed] gated-linear}}
  %g = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %u = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %z = llm.gate silu %g, %u : tensor<?x64xf32>
  // expected-remark @+1 {{[Passed] norm-linear}}
  %v = llm.rms_norm %z, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  // expected-remark @+1 {{[Passed] qkv-linear}}
  %q = llm.linear %v, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  %k = llm.linear %v, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  return %q, %k : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// CHECK-LABEL: func.func @two_launches
// CHECK-NOT: llm.fusion
func.func @two_launches(%x: tensor<?x64xf32>, %n: !n, %w: !w, %b: !llm.weight<[64, 64], #llm.dense<bf16>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // expected-remark @+1 {{[Missed] norm-linear | Category:fusion | Function=two_launches | Reason="2 launches read the rows; each would make them again", predicate=readers, readers=2}}
  %y = llm.rms_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=two_launches | Reason="the weight is stored as f32, another product of the input as bf16", predicate=same-storage}}
  %p = llm.linear %y, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] qkv-linear | Category:fusion | Function=two_launches | Reason="the weight is stored as bf16, another product of the input as f32", predicate=same-storage}}
  %q = llm.linear %y, %b : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<bf16>> -> tensor<?x64xf32>
  return %p, %q : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// CHECK-LABEL: func.func @more_than_a_product
// CHECK-NOT: llm.fusion "norm-linear"
func.func @more_than_a_product(%x: tensor<?x64xf32>, %n: !n, %w: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Missed] norm-linear | Category:fusion | Function=more_than_a_product | Reason="fusion linear-residual does more with the rows than products do", predicate=kernel}}
  %y = llm.rms_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  %r = llm.fusion "linear-residual" (%y, %w) : (tensor<?x64xf32>, !w) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: !w):
    %p = llm.linear %a, %b : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    %s = llm.residual_add %a, %p : tensor<?x64xf32>
    llm.yield %s : tensor<?x64xf32>
  }
  return %r : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// CHECK-LABEL: func.func @own_rows
// CHECK: llm.fusion "inner"
// CHECK-NOT: llm.fusion
func.func @own_rows(%x: tensor<?x64xf32>, %n: !n, %w: !w) -> tensor<?x64xf32> {
  // expected-remark @+1 {{[Missed] norm-linear | Category:fusion | Function=own_rows | Reason="the product has rows of its own making", predicate=other-fusion}}
  %y = llm.rms_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  %r = llm.fusion "inner" (%y, %w) : (tensor<?x64xf32>, !w) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: !w):
    %p = llm.linear %a, %b : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    %q = llm.linear %p, %b : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    llm.yield %q : tensor<?x64xf32>
  }
  return %r : tensor<?x64xf32>
}

// -----

!w = !llm.weight<[8, 32, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// CHECK-LABEL: func.func @experts
// CHECK: llm.fusion "linear-activation"
// CHECK-NOT: llm.fusion
func.func @experts(%x: tensor<?x64xf32>, %n: !n, %c: tensor<?x2xi32>, %w: !w) -> tensor<?x2x32xf32> {
  // expected-remark @+1 {{[Missed] norm-linear | Category:fusion | Function=experts | Reason="fusion linear-activation does more with the rows than products do", predicate=kernel}}
  %y = llm.rms_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  %r = llm.fusion "linear-activation" (%y, %c, %w) : (tensor<?x64xf32>, tensor<?x2xi32>, !w) -> tensor<?x2x32xf32> {
  ^bb0(%a: tensor<?x64xf32>, %d: tensor<?x2xi32>, %b: !w):
    %p = llm.expert_linear %a, %d, %b : (tensor<?x64xf32>, tensor<?x2xi32>, !w) -> tensor<?x2x32xf32>
    %s = llm.activation relu %p : tensor<?x2x32xf32>
    llm.yield %s : tensor<?x2x32xf32>
  }
  return %r : tensor<?x2x32xf32>
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
!n = !llm.weight<[64], #llm.dense<f32>>

// The fusion was allowed to round less often than its body says; this pattern is not, and leaves it as it is.
// CHECK-LABEL: func.func @rounds_inside
// CHECK: llm.rms_norm
// CHECK-NEXT: llm.fusion "linear-activation"
func.func @rounds_inside(%x: tensor<?x64xf32>, %n: !n, %w: !w) -> tensor<?x64xbf16> {
  %y = llm.rms_norm %x, %n eps 1.0e-5 : tensor<?x64xf32>, !n
  %r = llm.fusion "linear-activation" (%y, %w) : (tensor<?x64xf32>, !w) -> tensor<?x64xbf16> {
  ^bb0(%a: tensor<?x64xf32>, %b: !w):
    %p = llm.linear %a, %b : tensor<?x64xf32>, !w -> tensor<?x64xbf16>
    // expected-remark @+1 {{[Missed] norm-linear | Category:fusion | Function=rounds_inside | Reason="llm.linear rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point}}
    %s = llm.activation relu %p : tensor<?x64xbf16>
    llm.yield %s : tensor<?x64xbf16>
  }
  return %r : tensor<?x64xbf16>
}
