// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file -verify-diagnostics

// Legal in the llm dialect, without a place in a plan.

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{argument 1 of the entry has type 'index'; a step gives tokens}}
  func.func @step(%x: tensor<?x8xf32>, %i: index) -> tensor<?x8xf32> attributes {llm.entry} {
    return %x : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{argument 0 of the entry has type 'tensor<4xi32>'}}
  func.func @step(%t: tensor<4xi32>, %x: tensor<?x8xf32>) -> tensor<?x8xf32>
      attributes {llm.entry} {
    return %x : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{argument 2 of the entry is a second '!llm.batch'; a step gives one}}
  func.func @step(%x: tensor<?x8xf32>, %a: !llm.batch, %b: !llm.batch) -> tensor<?x8xf32>
      attributes {llm.entry} {
    return %x : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{@step is the entry and returns nothing}}
  func.func @step(%x: tensor<?x8xf32>) attributes {llm.entry} {
    return
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{result 0 of the entry has type 'tensor<?xi32>'; only rows of floats can be returned}}
  func.func @step(%t: tensor<?xi32>) -> tensor<?xi32> attributes {llm.entry} {
    return %t : tensor<?xi32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{@step is the entry and needs a body of one block; it has 0}}
  func.func private @step(tensor<?x8xf32>) -> tensor<?x8xf32> attributes {llm.entry}
}

// -----

module attributes {llm.model = {layers = 2 : i64}} {
  // expected-error @+1 {{@layer needs a body of one block; it has 2}}
  func.func private @layer(%i: index, %x: tensor<?x8xf32>) -> tensor<?x8xf32> {
    cf.br ^bb1
  ^bb1:
    return %x : tensor<?x8xf32>
  }
  func.func @step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 2 (%x) : (tensor<?x8xf32>)
    return %y : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  func.func @step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {llm.entry} {
    // expected-error @+1 {{result 0 of the fusion is its argument 0, which no operation computes}}
    %y = llm.fusion "mine" (%x) : (tensor<?x8xf32>) -> (tensor<?x8xf32>) {
    ^bb0(%a: tensor<?x8xf32>):
      llm.yield %a : tensor<?x8xf32>
    }
    return %y : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  func.func @step(%x: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>)
      attributes {llm.entry} {
    // expected-error @+1 {{result 1 of the fusion is another result once more}}
    %y, %z = llm.fusion "mine" (%x) : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
    ^bb0(%a: tensor<?x8xf32>):
      %b = llm.scale %a by 2.0 : tensor<?x8xf32>
      llm.yield %b, %b : tensor<?x8xf32>, tensor<?x8xf32>
    }
    return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{has a value of type 'tensor<?x8xbf16>': no kernel rounds activations to 'bf16'}}
  func.func @step(%x: tensor<?x8xbf16>) -> tensor<?x8xbf16> attributes {llm.entry} {
    %y = llm.scale %x by 2.0 : tensor<?x8xbf16>
    return %y : tensor<?x8xbf16>
  }
}

// -----

module attributes {llm.model = {layers = 1 : i64}} {
  // expected-error @+1 {{is state of 'f16': kernels keep state as f32}}
  llm.state_family @kv layers [0, 1] : !llm.cache<paged, [2, 4, 4], f16>
  func.func @step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> attributes {llm.entry} {
    %y = llm.scale %x by 2.0 : tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}
