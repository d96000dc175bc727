// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file -verify-diagnostics

// Layers that the plan cannot compute, and numbers of layers that there are not.

!rows = tensor<?x16xf32>
!v = !llm.weight<[16], #llm.dense<f32>>
module attributes {llm.model = {layers = 2 : i64}} {
  llm.weight_family @norm "layers.{i}.norm" layers [0, 3] : !v
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 2 (%x) : (!rows)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows) -> !rows {
    %c1 = arith.constant 1 : index
    // expected-error @+1 {{has no lowering to the plan}}
    %next = arith.addi %i, %c1 : index
    %norm = llm.param @norm[%next] : !v
    %y = llm.rms_norm %x, %norm eps 0.001 : !rows, !v
    return %y : !rows
  }
}

// -----

// An index that is handed from layer to layer is not that of the layer.

!rows = tensor<?x16xf32>
!v = !llm.weight<[16], #llm.dense<f32>>
module attributes {llm.model = {layers = 2 : i64}} {
  llm.weight_family @norm "layers.{i}.norm" layers [0, 2] : !v
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %c0 = arith.constant 0 : index
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%c0) : (!rows) with (index)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %j: index) -> !rows {
    // expected-error @+1 {{has a layer that is neither the index of the layer at hand nor a number; the plan computes no indices}}
    %norm = llm.param @norm[%j] : !v
    %y = llm.rms_norm %x, %norm eps 0.001 : !rows, !v
    return %y : !rows
  }
}

// -----

!rows = tensor<?x16xf32>
module attributes {llm.model = {layers = 2 : i64}} {
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %c0 = arith.constant 0 : index
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%c0) : (!rows) with (index)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %j: index) -> !rows {
    // expected-error @+1 {{has a layer that is neither the index of the layer at hand nor a number}}
    llm.observe %x "hidden.{i}"[%j] : !rows
    return %x : !rows
  }
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
!rows = tensor<?x16xf32>
module attributes {llm.model = {layers = 2 : i64}} {
  llm.state_family @kv layers [0, 2] : !kv
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %c0 = arith.constant 0 : index
    %y = llm.repeat [@layer] from 0 count 2 (%x) with (%c0) : (!rows) with (index)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %j: index) -> !rows {
    // expected-error @+1 {{has a layer that is neither the index of the layer at hand nor a number}}
    %s = llm.state @kv[%j] : !kv
    return %x : !rows
  }
}

// -----

!rows = tensor<?x16xf32>
!v = !llm.weight<[16], #llm.dense<f32>>
module attributes {llm.model = {layers = 2 : i64}} {
  llm.weight_family @norm "layers.{i}.norm" layers [0, 2] : !v
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 2 (%x) : (!rows)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows) -> !rows {
    %c9 = arith.constant 9 : index
    %norm = llm.param @norm[%c9] : !v
    // expected-error @+1 {{@norm has no member for layer 9}}
    %y = llm.rms_norm %x, %norm eps 0.001 : !rows, !v
    return %y : !rows
  }
}

// -----

!kv = !llm.cache<paged, [1, 16, 16], f32>
!rows = tensor<?x16xf32>
module attributes {llm.model = {architecture = "T"}} {
  llm.state_family @kv layers [0, 2] : !kv
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    %c9 = arith.constant 9 : index
    // expected-error @+1 {{asks for layer 9 but family @kv has no such member}}
    %s = llm.state @kv[%c9] : !kv
    return %x : !rows
  }
}

// -----

!rows = tensor<?x16xf32>
!heads = tensor<?x4x4xf32>
module attributes {llm.model = {architecture = "T"}} {
  func.func @main(%x: !rows) -> tensor<?x4xf32> attributes {llm.entry} {
    %c3 = arith.constant 3 : index
    %h = llm.split_heads %x : !rows -> !heads
    // expected-error @+1 {{asks in layer 3 for number 1 from there, of 4}}
    %y = llm.take %h[%c3 + 1] : !heads -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}

// -----

// Layers are listed one by one: more than there can be would fill the memory.

!rows = tensor<?x16xf32>
module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{has a member for layer 4611686018427387903; no model has more than 65536 layers}}
  llm.state_family @kv layers [0, 4611686018427387904] : !llm.cache<paged, [2, 8, 8], f32>
  func.func @main(%x: !rows) -> !rows attributes {llm.entry} {
    return %x : !rows
  }
}
