// RUN: llmc-opt %s --llm-verify-model -split-input-file --allow-unregistered-dialect -verify-diagnostics

// expected-error @+1 {{has no function marked llm.entry}}
module {
func.func @step() { return }
}

// -----

module {
// expected-note @+1 {{the first one}}
func.func @step() attributes {llm.entry} { return }
// expected-error @+1 {{is a second function marked llm.entry}}
func.func @other() attributes {llm.entry} { return }
}

// -----

module {
func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.repeat [@f] from 0 count 2 (%x) : (tensor<?x16xf32>)
  // expected-error @+1 {{runs layers from 3 but layer 2 is the next one}}
  %z = llm.repeat [@f] from 3 count 2 (%y) : (tensor<?x16xf32>)
  return %z : tensor<?x16xf32>
}
}

// -----

module attributes {llm.model = {layers = 5 : i64}} {
func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
// expected-error @+1 {{runs 4 layers but llm.model has 5}}
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.repeat [@f, @f] from 0 count 2 (%x) : (tensor<?x16xf32>)
  return %y : tensor<?x16xf32>
}
}

// -----

module {
func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
func.func private @hidden(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-error @+1 {{stands outside the function marked llm.entry}}
  %y = llm.repeat [@f] from 0 count 2 (%x) : (tensor<?x16xf32>)
  return %y : tensor<?x16xf32>
}
func.func @step() attributes {llm.entry} { return }
}

// -----

module {
// expected-error @+1 {{is used by no op}}
llm.weight_family @w "w" : !llm.weight<[16], #llm.dense<f32>>
func.func @step() attributes {llm.entry} { return }
}

// -----

module {
llm.weight_family @w "w.{i}" layers [0, 2] : !llm.weight<[16], #llm.dense<f32>>
func.func private @f(%i: index, %x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  // expected-error @+1 {{asks for layer 2 but family @w has no such member}}
  %w = llm.param @w[%i] : !llm.weight<[16], #llm.dense<f32>>
  return %x : tensor<?x16xf32>
}
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.repeat [@f] from 0 count 3 (%x) : (tensor<?x16xf32>)
  return %y : tensor<?x16xf32>
}
}

// -----

module {
// expected-error @+1 {{has a member for layer 3 that no op uses}}
llm.weight_family @w "w.{i}" layers [0, 4] : !llm.weight<[16], #llm.dense<f32>>
func.func private @f(%i: index, %x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %w = llm.param @w[%i] : !llm.weight<[16], #llm.dense<f32>>
  return %x : tensor<?x16xf32>
}
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.repeat [@f] from 0 count 3 (%x) : (tensor<?x16xf32>)
  return %y : tensor<?x16xf32>
}
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
module {
llm.state_family @kv layers [0, 1] : !kv
func.func @step(%i: index, %k: tensor<?x1x16xf32>, %b: !llm.batch) attributes {llm.entry} {
  %layer = "test.layer"() : () -> index
  %c = llm.state @kv[%layer] : !kv
  // expected-note @+1 {{the append, whose result is the state from here on}}
  %after = llm.kv_append %k, %k, %c, %b : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !kv
  // expected-error @+1 {{uses a state after it was appended to}}
  %a = llm.paged_attention %k, %c, %b scale 0.25 : tensor<?x1x16xf32>, !kv -> tensor<?x1x16xf32>
  return
}
}

// -----

// Two llm.state of one layer are one state; an append inside a fusion counts.
!kv = !llm.cache<paged, [1, 16, 16], f32>
module {
llm.state_family @kv layers [0, 1] : !kv
func.func @step(%k: tensor<?x1x16xf32>, %b: !llm.batch) attributes {llm.entry} {
  %layer = "test.layer"() : () -> index
  %c = llm.state @kv[%layer] : !kv
  %same = llm.state @kv[%layer] : !kv
  // expected-note @+1 {{the append, whose result is the state from here on}}
  %after = llm.fusion "append" (%k, %c, %b) : (tensor<?x1x16xf32>, !kv, !llm.batch) -> !kv {
  ^bb0(%key: tensor<?x1x16xf32>, %cache: !kv, %batch: !llm.batch):
    %0 = llm.kv_append %key, %key, %cache, %batch : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !kv
    llm.yield %0 : !kv
  }
  // expected-error @+1 {{uses a state after it was appended to}}
  %a = llm.paged_attention %k, %same, %b scale 0.25 : tensor<?x1x16xf32>, !kv -> tensor<?x1x16xf32>
  return
}
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
module {
llm.state_family @kv layers [0, 1] : !kv
func.func @step(%k: tensor<?x1x16xf32>, %b: !llm.batch) attributes {llm.entry} {
  %layer = "test.layer"() : () -> index
  %c = llm.state @kv[%layer] : !kv
  // expected-note @+1 {{the other append}}
  %0 = llm.kv_append %k, %k, %c, %b : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !kv
  // expected-error @+1 {{appends to a state that is appended to already}}
  %1 = llm.kv_append %k, %k, %c, %b : tensor<?x1x16xf32>, tensor<?x1x16xf32>, !kv
  return
}
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
module {
llm.state_family @kv layers [0, 1] : !kv
func.func @step(%q: tensor<?x1x16xf32>, %b: !llm.batch) attributes {llm.entry} {
  %layer = "test.layer"() : () -> index
  // expected-error @+1 {{is read but nothing appends to family @kv}}
  %c = llm.state @kv[%layer] : !kv
  %a = llm.paged_attention %q, %c, %b scale 0.25 : tensor<?x1x16xf32>, !kv -> tensor<?x1x16xf32>
  return
}
}

// -----

module {
func.func @step(%x: tensor<?x16xf32>) attributes {llm.entry} {
  // expected-error @+1 {{result 'tensor<?x?xf32>' has a dynamic dimension besides the rows}}
  %y = "test.rows"(%x) : (tensor<?x16xf32>) -> tensor<?x?xf32>
  return
}
}

// -----

module {
// expected-error @+1 {{argument 0 of type 'tensor<16x?xf32>' has a dynamic dimension besides the rows}}
func.func @step(%x: tensor<16x?xf32>) attributes {llm.entry} { return }
}

// -----

module {
func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  // expected-error @+1 {{has no user: what the layers compute is lost}}
  %y = llm.repeat [@f] from 0 count 2 (%x) : (tensor<?x16xf32>)
  return %x : tensor<?x16xf32>
}
}
