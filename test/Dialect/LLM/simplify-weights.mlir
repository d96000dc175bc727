// RUN: llmc-opt %s --llm-simplify -split-input-file | FileCheck %s
// RUN: llmc-opt %s --llm-simplify --remarks-filter=simplify -split-input-file -verify-diagnostics
// RUN: llmc-opt %s --llm-simplify=disable=weight-slice -split-input-file | FileCheck %s --check-prefix=OFF

// Both parts are weights of their own, and nothing reads the whole any more.
// CHECK-NOT: @mix "mix.{i}"
// CHECK-DAG: llm.weight_family @mix_0_1 "mix.{i}" rows 0 of 3 layers [0, 2] : !llm.weight<[1], #llm.dense<bf16>>
// CHECK-DAG: llm.weight_family @mix_1_2 "mix.{i}" rows 1 of 3 layers [0, 2] : !llm.weight<[2], #llm.dense<bf16>>
// OFF: llm.weight_family @mix "mix.{i}"
// expected-remark @+1 {{[Passed] unused | Category:simplify | Reason="nothing reads mix.{i} any more"}}
llm.weight_family @mix "mix.{i}" layers [0, 2] : !llm.weight<[3], #llm.dense<bf16>>
// CHECK-DAG: llm.weight_family @bias_6_2 "bias" from "other" rows 10 of 16 : !llm.weight<[2], #llm.dense<f32>>
// CHECK-DAG: llm.weight_family @bias "bias" from "other" rows 4 of 16
llm.weight_family @bias "bias" from "other" rows 4 of 16 : !llm.weight<[8], #llm.dense<f32>>
// CHECK-DAG: llm.weight_family @cut_2_2 "cut" view <stored = [32], first = 9, strides = [4]> : !llm.weight<[2], #llm.dense<f32>>
// expected-remark @+1 {{Reason="nothing reads cut any more"}}
llm.weight_family @cut "cut" view <stored = [32], first = 1, strides = [4]> : !llm.weight<[4], #llm.dense<f32>>

func.func @forward(%x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32> attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%batch) : (tensor<?x8xf32>) with (!llm.batch)
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func.func private @layer
// CHECK-SAME: %[[I:.*]]: index
// CHECK: llm.param @mix_0_1[%[[I]]]
// CHECK: llm.weight_rows
// CHECK: llm.param @mix_1_2[%[[I]]]
// CHECK-NOT: llm.slice
// OFF-LABEL: func.func private @layer
// OFF: llm.slice
func.func private @layer(%i: index, %x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32> {
  %w = llm.param @mix[%i] : !llm.weight<[3], #llm.dense<bf16>>
  %r = llm.weight_rows %w, %batch : !llm.weight<[3], #llm.dense<bf16>> -> tensor<?x3xf32>
  // expected-remark @+1 {{[Passed] weight-slice | Category:simplify | Function=layer | Reason="the part is a weight of its own", from=0, size=1}}
  %a = llm.slice %r from 0 size 1 : tensor<?x3xf32> -> tensor<?x1xf32>
  // expected-remark @+1 {{from=1, size=2}}
  %b = llm.slice %r from 1 size 2 : tensor<?x3xf32> -> tensor<?x2xf32>
  %bw = llm.param @bias : !llm.weight<[8], #llm.dense<f32>>
  %br = llm.weight_rows %bw, %batch : !llm.weight<[8], #llm.dense<f32>> -> tensor<?x8xf32>
  // expected-remark @+1 {{from=6, size=2}}
  %c = llm.slice %br from 6 size 2 : tensor<?x8xf32> -> tensor<?x2xf32>
  %cw = llm.param @cut : !llm.weight<[4], #llm.dense<f32>>
  %cr = llm.weight_rows %cw, %batch : !llm.weight<[4], #llm.dense<f32>> -> tensor<?x4xf32>
  // expected-remark @+1 {{from=2, size=2}}
  %d = llm.slice %cr from 2 size 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %0 = llm.binary mul %x, %a : tensor<?x8xf32>, tensor<?x1xf32> -> tensor<?x8xf32>
  %1 = llm.binary add %0, %br : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  %2 = llm.binary mul %b, %c : tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  %3 = llm.binary mul %2, %d : tensor<?x2xf32>, tensor<?x2xf32> -> tensor<?x2xf32>
  llm.observe %3 "three" : tensor<?x2xf32>
  return %1 : tensor<?x8xf32>
}

// -----

// CHECK: llm.weight_family @table
// CHECK: llm.slice
llm.weight_family @table "table" : !llm.weight<[2, 8], #llm.dense<f32>>
func.func @matrix(%batch: !llm.batch) -> tensor<?x2x4xf32> {
  %w = llm.param @table : !llm.weight<[2, 8], #llm.dense<f32>>
  %r = llm.weight_rows %w, %batch : !llm.weight<[2, 8], #llm.dense<f32>> -> tensor<?x2x8xf32>
  // expected-remark @+1 {{[Missed] weight-slice | Category:simplify | Function=matrix | Reason="the weight is a matrix", predicate=vector}}
  %a = llm.slice %r from 4 size 4 : tensor<?x2x8xf32> -> tensor<?x2x4xf32>
  return %a : tensor<?x2x4xf32>
}

// -----

llm.weight_family @q "q" : !llm.weight<[64], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>>
func.func @blocks(%batch: !llm.batch) -> tensor<?x32xf32> {
  %w = llm.param @q : !llm.weight<[64], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>>
  %r = llm.weight_rows %w, %batch : !llm.weight<[64], #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>> -> tensor<?x64xf32>
  // expected-remark @+1 {{[Missed] weight-slice | Category:simplify | Function=blocks | Reason="the weight is stored as blocks", predicate=dense}}
  %a = llm.slice %r from 32 size 32 : tensor<?x64xf32> -> tensor<?x32xf32>
  return %a : tensor<?x32xf32>
}

// -----

llm.weight_family @v "v" values [1.0, 2.0, 3.0, 4.0] : !llm.weight<[4], #llm.dense<f32>>
func.func @constants(%batch: !llm.batch) -> tensor<?x2xf32> {
  %w = llm.param @v : !llm.weight<[4], #llm.dense<f32>>
  %r = llm.weight_rows %w, %batch : !llm.weight<[4], #llm.dense<f32>> -> tensor<?x4xf32>
  // expected-remark @+1 {{[Missed] weight-slice | Category:simplify | Function=constants | Reason="the weight is a constant of the program", predicate=stored}}
  %a = llm.slice %r from 2 size 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  return %a : tensor<?x2xf32>
}
