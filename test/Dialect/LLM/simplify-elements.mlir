// RUN: llmc-opt %s --llm-simplify -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --llm-simplify -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify=disable=identity,nested-clamp,flat-transpose,slice-of-concat,slice-through-elements -split-input-file | FileCheck %s --check-prefix=OFF
// RUN: not llmc-opt %s --llm-simplify=disable=nothing -split-input-file 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: llm-simplify: disable=nothing is no simplification

// CHECK-LABEL: func.func @identity
// CHECK-SAME: %[[X:.*]]: tensor<?x4x8xf32>
// CHECK-NEXT: return %[[X]]
// OFF-LABEL: func.func @identity
// OFF-COUNT-6: llm.
func.func @identity(%x: tensor<?x4x8xf32>) -> tensor<?x4x8xf32> {
  // expected-remark @+1 {{[Passed] identity | Category:simplify | Function=identity | Reason="llm.scale changes nothing"}}
  %0 = llm.scale %x by 1.0 : tensor<?x4x8xf32>
  // expected-remark @+1 {{Reason="llm.slice changes nothing"}}
  %1 = llm.slice %0 from 0 size 8 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  // expected-remark @+1 {{Reason="llm.concat changes nothing"}}
  %2 = llm.concat %1 : tensor<?x4x8xf32> -> tensor<?x4x8xf32>
  %3 = llm.transpose %2 : tensor<?x4x8xf32> -> tensor<?x8x4xf32>
  // expected-remark @+1 {{Reason="llm.transpose changes nothing"}}
  %4 = llm.transpose %3 : tensor<?x8x4xf32> -> tensor<?x4x8xf32>
  // expected-remark @+1 {{Reason="llm.offset changes nothing"}}
  %5 = llm.offset %4 by -0.0 : tensor<?x4x8xf32>
  return %5 : tensor<?x4x8xf32>
}

// -----

// CHECK-LABEL: func.func @views
// CHECK-SAME: %[[X:.*]]: tensor<?x32xf32>
// CHECK-NEXT: return %[[X]]
func.func @views(%x: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %0 = llm.split_heads %x : tensor<?x32xf32> -> tensor<?x4x8xf32>
  // expected-remark @+1 {{Reason="llm.merge_heads changes nothing"}}
  %1 = llm.merge_heads %0 : tensor<?x4x8xf32> -> tensor<?x32xf32>
  return %1 : tensor<?x32xf32>
}

// -----

// x + 0 is a positive zero where x is a negative one.
// CHECK-LABEL: func.func @signed_zero
// CHECK-NEXT: llm.offset
func.func @signed_zero(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-remark @+1 {{[Missed] identity | Category:simplify | Function=signed_zero | Reason="adding 0 makes a positive zero of a negative one", predicate=signed-zero}}
  %0 = llm.offset %x by 0.0 : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

// Two factors round twice.
// CHECK-LABEL: func.func @scale_of_scale
// CHECK-NEXT: llm.scale {{.*}} by 3.0
// CHECK-NEXT: llm.scale {{.*}} by 5.0
func.func @scale_of_scale(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = llm.scale %x by 3.0 : tensor<?x8xf32>
  %1 = llm.scale %0 by 5.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @clamps
// CHECK-NEXT: llm.clamp %{{.*}} min -2.0 max 3.0
// CHECK-NEXT: return
// OFF-LABEL: func.func @clamps
// OFF-COUNT-2: llm.clamp
func.func @clamps(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = llm.clamp %x min -2.0 max 5.0 : tensor<?x8xf32>
  // expected-remark @+1 {{[Passed] nested-clamp | Category:simplify | Function=clamps | Reason="two clamps are one"}}
  %1 = llm.clamp %0 min -4.0 max 3.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @clamps_apart
// CHECK-COUNT-2: llm.clamp
func.func @clamps_apart(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = llm.clamp %x max 1.0 : tensor<?x8xf32>
  // expected-remark @+1 {{[Missed] nested-clamp | Category:simplify | Function=clamps_apart | Reason="the two ranges have nothing in common", predicate=ranges-meet}}
  %1 = llm.clamp %0 min 2.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @clamps_at_zero
// CHECK-COUNT-2: llm.clamp
func.func @clamps_at_zero(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %0 = llm.clamp %x min 0.0 : tensor<?x8xf32>
  // expected-remark @+1 {{[Missed] nested-clamp | Category:simplify | Function=clamps_at_zero | Reason="a bound is 0, and which zero results depends on the order", predicate=signed-zero}}
  %1 = llm.clamp %0 max 3.0 : tensor<?x8xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @flat
// CHECK-NEXT: %[[F:.*]] = llm.merge_heads
// CHECK-NEXT: %[[S:.*]] = llm.split_heads %[[F]] : tensor<?x9xf32> -> tensor<?x1x9xf32>
// CHECK-NEXT: return %[[S]]
// OFF-LABEL: func.func @flat
// OFF: llm.transpose
func.func @flat(%x: tensor<?x9x1xf32>) -> tensor<?x1x9xf32> {
  // expected-remark @+1 {{[Passed] flat-transpose | Category:simplify | Function=flat | Reason="9 heads of 1 lie in memory as 1 heads of 9 do"}}
  %0 = llm.transpose %x : tensor<?x9x1xf32> -> tensor<?x1x9xf32>
  return %0 : tensor<?x1x9xf32>
}

// -----

// CHECK-LABEL: func.func @not_flat
// CHECK-NEXT: llm.transpose
func.func @not_flat(%x: tensor<?x2x3xf32>) -> tensor<?x3x2xf32> {
  %0 = llm.transpose %x : tensor<?x2x3xf32> -> tensor<?x3x2xf32>
  return %0 : tensor<?x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @parts
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<?x8xf32>
// CHECK-NEXT: %[[S:.*]] = llm.slice %[[B]] from 1 size 3
// CHECK-NEXT: return %[[A]], %[[S]]
// OFF-LABEL: func.func @parts
// OFF: llm.concat
func.func @parts(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>) {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  // expected-remark @+1 {{[Passed] slice-of-concat | Category:simplify | Function=parts | Reason="the part is of one input"}}
  %0 = llm.slice %c from 0 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  // expected-remark @+1 {{[Passed] slice-of-concat}}
  %1 = llm.slice %c from 5 size 3 : tensor<?x12xf32> -> tensor<?x3xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x3xf32>
}

// -----

// CHECK-LABEL: func.func @part_of_both
// CHECK-NEXT: llm.concat
// CHECK-NEXT: llm.slice
func.func @part_of_both(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>) -> tensor<?x4xf32> {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  // expected-remark @+1 {{[Missed] slice-of-concat | Category:simplify | Function=part_of_both | Reason="the part lies in several inputs", from=2, predicate=one-input, size=4}}
  %0 = llm.slice %c from 2 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}

// -----

// CHECK-LABEL: func.func @elements
// CHECK-SAME: %[[A:.*]]: tensor<?x4xf32>, %[[B:.*]]: tensor<?x8xf32>, %[[Y:.*]]: tensor<?x12xf32>
// CHECK-DAG: %[[Y0:.*]] = llm.slice %[[Y]] from 0 size 4
// CHECK-DAG: %[[Y1:.*]] = llm.slice %[[Y]] from 4 size 8
// CHECK-DAG: %[[S0:.*]] = llm.binary add %[[A]], %[[Y0]]
// CHECK-DAG: %[[S1:.*]] = llm.binary add %[[B]], %[[Y1]]
// CHECK: return %[[S0]], %[[S1]]
// OFF-LABEL: func.func @elements
// OFF: llm.concat
func.func @elements(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>, %y: tensor<?x12xf32>) -> (tensor<?x4xf32>, tensor<?x8xf32>) {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  // expected-remark @+2 {{[Passed] slice-through-elements | Category:simplify | Function=elements | Reason="llm.binary is computed by parts", parts=2}}
  // expected-remark @+1 {{[Passed] slice-of-concat}}
  %s = llm.binary add %c, %y : tensor<?x12xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  %0 = llm.slice %s from 0 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  %1 = llm.slice %s from 4 size 8 : tensor<?x12xf32> -> tensor<?x8xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x8xf32>
}

// -----

// CHECK-LABEL: func.func @all_read
// CHECK-NEXT: llm.concat
func.func @all_read(%a: tensor<?x4xf32>, %b: tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x12xf32>) {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x8xf32> -> tensor<?x12xf32>
  // expected-remark @+1 {{[Missed] slice-through-elements | Category:simplify | Function=all_read | Reason="func.return reads all of it", predicate=only-parts-read}}
  %s = llm.scale %c by 3.0 : tensor<?x12xf32>
  %0 = llm.slice %s from 0 size 4 : tensor<?x12xf32> -> tensor<?x4xf32>
  return %0, %s : tensor<?x4xf32>, tensor<?x12xf32>
}

// -----

// CHECK-LABEL: func.func @overlapping
// CHECK-NEXT: llm.concat
func.func @overlapping(%a: tensor<?x4xf32>, %b: tensor<?x2xf32>) -> (tensor<?x4xf32>, tensor<?x3xf32>) {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x6xf32>
  // expected-remark @+1 {{[Missed] slice-through-elements | Category:simplify | Function=overlapping | Reason="the parts are more than the whole", parts=7, predicate=cost, whole=6}}
  %s = llm.scale %c by 3.0 : tensor<?x6xf32>
  %0 = llm.slice %s from 0 size 4 : tensor<?x6xf32> -> tensor<?x4xf32>
  %1 = llm.slice %s from 1 size 3 : tensor<?x6xf32> -> tensor<?x3xf32>
  return %0, %1 : tensor<?x4xf32>, tensor<?x3xf32>
}

// -----

// CHECK-LABEL: func.func @concat_needed
// CHECK-NEXT: llm.concat
func.func @concat_needed(%a: tensor<?x4xf32>, %b: tensor<?x2xf32>) -> (tensor<?x4xf32>, tensor<?x6xf32>) {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x6xf32>
  // expected-remark @+1 {{[Missed] slice-through-elements | Category:simplify | Function=concat_needed | Reason="func.return needs the concat anyway", predicate=single-use}}
  %s = llm.scale %c by 3.0 : tensor<?x6xf32>
  %0 = llm.slice %s from 0 size 4 : tensor<?x6xf32> -> tensor<?x4xf32>
  return %0, %c : tensor<?x4xf32>, tensor<?x6xf32>
}

// -----

// CHECK-LABEL: func.func @part_in_both
// CHECK-NEXT: llm.concat
func.func @part_in_both(%a: tensor<?x4xf32>, %b: tensor<?x2xf32>) -> tensor<?x4xf32> {
  %c = llm.concat %a, %b : tensor<?x4xf32>, tensor<?x2xf32> -> tensor<?x6xf32>
  // expected-remark @+1 {{[Missed] slice-through-elements | Category:simplify | Function=part_in_both | Reason="a part lies in several inputs", from=1, predicate=one-input, size=4}}
  %s = llm.scale %c by 3.0 : tensor<?x6xf32>
  %0 = llm.slice %s from 1 size 4 : tensor<?x6xf32> -> tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
