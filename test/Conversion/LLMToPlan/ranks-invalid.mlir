// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file -verify-diagnostics

module attributes {llm.model = {architecture = "r"}} {
  // expected-error @below {{has 2 axes; the plan takes grids of one axis of fixed size}}
  shard.grid @mesh(shape = 2x4)
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    return %x : tensor<?x64xf32>
  }
}

// -----

module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  // expected-error @below {{is a second grid; the plan takes one}}
  shard.grid @pp(shape = 2)
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    return %x : tensor<?x64xf32>
  }
}

// -----

module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    // expected-error @below {{reduces by max; the plan has sums only}}
    %s = shard.all_reduce %x on @tp grid_axes = [0] reduction = max : tensor<?x64xf32> -> tensor<?x64xf32>
    return %s : tensor<?x64xf32>
  }
}

// -----

module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    // expected-error @below {{runs over no axis of the grid; write grid_axes = [0]}}
    %s = shard.all_reduce %x on @tp : tensor<?x64xf32> -> tensor<?x64xf32>
    return %s : tensor<?x64xf32>
  }
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  // expected-error @below {{is divided by no grid; give shard.grid, a shard.grid of this module, and shard.split_axes}}
  llm.weight_family @w "w" {shard.split_axes = #shard<axisarray[[], [0]]>} : !w
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    %w = llm.param @w : !w
    %y = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  // expected-error @below {{has split_axes #shard<axisarray[[0], [0]]>; one dimension of the weight is divided, along axis 0}}
  llm.weight_family @w "w" {shard.grid = @tp, shard.split_axes = #shard<axisarray[[0], [0]]>} : !w
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    %w = llm.param @w : !w
    %y = llm.linear %x, %w : tensor<?x64xf32>, !w -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

!w = !llm.weight<[64, 64], #llm.dense<f32>>
module attributes {llm.model = {architecture = "r"}} {
  shard.grid @tp(shape = 2)
  llm.weight_family @a "a" {shard.grid = @tp, shard.split_axes = #shard<axisarray[[0], []]>} : !w
  // expected-error @below {{is divided otherwise than the other weights of its launch}}
  llm.weight_family @b "b" : !w
  func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.entry} {
    %a = llm.param @a : !w
    %b = llm.param @b : !w
    %y = llm.fusion "gated-linear" (%x, %a, %b) : (tensor<?x64xf32>, !w, !w) -> tensor<?x64xf32> {
    ^bb0(%i: tensor<?x64xf32>, %wa: !w, %wb: !w):
      %g = llm.linear %i, %wa : tensor<?x64xf32>, !w -> tensor<?x64xf32>
      %u = llm.linear %i, %wb : tensor<?x64xf32>, !w -> tensor<?x64xf32>
      %0 = llm.gate silu %g, %u : tensor<?x64xf32>
      llm.yield %0 : tensor<?x64xf32>
    }
    return %y : tensor<?x64xf32>
  }
}
