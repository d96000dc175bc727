// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @route_c1_rank(%l: tensor<?x4x2xf32>) {
  // expected-error @+1 {{logits must have rank 2 but has rank 3}}
  %c, %w = llm.route softmax %l top 2 : (tensor<?x4x2xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c1_weights(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{weights dimension 1 (3) must be top (2)}}
  %c, %w = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @route_c1_choice(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{choice dimension 1 (3) must equal weights dimension 1 (2)}}
  %c, %w = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c1_rows(%l: tensor<5x8xf32>) {
  // expected-error @+1 {{weights dimension 0 (4) must equal logits dimension 0 (5)}}
  %c, %w = llm.route softmax %l top 2 : (tensor<5x8xf32>) -> (tensor<4x2xi32>, tensor<4x2xf32>)
  return
}

// -----

func.func @route_c1_experts(%l: tensor<?x?xf32>) {
  // expected-error @+1 {{logits dimension 1 (?) must be the number of experts}}
  %c, %w = llm.route softmax %l top 2 : (tensor<?x?xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c2(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{top (9) must be from 1 to the 8 experts}}
  %c, %w = llm.route softmax %l top 9 : (tensor<?x8xf32>) -> (tensor<?x9xi32>, tensor<?x9xf32>)
  return
}

// -----

func.func @route_c2_none(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{top (0) must be from 1 to the 8 experts}}
  %c, %w = llm.route softmax %l top 0 : (tensor<?x8xf32>) -> (tensor<?x0xi32>, tensor<?x0xf32>)
  return
}

// -----

func.func @route_c3(%l: tensor<?x8xf32>, %b: !llm.weight<[7], #llm.dense<f32>>) {
  // expected-error @+1 {{bias dimension 0 (7) must equal logits dimension 1 (8)}}
  %c, %w = llm.route softmax %l bias %b top 2 : (tensor<?x8xf32>, !llm.weight<[7], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c4_divide(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{groups (3) must divide the 8 experts}}
  %c, %w = llm.route softmax %l groups 3 keep 2 by max top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c4_zero(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{groups (0) must divide the 8 experts}}
  %c, %w = llm.route softmax %l groups 0 keep 2 by max top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c4_keep(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{keep (5) must be from 1 to the 4 groups}}
  %c, %w = llm.route softmax %l groups 4 keep 5 by max top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c4_top(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{top (3) must not exceed the 2 experts of the 1 groups that are kept}}
  %c, %w = llm.route softmax %l groups 4 keep 1 by max top 3 : (tensor<?x8xf32>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// -----

func.func @route_c4_two(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{the score top2 needs two experts a group, there is 1}}
  %c, %w = llm.route softmax %l groups 8 keep 4 by top2 top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c4_together(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{needs groups, keep and the group's score together, or none of them}}
  %c, %w = "llm.route"(%l) <{score = #llm<route_score softmax>, top = 2 : i64, groups = 4 : i64, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c5(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{scale must be finite but is +Inf}}
  %c, %w = llm.route softmax %l top 2 scale 0x7FF0000000000000 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c6(%l: tensor<?x8xf32>, %s: !llm.weight<[9], #llm.dense<f32>>) {
  // expected-error @+1 {{expert scale dimension 0 (9) must equal logits dimension 1 (8)}}
  %c, %w = llm.route softmax %l top 2 times %s : (tensor<?x8xf32>, !llm.weight<[9], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c7_top(%l: tensor<?x8xf32>, %t: !llm.weight<[9, 3], #llm.dense<f32>>, %k: tensor<?xi32>) {
  // expected-error @+1 {{table dimension 1 (3) must equal weights dimension 1 (2)}}
  %c, %w = llm.route softmax %l table %t of %k top 2 : (tensor<?x8xf32>, !llm.weight<[9, 3], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c7_bias(%l: tensor<?x8xf32>, %b: !llm.weight<[8], #llm.dense<f32>>, %t: !llm.weight<[9, 2], #llm.dense<f32>>, %k: tensor<?xi32>) {
  // expected-error @+1 {{has a table, which leaves nothing to choose by bias or groups}}
  %c, %w = llm.route softmax %l bias %b table %t of %k top 2 : (tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>, !llm.weight<[9, 2], #llm.dense<f32>>, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c7_rows(%l: tensor<5x8xf32>, %t: !llm.weight<[9, 2], #llm.dense<f32>>, %k: tensor<4xi32>) {
  // expected-error @+1 {{tokens dimension 0 (4) must equal logits dimension 0 (5)}}
  %c, %w = llm.route softmax %l table %t of %k top 2 : (tensor<5x8xf32>, !llm.weight<[9, 2], #llm.dense<f32>>, tensor<4xi32>) -> (tensor<5x2xi32>, tensor<5x2xf32>)
  return
}

// -----

func.func @route_c8_alone(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{needs 'normalise margin' and what is within it together, or neither}}
  %c, %w = llm.route identity %l top 2 normalise margin : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c8_without(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{needs 'normalise margin' and what is within it together, or neither}}
  %c, %w = llm.route identity %l top 2 normalise sum within 0.02 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c8_negative(%l: tensor<?x8xf32>) {
  // expected-error @+1 {{margin must be finite and positive but is -0.02}}
  %c, %w = llm.route identity %l top 2 normalise margin within -0.02 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c8_bias(%l: tensor<?x8xf32>, %b: !llm.weight<[8], #llm.dense<f32>>) {
  // expected-error @+1 {{it comes without bias, groups and table}}
  %c, %w = llm.route identity %l bias %b top 2 normalise margin within 0.02 : (tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @route_c7_tokens(%l: tensor<?x8xf32>, %t: !llm.weight<[9, 2], #llm.dense<f32>>) {
  // expected-error @+1 {{needs a table and the tokens together, or neither}}
  %c, %w = "llm.route"(%l, %t) <{score = #llm<route_score softmax>, top = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 1, 0, 0>}> : (tensor<?x8xf32>, !llm.weight<[9, 2], #llm.dense<f32>>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// -----

func.func @expert_linear_c1_rank(%x: tensor<?x2x4x4xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{input must have rank 2 or 3 but has rank 4}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x2x4x4xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c1_chosen(%x: tensor<?x3x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{input dimension 1 (3) must equal choice dimension 1 (2)}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x3x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c1_rows(%x: tensor<5x16xf32>, %c: tensor<4x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{input dimension 0 (5) must equal choice dimension 0 (4)}}
  %y = llm.expert_linear %x, %c, %w : (tensor<5x16xf32>, tensor<4x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c2_rank(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{weight must have rank 3 but has rank 2}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[32, 16], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c2(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 24], #llm.dense<f32>>) {
  // expected-error @+1 {{weight dimension 2 (24) must equal input dimension 1 (16)}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 24], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c3(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 2 (16) must equal weight dimension 1 (32)}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>) -> tensor<?x2x16xf32>
  return
}

// -----

func.func @expert_linear_c3_chosen(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 1 (3) must equal choice dimension 1 (2)}}
  %y = llm.expert_linear %x, %c, %w : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>) -> tensor<?x3x32xf32>
  return
}

// -----

func.func @expert_linear_c4(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>, %b: !llm.weight<[7, 32], #llm.dense<f32>>) {
  // expected-error @+1 {{bias dimension 0 (7) must equal weight dimension 0 (8)}}
  %y = llm.expert_linear %x, %c, %w bias %b : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>, !llm.weight<[7, 32], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_linear_c4_rank(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: !llm.weight<[8, 32, 16], #llm.dense<f32>>, %b: !llm.weight<[32], #llm.dense<f32>>) {
  // expected-error @+1 {{bias must have rank 2 but has rank 1}}
  %y = llm.expert_linear %x, %c, %w bias %b : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<f32>>, !llm.weight<[32], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  return
}

// -----

func.func @expert_sum_c1_rank(%x: tensor<?x16xf32>) {
  // expected-error @+1 {{input must have rank 3 but has rank 2}}
  %y = llm.expert_sum %x : (tensor<?x16xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @expert_sum_c1(%x: tensor<?x2x16xf32>) {
  // expected-error @+1 {{result dimension 1 (32) must equal input dimension 2 (16)}}
  %y = llm.expert_sum %x : (tensor<?x2x16xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @expert_sum_c2(%x: tensor<?x2x16xf32>, %w: tensor<?x3xf32>) {
  // expected-error @+1 {{weights dimension 1 (3) must equal input dimension 1 (2)}}
  %y = llm.expert_sum %x by %w : (tensor<?x2x16xf32>, tensor<?x3xf32>) -> tensor<?x16xf32>
  return
}

// -----

func.func @expert_spread_c1(%x: tensor<?x2x8xf32>, %w: tensor<?x2xf32>) {
  // expected-error @+1 {{input must have rank 2 but has rank 3}}
  %y = llm.expert_spread %x by %w : (tensor<?x2x8xf32>, tensor<?x2xf32>) -> tensor<?x2x16xf32>
  return
}

// -----

func.func @expert_spread_c1_rows(%x: tensor<5x16xf32>, %w: tensor<4x2xf32>) {
  // expected-error @+1 {{weights dimension 0 (4) must equal input dimension 0 (5)}}
  %y = llm.expert_spread %x by %w : (tensor<5x16xf32>, tensor<4x2xf32>) -> tensor<?x2x16xf32>
  return
}

// -----

func.func @expert_spread_c2(%x: tensor<?x16xf32>, %w: tensor<?x2xf32>) {
  // expected-error @+1 {{result dimension 1 (3) must equal weights dimension 1 (2)}}
  %y = llm.expert_spread %x by %w : (tensor<?x16xf32>, tensor<?x2xf32>) -> tensor<?x3x16xf32>
  return
}

// -----

func.func @expert_spread_c2_width(%x: tensor<?x16xf32>, %w: tensor<?x2xf32>) {
  // expected-error @+1 {{result dimension 2 (8) must equal input dimension 1 (16)}}
  %y = llm.expert_spread %x by %w : (tensor<?x16xf32>, tensor<?x2xf32>) -> tensor<?x2x8xf32>
  return
}
