// RUN: llmc-opt %s --test-evaluate-function --split-input-file --verify-diagnostics -o /dev/null

// What types do not say is checked before it is used, and named.

func.func @token(%tokens: tensor<?xi32>, %table: !llm.weight<[2, 1], #llm.dense<f32>>)
    -> tensor<?x1xf32> attributes {test.steps = [
    {args = [dense<[1, 2]> : tensor<2xi32>, dense<0.5> : tensor<2x1xf32>]}]} {
  // expected-error @+1 {{'llm.embedding' token 2 is outside of the table's 2 rows}}
  %y = llm.embedding %tokens, %table
      : tensor<?xi32>, !llm.weight<[2, 1], #llm.dense<f32>> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// -----

func.func @rows(%x: tensor<?x1xf32>, %d: tensor<?x1xf32>) -> tensor<?x1xf32>
    attributes {test.steps = [
    {args = [dense<0.5> : tensor<2x1xf32>, dense<0.5> : tensor<3x1xf32>]}]} {
  // expected-error @+1 {{'llm.residual_add' needs operands of one shape, they are [2, 1] and [3, 1]}}
  %y = llm.residual_add %x, %d : tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// -----

func.func @select(%x: tensor<?x1xf32>, %batch: !llm.batch) -> tensor<?x1xf32>
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>], args = [dense<0.5> : tensor<2x1xf32>, "batch"]}]} {
  // expected-error @+1 {{'llm.select_rows' needs a row for each of the batch's 3 tokens, the input is [2, 1]}}
  %y = llm.select_rows %x, %batch : tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}

// -----

// expected-error @+1 {{'func.func' argument 0: output row 3 is outside of the 3 tokens}}
func.func @output_row(%batch: !llm.batch) attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>], outputs = array<i64: 3>, args = ["batch"]}]} {
  return
}

// -----

// expected-error @+1 {{'func.func' argument 0: the shape is [2, 3], the type tensor<?x4xf32>}}
func.func @argument(%x: tensor<?x4xf32>) attributes {test.steps = [
    {args = [dense<0.5> : tensor<2x3xf32>]}]} {
  return
}

// -----

module attributes {test.weights = {"layers.1.w" = dense<0.5> : tensor<3xf32>}} {
llm.weight_family @w "layers.{i}.w" layers [0, 4] : !llm.weight<[2], #llm.dense<f32>>
func.func @layer(%i: index, %x: tensor<?x2xf32>) -> tensor<?x2xf32> {
  // expected-error @+1 {{'llm.param' the tensor 'layers.1.w' has shape [3], the program's weight [2], in @layer of layer 1}}
  %w = llm.param @w[%i] : !llm.weight<[2], #llm.dense<f32>>
  return %x : tensor<?x2xf32>
}
func.func @shape(%x: tensor<?x2xf32>) -> tensor<?x2xf32> attributes {test.steps = [
    {args = [dense<0.5> : tensor<1x2xf32>]}]} {
  %y = llm.repeat [@layer] from 1 count 1 (%x) : (tensor<?x2xf32>)
  return %y : tensor<?x2xf32>
}
}

// -----

llm.weight_family @w "layers.{i}.w" layers [0, 4] : !llm.weight<[2], #llm.dense<f32>>
func.func @layer(%i: index, %x: tensor<?x2xf32>) -> tensor<?x2xf32> attributes {test.steps = [
    {args = [2 : index, dense<0.5> : tensor<1x2xf32>]}]} {
  // expected-error @+1 {{'llm.param' there is no tensor 'layers.2.w'}}
  %w = llm.param @w[%i] : !llm.weight<[2], #llm.dense<f32>>
  return %x : tensor<?x2xf32>
}

// -----

llm.weight_family @w "layers.{i}.w" layers [0, 4] : !llm.weight<[2], #llm.dense<f32>>
func.func @layer(%i: index) attributes {test.steps = [{args = [4 : index]}]} {
  // expected-error @+1 {{'llm.param' asks for layer 4, which is not one of @w}}
  %w = llm.param @w[%i] : !llm.weight<[2], #llm.dense<f32>>
  return
}

// -----

func.func @gap(%k: tensor<?x1x1xf32>, %batch: !llm.batch,
    %c: !llm.cache<paged, [1, 1, 1], f32>) attributes {test.steps = [
    {batch = [array<i64: 5, 0, 1>], args = [dense<0.5> : tensor<1x1x1xf32>, "batch", "state"]},
    {batch = [array<i64: 5, 2, 1>], args = [dense<0.5> : tensor<1x1x1xf32>, "batch", "state"]}]} {
  // expected-error @+1 {{'llm.kv_append' appends at position 2 of sequence 5, whose state holds 1 positions}}
  %c1 = llm.kv_append %k, %k, %c, %batch : tensor<?x1x1xf32>, tensor<?x1x1xf32>,
      !llm.cache<paged, [1, 1, 1], f32>
  return
}

// -----

func.func @gap_of_entries(%e: tensor<?x1xf32>, %batch: !llm.batch,
    %c: !llm.cache<entries, [2, 1, 1], f32>) attributes {test.steps = [
    {batch = [array<i64: 5, 0, 1>], args = [dense<0.5> : tensor<1x1xf32>, "batch", "state"]},
    {batch = [array<i64: 5, 2, 1>], args = [dense<0.5> : tensor<1x1xf32>, "batch", "state"]}]} {
  // expected-error @+1 {{'llm.entry_append' appends at position 2 of sequence 5, whose state holds 1 positions}}
  %c1 = llm.entry_append %e, %c, %batch : tensor<?x1xf32>, !llm.cache<entries, [2, 1, 1], f32>
  return
}

// -----

func.func @unwritten(%q: tensor<?x1x1xf32>, %batch: !llm.batch,
    %c: !llm.cache<paged, [1, 1, 1], f32>) -> tensor<?x1x1xf32> attributes {test.steps = [
    {batch = [array<i64: 5, 0, 1>], args = [dense<0.5> : tensor<1x1x1xf32>, "batch", "state"]}]} {
  // expected-error @+1 {{'llm.paged_attention' attends from position 0 of sequence 5, whose state holds 0 positions}}
  %y = llm.paged_attention %q, %c, %batch scale 1.0
      : tensor<?x1x1xf32>, !llm.cache<paged, [1, 1, 1], f32> -> tensor<?x1x1xf32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @overwritten(%k: tensor<?x1x1xf32>, %batch: !llm.batch,
    %c: !llm.cache<paged, [1, 1, 1], f32>) -> tensor<?x1x1xf32> attributes {test.steps = [
    {batch = [array<i64: 5, 0, 1>], args = [dense<0.5> : tensor<1x1x1xf32>, "batch", "state"]}]} {
  %c1 = llm.kv_append %k, %k, %c, %batch : tensor<?x1x1xf32>, tensor<?x1x1xf32>,
      !llm.cache<paged, [1, 1, 1], f32>
  // expected-error @+1 {{'llm.paged_attention' uses the state 'argument 2' as it was before a later append}}
  %y = llm.paged_attention %k, %c, %batch scale 1.0
      : tensor<?x1x1xf32>, !llm.cache<paged, [1, 1, 1], f32> -> tensor<?x1x1xf32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @no_rule(%i: index) attributes {test.steps = [{args = [1 : index]}]} {
  // expected-error @+1 {{'arith.addi' has no rule in the reference evaluator}}
  %j = arith.addi %i, %i : index
  return
}

// -----

// expected-error @+1 {{'func.func' @forever calls itself}}
func.func @forever(%i: index) attributes {test.steps = [{args = [1 : index]}]} {
  func.call @forever(%i) : (index) -> ()
  return
}

// -----

func.func @position(%batch: !llm.batch, %table: !llm.weight<[4, 1], #llm.dense<f32>>)
    -> tensor<?x1xf32> attributes {test.steps = [
    {batch = [array<i64: 0, 2, 2>], args = ["batch", dense<0.5> : tensor<4x1xf32>]}]} {
  // expected-error @+1 {{'llm.position_embedding' position 3 needs row 4 of the table, which has 4; give at most 3 tokens}}
  %y = llm.position_embedding %batch, %table offset 1
      : !llm.weight<[4, 1], #llm.dense<f32>> -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
