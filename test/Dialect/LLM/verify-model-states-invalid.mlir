// RUN: llmc-opt %s --llm-verify-model -split-input-file -verify-diagnostics

// In a step each state is appended to once, and what reads it stands behind that.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  // expected-error @+1 {{reads a state before it is appended to: what it sees of a prompt would depend on the steps that the prompt comes in}}
  %y = llm.paged_attention %x, %c, %b scale 0.25 : !heads, !kv -> !heads
  // expected-note @+1 {{the append, whose result holds this step's tokens too}}
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  return %y : !heads
}
}

// -----

// Inside of a fusion too, and through one.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  %y:2 = llm.fusion "mine" (%x, %c, %b) : (!heads, !kv, !llm.batch) -> (!heads, !kv) {
  ^bb0(%h: !heads, %s: !kv, %a: !llm.batch):
    // expected-error @+1 {{reads a state before it is appended to}}
    %0 = llm.paged_attention %h, %s, %a scale 0.25 : !heads, !kv -> !heads
    // expected-note @+1 {{the append}}
    %1 = llm.kv_append %h, %h, %s, %a : !heads, !heads, !kv
    llm.yield %0, %1 : !heads, !kv
  }
  return %y#0 : !heads
}
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  // expected-error @+1 {{reads a state before it is appended to}}
  %y = llm.fusion "mine" (%x, %c, %b) : (!heads, !kv, !llm.batch) -> (!heads) {
  ^bb0(%h: !heads, %s: !kv, %a: !llm.batch):
    %0 = llm.paged_attention %h, %s, %a scale 0.25 : !heads, !kv -> !heads
    llm.yield %0 : !heads
  }
  // expected-note @+1 {{the append}}
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  return %y : !heads
}
}

// -----

// The state of a layer that runs later, named by its number.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c1 = arith.constant 1 : index
  %c = llm.state @kv[%i] : !kv
  %other = llm.state @kv[%c1] : !kv
  // expected-note @+1 {{the append}}
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  // expected-error @+1 {{reads a state before it is appended to}}
  %y = llm.paged_attention %x, %other, %b scale 0.25 : !heads, !kv -> !heads
  return %y : !heads
}
}

// -----

// Of a layer that appends nothing.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 2] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer, @reader] from 0 count 1 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  return %x : !heads
}
func.func private @reader(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c = llm.state @kv[%i] : !kv
  // expected-error @+1 {{reads layer 1 of family @kv, to which nothing appends}}
  %y = llm.paged_attention %x, %c, %b scale 0.25 : !heads, !kv -> !heads
  return %y : !heads
}
}

// -----

// One layer's state, appended to by each of the layers.

!kv = !llm.cache<paged, [1, 16, 16], f32>
!heads = tensor<?x1x16xf32>
module {
llm.state_family @kv layers [0, 1] : !kv
func.func @step(%x: !heads, %b: !llm.batch) -> !heads attributes {llm.entry} {
  %y = llm.repeat [@layer] from 0 count 2 (%x) with (%b) : (!heads) with (!llm.batch)
  return %y : !heads
}
func.func private @layer(%i: index, %x: !heads, %b: !llm.batch) -> !heads {
  %c0 = arith.constant 0 : index
  %c = llm.state @kv[%c0] : !kv
  // expected-error @+2 {{appends to layer 0 of family @kv, which is appended to already in the same step}}
  // expected-note @+1 {{the other append}}
  %after = llm.kv_append %x, %x, %c, %b : !heads, !heads, !kv
  return %x : !heads
}
}

// -----

// Numbers of layers are members.

!v = !llm.weight<[16], #llm.dense<f32>>
module {
llm.weight_family @norm "layers.{i}.norm" layers [0, 2] : !v
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  %c9 = arith.constant 9 : index
  // expected-error @+1 {{asks for layer 9 but family @norm has no such member}}
  %w = llm.param @norm[%c9] : !v
  %y = llm.rms_norm %x, %w eps 0.001 : tensor<?x16xf32>, !v
  return %y : tensor<?x16xf32>
}
}
