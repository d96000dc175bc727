// RUN: llmc-opt %s --llm-fuse-rows -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-rows --llm-fuse-rows -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-fuse-rows --remarks-filter=fusion -split-input-file -verify-diagnostics -o /dev/null
// RUN: llmc-opt %s --llm-fuse-rows=enabled=false -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: llmc-opt %s --llm-fuse-rows=enabled=false --remarks-filter=fusion -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: llmc-opt %s --llm-fuse-rows --llm-inline-fusions=patterns=rows -split-input-file | FileCheck %s --check-prefix=OFF

// OFF-NOT: llm.fusion "rows"

// WHY: [Missed] rows | Category:fusion | Function=chain | Reason="the pattern is disabled", predicate=enabled

!s = !llm.weight<[64], #llm.dense<f32>>

// A norm, a scale and an activation, of which nobody sees what is between.
// CHECK-LABEL: func.func @chain
func.func @chain(%x: tensor<?x64xf32>, %s: !s) -> tensor<?x64xf32> {
  // CHECK: %[[Y:.*]] = llm.fusion "rows"
  // CHECK: llm.rms_norm
  // CHECK-NEXT: llm.scale
  // CHECK-NEXT: %[[A:.*]] = llm.activation silu
  // CHECK-NEXT: llm.yield %[[A]] : tensor<?x64xf32>
  // CHECK: return %[[Y]]
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=chain | bytes_per_token_saved=1024, launches_saved=2, ops=3, registers=6}}
  %n = llm.rms_norm %x, %s eps 1.0e-5 : tensor<?x64xf32>, !s
  %c = llm.scale %n by 0.25 : tensor<?x64xf32>
  %a = llm.activation silu %c : tensor<?x64xf32>
  return %a : tensor<?x64xf32>
}

// -----

// A gate of one number a token, and a value that something else reads.
// CHECK-LABEL: func.func @token_gate
func.func @token_gate(%x: tensor<?x64xf32>, %g: tensor<?x1xf32>) -> (tensor<?x64xf32>, tensor<?x1xf32>) {
  // CHECK: %[[Y:.*]]:2 = llm.fusion "rows"
  // CHECK: %[[G:.*]] = llm.activation sigmoid
  // CHECK-NEXT: %[[M:.*]] = llm.binary mul
  // CHECK-NEXT: llm.yield %[[G]], %[[M]]
  // CHECK: return %[[Y]]#1, %[[Y]]#0
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=token_gate | bytes_per_token_saved=4, launches_saved=1, ops=2, registers=2}}
  %a = llm.activation sigmoid %g : tensor<?x1xf32>
  %m = llm.binary mul %x, %a : tensor<?x64xf32>, tensor<?x1xf32> -> tensor<?x64xf32>
  return %m, %a : tensor<?x64xf32>, tensor<?x1xf32>
}

// -----

// Cuts of heads are no work; what both sides read is cut on both sides.
// CHECK-LABEL: func.func @heads
func.func @heads(%x: tensor<?x64xf32>, %s: !llm.weight<[16], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x4x16xf32>) {
  // CHECK: %[[Y:.*]]:2 = llm.fusion "rows"
  // CHECK: %[[C:.*]] = llm.scale
  // CHECK-NEXT: %[[H:.*]] = llm.split_heads %[[C]]
  // CHECK-NEXT: %[[N:.*]] = llm.rms_norm %[[H]]
  // CHECK-NEXT: %[[M:.*]] = llm.merge_heads %[[N]]
  // CHECK-NEXT: %[[G:.*]] = llm.gate silu %[[M]], %[[C]]
  // CHECK-NEXT: llm.yield %[[C]], %[[G]]
  // CHECK: %[[V:.*]] = llm.split_heads %[[Y]]#0
  // CHECK: return %[[Y]]#1, %[[V]]
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=heads}}
  %c = llm.scale %x by 0.25 : tensor<?x64xf32>
  %h = llm.split_heads %c : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %n = llm.rms_norm %h, %s eps 1.0e-5 : tensor<?x4x16xf32>, !llm.weight<[16], #llm.dense<f32>>
  %m = llm.merge_heads %n : tensor<?x4x16xf32> -> tensor<?x64xf32>
  %y = llm.gate silu %m, %c : tensor<?x64xf32>
  return %y, %h : tensor<?x64xf32>, tensor<?x4x16xf32>
}

// -----

// Two readers of the same rows read them once.
// CHECK-LABEL: func.func @siblings
func.func @siblings(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: %[[Y:.*]]:2 = llm.fusion "rows"
  // CHECK: return %[[Y]]#0, %[[Y]]#1
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=siblings | bytes_per_token_saved=256, launches_saved=1, ops=2}}
  %a = llm.scale %x by 0.25 : tensor<?x64xf32>
  %b = llm.activation silu %x : tensor<?x64xf32>
  return %a, %b : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

// A row fusion takes in what stands around it; its savings beyond those of the earlier one count.
// CHECK-LABEL: func.func @grows
func.func @grows(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK: llm.fusion "rows"
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: llm.residual_add
  // CHECK-NEXT: llm.rms_norm
  // CHECK-NEXT: llm.softcap
  // CHECK-NEXT: llm.yield
  // OFF: func.func @grows
  %n = llm.fusion "residual-norm" (%x, %d) : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>):
    // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=grows}}
    %sum = llm.residual_add %a, %b : tensor<?x64xf32>
    %norm = llm.rms_norm %sum eps 1.0e-5 : tensor<?x64xf32>
    llm.yield %norm : tensor<?x64xf32>
  }
  %c = llm.softcap %n cap 30.0 : tensor<?x64xf32>
  return %c : tensor<?x64xf32>
}

// -----

// Norms of rows that are cut differently.
// CHECK-LABEL: func.func @other_rows
func.func @other_rows(%x: tensor<?x64xf32>) -> tensor<?x4x16xf32> {
  // CHECK-NOT: llm.fusion
  %n = llm.rms_norm %x eps 1.0e-5 : tensor<?x64xf32>
  %h = llm.split_heads %n : tensor<?x64xf32> -> tensor<?x4x16xf32>
  // expected-remark @+1 {{[Missed] rows | Category:fusion | Function=other_rows | Reason="llm.rms_norm has 4 x 16 elements a token, the kernel's rows are 1 x 64", predicate=same-shape}}
  %m = llm.rms_norm %h eps 1.0e-5 : tensor<?x4x16xf32>
  return %m : tensor<?x4x16xf32>
}

// -----

// A result of all heads would be written by each of them.
// CHECK-LABEL: func.func @of_all_heads
func.func @of_all_heads(%batch: !llm.batch, %x: tensor<?x4x16xf32>) -> (tensor<?x4x16xf32>, tensor<?x1xf32>) {
  // CHECK-NOT: llm.fusion
  %p = llm.position_scale %batch scale 0.1 period 64 : tensor<?x1xf32>
  // expected-remark @+1 {{[Missed] rows | Category:fusion | Function=of_all_heads | Reason="llm.position_scale makes a result of all heads in a kernel of 4 heads", predicate=same-shape}}
  %y = llm.binary mul %x, %p : tensor<?x4x16xf32>, tensor<?x1xf32> -> tensor<?x4x16xf32>
  return %y, %p : tensor<?x4x16xf32>, tensor<?x1xf32>
}

// -----

// A mixture reads all streams, which other items of the kernel would still be making.
// CHECK-LABEL: func.func @streams
func.func @streams(%c: tensor<?x4x4xf32>, %x: tensor<?x4x16xf32>) -> tensor<?x4x16xf32> {
  // CHECK-NOT: llm.fusion
  %s = llm.scale %x by 0.25 : tensor<?x4x16xf32>
  // expected-remark @+1 {{[Missed] rows | Category:fusion | Function=streams | Reason="llm.mix reads other rows than its own of a value that the same kernel makes", predicate=producer}}
  %y = llm.mix %c, %s : tensor<?x4x4xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return %y : tensor<?x4x16xf32>
}

// -----

// What follows a mixture is another matter.
// CHECK-LABEL: func.func @behind_streams
func.func @behind_streams(%c: tensor<?x4x4xf32>, %x: tensor<?x4x16xf32>, %w: tensor<?x4xf32>, %d: tensor<?x1x16xf32>) -> tensor<?x4x16xf32> {
  // CHECK: llm.fusion "rows"
  // CHECK: llm.mix
  // CHECK: llm.binary mul
  // CHECK: llm.binary add
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=behind_streams}}
  %y = llm.mix %c, %x : tensor<?x4x4xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  %z = llm.binary mul %d, %w : tensor<?x1x16xf32>, tensor<?x4xf32> -> tensor<?x4x16xf32>
  %r = llm.binary add %y, %z : tensor<?x4x16xf32>, tensor<?x4x16xf32> -> tensor<?x4x16xf32>
  return %r : tensor<?x4x16xf32>
}

// -----

// Chosen rows are not those of all tokens.
// CHECK-LABEL: func.func @chosen
func.func @chosen(%x: tensor<?x64xf32>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK: llm.rms_norm
  // CHECK: llm.fusion "rows"
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: llm.select_rows
  // CHECK-NEXT: llm.scale
  %n = llm.rms_norm %x eps 1.0e-5 : tensor<?x64xf32>
  // expected-remark @+2 {{[Missed] rows | Category:fusion | Function=chosen | Reason="llm.select_rows reads other rows than its own of a value that the same kernel makes", predicate=producer}}
  // expected-remark @+1 {{[Passed] rows | Category:fusion | Function=chosen}}
  %c = llm.select_rows %n, %batch : tensor<?x64xf32>
  %y = llm.scale %c by 0.25 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The product stands between them.
// CHECK-LABEL: func.func @around
func.func @around(%x: tensor<?x64xf32>, %w: !llm.weight<[64, 64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %n = llm.rms_norm %x eps 1.0e-5 : tensor<?x64xf32>
  %p = llm.linear %n, %w : tensor<?x64xf32>, !llm.weight<[64, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  // expected-remark-re @+1 {{[Missed] rows | Category:fusion | Function=around | Reason="{{.*}} reads one part {{.*}}another{{.*}}", predicate=convex}}
  %y = llm.gate silu %n, %p : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// The scale is rounded to bf16 before the activation.
// CHECK-LABEL: func.func @rounds
func.func @rounds(%x: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK-NOT: llm.fusion
  %n = llm.scale %x by 0.3 : tensor<?x64xbf16>
  // expected-remark @+1 {{[Missed] rows | Category:fusion | Function=rounds | Reason="llm.scale rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point}}
  %y = llm.activation silu %n : tensor<?x64xbf16>
  return %y : tensor<?x64xbf16>
}

// -----

// Rows of tokens beside chosen ones.
// CHECK-LABEL: func.func @beside_chosen
func.func @beside_chosen(%x: tensor<?x64xf32>, %other: tensor<?x64xf32>, %batch: !llm.batch) -> tensor<?x64xf32> {
  // CHECK-NOT: llm.fusion
  %c = llm.select_rows %x, %batch : tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] rows | Category:fusion | Function=beside_chosen | Reason="llm.residual_add reads rows that the kernel's llm.select_rows has not chosen", predicate=kernel}}
  %y = llm.residual_add %other, %c : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
