// RUN: llmc-opt %s --test-evaluate-function --split-input-file --verify-diagnostics -o /dev/null

// A state of all tokens so far cannot go back: a sequence goes on at its end or begins anew.

func.func @ahead(%x: tensor<?x1xf32>, %w: !llm.weight<[1, 2], #llm.dense<f32>>,
    %s: !llm.cache<conv, [1, 1], f32>, %batch: !llm.batch) -> tensor<?x1xf32>
    attributes {test.steps = [
    {batch = [array<i64: 4, 2, 1>],
     args = [dense<0.5> : tensor<1x1xf32>, dense<0.5> : tensor<1x2xf32>, "state", "batch"]}]} {
  // expected-error @+1 {{'llm.causal_conv' goes on at position 2 of sequence 4, whose state is that of its first 0 tokens; begin at 0 or go on at the end}}
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x1xf32>,
      !llm.weight<[1, 2], #llm.dense<f32>>, !llm.cache<conv, [1, 1], f32>
  return %y : tensor<?x1xf32>
}

// -----

func.func @back(%k: tensor<?x1x1xf32>, %g: tensor<?x1xf32>,
    %s: !llm.cache<recurrent, [1, 1, 1], f32>, %batch: !llm.batch) -> tensor<?x1x1xf32>
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>],
     args = [dense<0.5> : tensor<3x1x1xf32>, dense<-0.5> : tensor<3x1xf32>, "state", "batch"]},
    {batch = [array<i64: 0, 2, 1>],
     args = [dense<0.5> : tensor<1x1x1xf32>, dense<-0.5> : tensor<1x1xf32>, "state", "batch"]}]} {
  // expected-error @+1 {{'llm.linear_attention' goes on at position 2 of sequence 0, whose state is that of its first 3 tokens}}
  %y, %t = llm.linear_attention %k, %k, %k, %g, %s, %batch scale 1.0 : tensor<?x1x1xf32>,
      tensor<?x1x1xf32>, tensor<?x1xf32>, !llm.cache<recurrent, [1, 1, 1], f32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @rows(%k: tensor<?x1x1xf32>, %g: tensor<?x1xf32>,
    %s: !llm.cache<recurrent, [1, 1, 1], f32>, %batch: !llm.batch) -> tensor<?x1x1xf32>
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 3>],
     args = [dense<0.5> : tensor<2x1x1xf32>, dense<-0.5> : tensor<2x1xf32>, "state", "batch"]}]} {
  // expected-error @+1 {{'llm.linear_attention' needs a row for each of the batch's 3 tokens, the operand has 2}}
  %y, %t = llm.linear_attention %k, %k, %k, %g, %s, %batch scale 1.0 : tensor<?x1x1xf32>,
      tensor<?x1x1xf32>, tensor<?x1xf32>, !llm.cache<recurrent, [1, 1, 1], f32>
  return %y : tensor<?x1x1xf32>
}

// -----

func.func @later(%x: tensor<?x1xf32>, %w: !llm.weight<[1, 2], #llm.dense<f32>>,
    %s: !llm.cache<conv, [1, 1], f32>, %batch: !llm.batch) -> tensor<?x1xf32>
    attributes {test.steps = [
    {batch = [array<i64: 0, 0, 1>],
     args = [dense<0.5> : tensor<1x1xf32>, dense<0.5> : tensor<1x2xf32>, "state", "batch"]}]} {
  %y, %t = llm.causal_conv %x, %w, %s, %batch : tensor<?x1xf32>,
      !llm.weight<[1, 2], #llm.dense<f32>>, !llm.cache<conv, [1, 1], f32>
  // expected-error @+1 {{as it was before a later change}}
  %z, %u = llm.causal_conv %y, %w, %s, %batch : tensor<?x1xf32>,
      !llm.weight<[1, 2], #llm.dense<f32>>, !llm.cache<conv, [1, 1], f32>
  return %z : tensor<?x1xf32>
}
