// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file -verify-diagnostics | FileCheck %s

// What llm-simplify did for short sequences or on request, and what op libraries define, holds for the plan, and the last layer
// may give chosen rows.

// CHECK: plan.program
// CHECK-SAME: max_context = 40
// CHECK-SAME: accepted [#plan.accepted<"fold-scales", "3 constant factors">, #plan.accepted<"op-library dyt.mlir", "sha256 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">]
// CHECK: plan.repeat from 0 count 1
// CHECK-NEXT: plan.launch @rows{{.*}} items <1, outputs>
// CHECK-NEXT: plan.launch @linear{{.*}} items <{{[0-9]+}}, outputs tile
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: plan.launch @linear{{.*}} items <{{[0-9]+}}, outputs tile
module attributes {llm.model = {bounded_context = 40 : i64, context_length = 64 : i64, folded_scales = 3 : i64, layers = 1 : i64, op_libraries = [["dyt.mlir", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]]}} {
  llm.weight_family @square "w.{i}" layers [0, 1] : !llm.weight<[8, 8], #llm.dense<f32>>
  llm.weight_family @table "t" : !llm.weight<[16, 8], #llm.dense<f32>>
  func.func @step(%t: tensor<?xi32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
    %w = llm.param @table : !llm.weight<[16, 8], #llm.dense<f32>>
    %x = llm.embedding %t, %w : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x8xf32>
    %y = llm.repeat [@last] from 0 count 1 (%x) with (%b) : (tensor<?x8xf32>) with (!llm.batch)
    %l = llm.output_head %y, %w : tensor<?x8xf32>, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x16xf32>
    return %l : tensor<?x16xf32>
  }
  func.func private @last(%i: index, %x: tensor<?x8xf32>, %b: !llm.batch) -> tensor<?x8xf32> {
    %w = llm.param @square[%i] : !llm.weight<[8, 8], #llm.dense<f32>>
    %r = llm.select_rows %x, %b : tensor<?x8xf32>
    %p = llm.linear %r, %w : tensor<?x8xf32>, !llm.weight<[8, 8], #llm.dense<f32>> -> tensor<?x8xf32>
    return %p : tensor<?x8xf32>
  }
}
