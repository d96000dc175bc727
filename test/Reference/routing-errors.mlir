// RUN: llmc-opt %s --test-evaluate-function --split-input-file --verify-diagnostics -o /dev/null

// What types do not say of routers and experts.

func.func @expert(%x: tensor<?x1xf32>, %c: tensor<?x1xi32>, %w: !llm.weight<[2, 1, 1], #llm.dense<f32>>)
    -> tensor<?x1x1xf32> attributes {test.steps = [
    {args = [dense<0.5> : tensor<2x1xf32>, dense<[[1], [2]]> : tensor<2x1xi32>,
             dense<0.5> : tensor<2x1x1xf32>]}]} {
  // expected-error @+1 {{'llm.expert_linear' row 1 goes to expert 2, there are 2}}
  %y = llm.expert_linear %x, %c, %w
      : (tensor<?x1xf32>, tensor<?x1xi32>, !llm.weight<[2, 1, 1], #llm.dense<f32>>) -> tensor<?x1x1xf32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @negative(%x: tensor<?x1xf32>, %c: tensor<?x1xi32>, %w: !llm.weight<[2, 1, 1], #llm.dense<f32>>)
    -> tensor<?x1x1xf32> attributes {test.steps = [
    {args = [dense<0.5> : tensor<1x1xf32>, dense<-1> : tensor<1x1xi32>,
             dense<0.5> : tensor<2x1x1xf32>]}]} {
  // expected-error @+1 {{'llm.expert_linear' row 0 goes to expert -1, there are 2}}
  %y = llm.expert_linear %x, %c, %w
      : (tensor<?x1xf32>, tensor<?x1xi32>, !llm.weight<[2, 1, 1], #llm.dense<f32>>) -> tensor<?x1x1xf32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @choices(%x: tensor<?x1xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[2, 1, 1], #llm.dense<f32>>)
    -> tensor<?x2x1xf32> attributes {test.steps = [
    {args = [dense<0.5> : tensor<3x1xf32>, dense<0> : tensor<2x2xi32>,
             dense<0.5> : tensor<2x1x1xf32>]}]} {
  // expected-error @+1 {{'llm.expert_linear' needs a choice for each row; the input is [3, 1], there are 2}}
  %y = llm.expert_linear %x, %c, %w
      : (tensor<?x1xf32>, tensor<?x2xi32>, !llm.weight<[2, 1, 1], #llm.dense<f32>>) -> tensor<?x2x1xf32>
  return %y : tensor<?x2x1xf32>
}

// -----

func.func @table(%l: tensor<?x2xf32>, %t: !llm.weight<[3, 1], #llm.dense<f32>>, %k: tensor<?xi32>)
    -> (tensor<?x1xi32>, tensor<?x1xf32>) attributes {test.steps = [
    {args = [dense<0.5> : tensor<1x2xf32>, dense<[[0.0], [0.5], [2.0]]> : tensor<3x1xf32>,
             dense<1> : tensor<1xi32>]}]} {
  // expected-error @+1 {{'llm.route' the table's row 1 names expert 0.500000, there are 2}}
  %c, %w = llm.route softmax %l table %t of %k top 1
      : (tensor<?x2xf32>, !llm.weight<[3, 1], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return %c, %w : tensor<?x1xi32>, tensor<?x1xf32>
}

// -----

func.func @token(%l: tensor<?x2xf32>, %t: !llm.weight<[3, 1], #llm.dense<f32>>, %k: tensor<?xi32>)
    -> (tensor<?x1xi32>, tensor<?x1xf32>) attributes {test.steps = [
    {args = [dense<0.5> : tensor<1x2xf32>, dense<0.0> : tensor<3x1xf32>, dense<3> : tensor<1xi32>]}]} {
  // expected-error @+1 {{'llm.route' token 3 is outside of the table of 3 rows}}
  %c, %w = llm.route softmax %l table %t of %k top 1
      : (tensor<?x2xf32>, !llm.weight<[3, 1], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return %c, %w : tensor<?x1xi32>, tensor<?x1xf32>
}

// -----

func.func @tokens(%l: tensor<?x2xf32>, %t: !llm.weight<[3, 1], #llm.dense<f32>>, %k: tensor<?xi32>)
    -> (tensor<?x1xi32>, tensor<?x1xf32>) attributes {test.steps = [
    {args = [dense<0.5> : tensor<2x2xf32>, dense<0.0> : tensor<3x1xf32>, dense<0> : tensor<1xi32>]}]} {
  // expected-error @+1 {{'llm.route' needs a token for each row; there are 1 tokens and 2 rows}}
  %c, %w = llm.route softmax %l table %t of %k top 1
      : (tensor<?x2xf32>, !llm.weight<[3, 1], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return %c, %w : tensor<?x1xi32>, tensor<?x1xf32>
}

// -----

func.func @nan(%l: tensor<?x2xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>) attributes {test.steps = [
    {args = [dense<[[0.5, 0.5], [0.5, 0x7FC00000]]> : tensor<2x2xf32>]}]} {
  // expected-error @+1 {{'llm.route' a logit of row 1 is not a number}}
  %c, %w = llm.route softmax %l top 1 : (tensor<?x2xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return %c, %w : tensor<?x1xi32>, tensor<?x1xf32>
}

// -----

func.func @sum(%x: tensor<?x1x1xf32>, %p: tensor<?x1xf32>) -> tensor<?x1xf32> attributes {test.steps = [
    {args = [dense<0.5> : tensor<2x1x1xf32>, dense<0.5> : tensor<3x1xf32>]}]} {
  // expected-error @+1 {{'llm.expert_sum' needs weights for each row; the input is [2, 1, 1], the weights [3, 1]}}
  %y = llm.expert_sum %x by %p : (tensor<?x1x1xf32>, tensor<?x1xf32>) -> tensor<?x1xf32>
  return %y : tensor<?x1xf32>
}
