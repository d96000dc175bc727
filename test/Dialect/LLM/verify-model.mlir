// RUN: llmc-opt %s -split-input-file --llm-verify-model | FileCheck %s
// RUN: llmc-opt %s -split-input-file --llm-fuse --llm-verify-model -o /dev/null

#rope = #llm.rope<"default", base = 10000.0, width = 4, halves, magnitude = 1.0, [1.0, 0.01]>
!kv = !llm.cache<paged, [1, 16, 16], f32>
!w = !llm.weight<[16, 16], #llm.dense<f32>>

// CHECK: llm.model
module attributes {llm.model = {layers = 6 : i64}} {
llm.weight_family @even "e.{i}" layers [0, 1, 2, 3] : !w
llm.weight_family @odd "o.{i}" layers [1, 2, 3, 6] : !w
llm.weight_family @embed "embed" : !w
llm.state_family @kv layers [0, 1, 2, 3] : !kv

func.func private @f(%i: index, %x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> {
  %w = llm.param @even[%i] : !w
  %y = llm.linear %x, %w : tensor<?x16xf32>, !w -> tensor<?x16xf32>
  %h = llm.split_heads %y : tensor<?x16xf32> -> tensor<?x1x16xf32>
  %q = llm.rotary %h, %b rope(#rope) : tensor<?x1x16xf32>
  %k = llm.rotary %h, %b rope(#rope) : tensor<?x1x16xf32>
  %c = llm.state @kv[%i] : !kv
  %after = llm.kv_append %k, %h, %c, %b : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !kv
  %a = llm.paged_attention %q, %after, %b scale 0.25 : tensor<?x1x16xf32>, !kv -> tensor<?x1x16xf32>
  %m = llm.merge_heads %a : tensor<?x1x16xf32> -> tensor<?x16xf32>
  return %m : tensor<?x16xf32>
}
func.func private @g(%i: index, %x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> {
  %w = llm.param @odd[%i] : !w
  %y = llm.linear %x, %w : tensor<?x16xf32>, !w -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}
func.func @step(%t: tensor<?xi32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %e = llm.param @embed : !w
  %x = llm.embedding %t, %e : tensor<?xi32>, !w -> tensor<?x16xf32>
  %y = llm.repeat [@f, @g] from 0 count 2 (%x) with (%b) : (tensor<?x16xf32>) with (!llm.batch)
  %z = llm.repeat [@g] from 4 count 2 (%y) with (%b) : (tensor<?x16xf32>) with (!llm.batch)
  return %z : tensor<?x16xf32>
}
}

// -----

// A layer that reads what an earlier one keeps, and an entry that reads what all layers kept.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
// CHECK: @read_later
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @read_later(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  %z = llm.repeat [@reader] from 2 count 2 (%y) with (%b) : (!heads) with (!llm.batch)
  %c1 = arith.constant 1 : index
  %c = llm.state @kv[%c1] : !kv
  %a = llm.paged_attention %z, %c, %b scale 0.25 : !heads, !kv -> !heads
  return %a : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  return %x : !heads
}
func.func private @reader(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c1 = arith.constant 1 : index
  %c = llm.state @kv[%c1] : !kv
  %y = llm.paged_attention %x, %c, %b scale 0.25 : !heads, !kv -> !heads
  return %y : !heads
}
}
