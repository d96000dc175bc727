// RUN: llmc-opt %s --llm-verify-model -split-input-file -verify-diagnostics

// What rows a value has, the entry's form, and how many layers there may be.

func.func @step(%x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.select_rows %x, %b : tensor<?x16xf32>
  // expected-error @+1 {{combines only the rows that select_rows chose with a row for each token}}
  %z = llm.residual_add %y, %x : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

func.func @step(%x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.select_rows %x, %b : tensor<?x16xf32>
  // expected-error @+1 {{needs a row for each token and has only the rows that select_rows chose}}
  %z = llm.select_rows %y, %b : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

func.func @step(%x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.fusion "mine" (%x, %b) : (tensor<?x16xf32>, !llm.batch) -> (tensor<?x16xf32>) {
  ^bb0(%a: tensor<?x16xf32>, %c: !llm.batch):
    %s = llm.select_rows %a, %c : tensor<?x16xf32>
    llm.yield %s : tensor<?x16xf32>
  }
  // expected-error @+1 {{combines}}
  %z = llm.residual_add %x, %y : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

// Only arithmetic has as many rows of a weight as the other operand has.
func.func @step(%x: tensor<?x16xf32>, %w: !llm.weight<[16], #llm.dense<f32>>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %r = llm.weight_rows %w, %b : !llm.weight<[16], #llm.dense<f32>> -> tensor<?x16xf32>
  %y = llm.select_rows %x, %b : tensor<?x16xf32>
  // expected-error @+1 {{combines only the rows that select_rows chose with a row for each token}}
  %z = llm.gate silu %y, %r : tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

// A router's table is read by token.
func.func @step(%l: tensor<?x16xf32>, %t: !llm.weight<[9, 1], #llm.dense<f32>>, %k: tensor<?xi32>, %b: !llm.batch) -> tensor<?x1xf32> attributes {llm.entry} {
  %y = llm.select_rows %l, %b : tensor<?x16xf32>
  // expected-error @+1 {{needs a row for each token and has only the rows that select_rows chose}}
  %c, %w = llm.route softmax %y table %t of %k top 1 : (tensor<?x16xf32>, !llm.weight<[9, 1], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return %w : tensor<?x1xf32>
}

// -----

func.func private @f(%i: index, %x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> {
  %y = llm.select_rows %x, %b : tensor<?x16xf32>
  // expected-error @+1 {{gives only the rows that select_rows chose to the next layer}}
  return %y : tensor<?x16xf32>
}
func.func @step(%x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.repeat [@f] from 0 count 2 (%x) with (%b) : (tensor<?x16xf32>) with (!llm.batch)
  return %y : tensor<?x16xf32>
}

// -----

func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
func.func @step(%x: tensor<?x16xf32>, %b: !llm.batch) -> tensor<?x16xf32> attributes {llm.entry} {
  %y = llm.select_rows %x, %b : tensor<?x16xf32>
  // expected-error @+1 {{carries only the rows that select_rows chose; layers run on all tokens}}
  %z = llm.repeat [@f] from 0 count 2 (%y) : (tensor<?x16xf32>)
  return %z : tensor<?x16xf32>
}

// -----

// expected-error @+1 {{is the entry and needs a body of one block but has 0}}
func.func private @step(tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry}

// -----

func.func private @f(index, tensor<?x16xf32>) -> tensor<?x16xf32>
func.func @step(%x: tensor<?x16xf32>) -> tensor<?x16xf32> attributes {llm.entry} {
  // expected-error @+1 {{runs more than 65536 layers}}
  %y = llm.repeat [@f, @f] from 0 count 9223372036854775807 (%x) : (tensor<?x16xf32>)
  return %y : tensor<?x16xf32>
}

// -----

// expected-error @+1 {{has a member for layer 4611686018427387903; no model has more than 65536 layers}}
llm.state_family @kv layers [0, 4611686018427387904] : !llm.cache<paged, [2, 8, 8], f32>
func.func private @f(%i: index, %x: tensor<?x2x8xf32>, %b: !llm.batch) -> tensor<?x2x8xf32> {
  %s = llm.state @kv[%i] : !llm.cache<paged, [2, 8, 8], f32>
  %t = llm.kv_append %x, %x, %s, %b : tensor<?x2x8xf32>, tensor<?x2x8xf32>, !llm.cache<paged, [2, 8, 8], f32>
  %y = llm.paged_attention %x, %t, %b scale 0.5 : tensor<?x2x8xf32>, !llm.cache<paged, [2, 8, 8], f32> -> tensor<?x2x8xf32>
  return %y : tensor<?x2x8xf32>
}
func.func @step(%x: tensor<?x2x8xf32>, %b: !llm.batch) -> tensor<?x2x8xf32> attributes {llm.entry} {
  %y = llm.repeat [@f] from 0 count 2 (%x) with (%b) : (tensor<?x2x8xf32>) with (!llm.batch)
  return %y : tensor<?x2x8xf32>
}

// -----

// expected-error @+1 {{argument 0 of type 'tensor<?x8589934592x2xf32>' has rows of more than 4294967296 elements}}
func.func @step(%x: tensor<?x8589934592x2xf32>) attributes {llm.entry} {
  return
}
