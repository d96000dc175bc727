// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @embedding_c1_table_rank(%tokens: tensor<?xi32>, %table: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{table must have rank 2 but has rank 1}}
  %x = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  return
}

// -----

func.func @embedding_c2_width(%tokens: tensor<?xi32>, %table: !llm.weight<[256, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 1 (32) must equal table dimension 1 (64)}}
  %x = llm.embedding %tokens, %table : tensor<?xi32>, !llm.weight<[256, 64], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @embedding_c2_rows(%tokens: tensor<7xi32>, %table: !llm.weight<[256, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 0 (8) must equal tokens dimension 0 (7)}}
  %x = llm.embedding %tokens, %table : tensor<7xi32>, !llm.weight<[256, 64], #llm.dense<f32>> -> tensor<8x64xf32>
  return
}

// -----

func.func @select_rows_c1(%x: tensor<?x64xf32>, %batch: !llm.batch) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %y = "llm.select_rows"(%x, %batch) : (tensor<?x64xf32>, !llm.batch) -> tensor<?x32xf32>
  return
}

// -----

func.func @output_head_c1_columns(%x: tensor<?x64xf32>, %w: !llm.weight<[256, 32], #llm.dense<f32>>) {
  // expected-error @+1 {{weight dimension 1 (32) must equal input dimension 1 (64)}}
  %y = llm.output_head %x, %w : tensor<?x64xf32>, !llm.weight<[256, 32], #llm.dense<f32>> -> tensor<?x256xf32>
  return
}

// -----

func.func @output_head_c2_rows(%x: tensor<?x64xf32>, %w: !llm.weight<[256, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{result dimension 1 (128) must equal weight dimension 0 (256)}}
  %y = llm.output_head %x, %w : tensor<?x64xf32>, !llm.weight<[256, 64], #llm.dense<f32>> -> tensor<?x128xf32>
  return
}

// -----

func.func @position_embedding_c1(%table: !llm.weight<[64], #llm.dense<f32>>, %batch: !llm.batch) {
  // expected-error @+1 {{table must have rank 2 but has rank 1}}
  %x = llm.position_embedding %batch, %table : !llm.weight<[64], #llm.dense<f32>> -> tensor<?x64xf32>
  return
}

// -----

func.func @position_embedding_c2(%table: !llm.weight<[34, 64], #llm.dense<f32>>, %batch: !llm.batch) {
  // expected-error @+1 {{result dimension 1 (32) must equal table dimension 1 (64)}}
  %x = llm.position_embedding %batch, %table : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x32xf32>
  return
}

// -----

func.func @position_embedding_c3(%table: !llm.weight<[34, 64], #llm.dense<f32>>, %batch: !llm.batch) {
  // expected-error @+1 {{offset (34) must be a row of the table, of which there are 34}}
  %x = llm.position_embedding %batch, %table offset 34 : !llm.weight<[34, 64], #llm.dense<f32>> -> tensor<?x64xf32>
  return
}

// -----

func.func @embedding_c3(%t: tensor<?xi32>, %w: !llm.weight<[8, 4], #llm.dense<f32>>) {
  // expected-error @+1 {{row 8 of other tokens is none of the table's, of which there are 8}}
  %y = llm.embedding %t, %w otherwise 8 : tensor<?xi32>, !llm.weight<[8, 4], #llm.dense<f32>> -> tensor<?x4xf32>
  return
}
