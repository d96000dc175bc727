// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @linear_c1_rank(%x: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{weight must have rank 2 but has rank 1}}
  %y = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  return
}

// -----

func.func @linear_c1_columns(%x: tensor<?x64xf32>, %w: !llm.weight<[32, 48], #llm.dense<f32>>) {
  // expected-error @+1 {{weight dimension 1 (48) must equal input dimension 1 (64)}}
  %y = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[32, 48], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_c1_heads(%x: tensor<?x2x32xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{input must have rank 2 but has rank 3}}
  %y = llm.linear %x, %w : tensor<?x2x32xf32>, !llm.weight<[32, 64], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_c1_dynamic_width(%x: tensor<?x?xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{weight dimension 1 (64) must equal input dimension 1 (?)}}
  %y = llm.linear %x, %w : tensor<?x?xf32>, !llm.weight<[32, 64], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_c2_width(%x: tensor<?x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 1 (64) must equal weight dimension 0 (32)}}
  %y = llm.linear %x, %w : tensor<?x64xf32>, !llm.weight<[32, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  return
}

// -----

func.func @linear_c2_rows(%x: tensor<3x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 0 (4) must equal input dimension 0 (3)}}
  %y = llm.linear %x, %w : tensor<3x64xf32>, !llm.weight<[32, 64], #llm.dense<f32>> -> tensor<4x32xf32>
  return
}

// -----

func.func @linear_c3_bias(%x: tensor<?x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>, %b: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{bias dimension 0 (64) must equal weight dimension 0 (32)}}
  %y = llm.linear %x, %w bias %b : tensor<?x64xf32>, !llm.weight<[32, 64], #llm.dense<f32>>, !llm.weight<[64], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @linear_c3_bias_rank(%x: tensor<?x64xf32>, %w: !llm.weight<[32, 64], #llm.dense<f32>>, %b: !llm.weight<[1, 32], #llm.dense<f32>>) {
  // expected-error @+1 {{bias must have rank 1 but has rank 2}}
  %y = llm.linear %x, %w bias %b : tensor<?x64xf32>, !llm.weight<[32, 64], #llm.dense<f32>>, !llm.weight<[1, 32], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}
