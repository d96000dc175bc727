// RUN: llmc-opt %s --llm-verify-model -split-input-file -verify-diagnostics

// Where the choice of an expert_linear comes from.

!experts = !llm.weight<[4, 16, 16], #llm.dense<f32>>

func.func @step(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !experts) -> tensor<?x2x16xf32> attributes {llm.entry} {
  // expected-error @+1 {{needs a choice that an llm.route of its function made}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !experts) -> tensor<?x2x16xf32>
  return %y : tensor<?x2x16xf32>
}

// -----

!experts = !llm.weight<[4, 16, 16], #llm.dense<f32>>

func.func @step(%x: tensor<?x16xf32>, %l: tensor<?x8xf32>, %w: !experts) -> tensor<?x2x16xf32> attributes {llm.entry} {
  %c, %p = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // expected-error @+1 {{has a weight of 4 experts and a choice from 8}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !experts) -> tensor<?x2x16xf32>
  return %y : tensor<?x2x16xf32>
}

// -----

// Through a fusion, in and out of it.

!experts = !llm.weight<[4, 16, 16], #llm.dense<f32>>

func.func @step(%x: tensor<?x16xf32>, %l: tensor<?x8xf32>, %w: !experts) -> tensor<?x2x16xf32> attributes {llm.entry} {
  %c = llm.fusion "choose" (%l) : (tensor<?x8xf32>) -> (tensor<?x2xi32>) {
  ^bb0(%a: tensor<?x8xf32>):
    %d, %p = llm.route softmax %a top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
    llm.yield %d : tensor<?x2xi32>
  }
  %y = llm.fusion "experts" (%x, %c, %w) : (tensor<?x16xf32>, tensor<?x2xi32>, !experts) -> (tensor<?x2x16xf32>) {
  ^bb0(%a: tensor<?x16xf32>, %d: tensor<?x2xi32>, %m: !experts):
    // expected-error @+1 {{has a weight of 4 experts and a choice from 8}}
    %z = llm.expert_linear %a, %d, %m : (tensor<?x16xf32>, tensor<?x2xi32>, !experts) -> tensor<?x2x16xf32>
    llm.yield %z : tensor<?x2x16xf32>
  }
  return %y : tensor<?x2x16xf32>
}
