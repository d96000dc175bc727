// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @binary_c1(%x: tensor<?x2x2x2xf32>) {
  // expected-error @+1 {{lhs must have rank 2 or 3 but has rank 4}}
  %y = llm.binary add %x, %x : tensor<?x2x2x2xf32>, tensor<?x2x2x2xf32> -> tensor<?x2x2x2xf32>
  return
}

// -----

func.func @binary_c1_dynamic(%x: tensor<?x2xf32>, %z: tensor<?x?xf32>) {
  // expected-error @+1 {{rhs dimension 1 must be static and positive}}
  %y = llm.binary add %x, %z : tensor<?x2xf32>, tensor<?x?xf32> -> tensor<?x2xf32>
  return
}

// -----

func.func @binary_c2(%x: tensor<?x8x64xf32>, %z: tensor<?x64xf32>) {
  // expected-error @+1 {{lhs [?, 8, 64] and rhs [?, 64] do not fit: dimensions must be equal or 1, and a value of rank 2 beside one of rank 3 has one element a head}}
  %y = llm.binary add %x, %z : tensor<?x8x64xf32>, tensor<?x64xf32> -> tensor<?x8x64xf32>
  return
}

// -----

func.func @binary_c2_rows(%x: tensor<3x8xf32>, %z: tensor<4x8xf32>) {
  // expected-error @+1 {{lhs dimension 0 (3) must equal rhs dimension 0 (4)}}
  %y = llm.binary add %x, %z : tensor<3x8xf32>, tensor<4x8xf32> -> tensor<3x8xf32>
  return
}

// -----

func.func @binary_c3(%x: tensor<?x8x64xf32>, %z: tensor<?x8xf32>) {
  // expected-error @+1 {{result must be [?, 8, 64] but is [?, 8, 1]}}
  %y = llm.binary add %z, %x : tensor<?x8xf32>, tensor<?x8x64xf32> -> tensor<?x8x1xf32>
  return
}

// -----

func.func @binary_c3_element(%x: tensor<?x8xf32>, %z: tensor<?x8xbf16>) {
  // expected-error @+1 {{lhs has elements of type 'f32', rhs of type 'bf16'}}
  %y = llm.binary add %x, %z : tensor<?x8xf32>, tensor<?x8xbf16> -> tensor<?x8xf32>
  return
}

// -----

func.func @binary_name(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'plus' is not arithmetic of two values: expected add, sub, mul, div, min or max}}
  %y = llm.binary plus %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @weight_rows_c1(%w: !llm.weight<[2, 4, 8], #llm.dense<f32>>, %b: !llm.batch) {
  // expected-error @+1 {{weight must have rank 1 or 2 but has rank 3}}
  %y = llm.weight_rows %w, %b : !llm.weight<[2, 4, 8], #llm.dense<f32>> -> tensor<?x2x4x8xf32>
  return
}

// -----

func.func @weight_rows_c2(%w: !llm.weight<[8], #llm.dense<f32>>, %b: !llm.batch) {
  // expected-error @+1 {{result must be [?, ...] of the weight [8] but is [?, 4]}}
  %y = llm.weight_rows %w, %b : !llm.weight<[8], #llm.dense<f32>> -> tensor<?x4xf32>
  return
}

// -----

func.func @offset_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.offset"(%x) <{term = 2.0 : f64}> : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @offset_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{term must be finite but is +Inf}}
  %y = llm.offset %x by 0x7FF0000000000000 : tensor<?x8xf32>
  return
}

// -----

func.func @clamp_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.clamp"(%x) <{low = 2.0 : f64}> : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @clamp_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{needs a bound, min or max}}
  %y = llm.clamp %x : tensor<?x8xf32>
  return
}

// -----

func.func @clamp_c2_order(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{min (2.000000e+00) must be at most max (1.000000e+00)}}
  %y = llm.clamp %x min 2.0 max 1.0 : tensor<?x8xf32>
  return
}

// -----

func.func @clamp_c2_finite(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{max must be finite but is +Inf}}
  %y = llm.clamp %x max 0x7FF0000000000000 : tensor<?x8xf32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.softmax"(%x) : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @row_stat_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{result must be [?, 1] but is [?, 8]}}
  %y = llm.row_stat mean %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @row_stat_name(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{'median' is not a number of a row: expected mean, deviation, sum or max}}
  %y = llm.row_stat median %x : tensor<?x8xf32> -> tensor<?x1xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{result must be [?, 4] but is [?, 5]}}
  %y = llm.slice %x from 2 size 4 : tensor<?x8xf32> -> tensor<?x5xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{elements from 6 on, 4 of them, do not lie in the input's last dimension (8)}}
  %y = llm.slice %x from 6 size 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @slice_c2_overflow(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{elements from 9223372036854775807 on, 4 of them, do not lie in the input's last dimension (8)}}
  %y = llm.slice %x from 9223372036854775807 size 4 : tensor<?x8xf32> -> tensor<?x4xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<?x2x8xf32>, %z: tensor<?x3x8xf32>) {
  // expected-error @+1 {{input 0 'tensor<?x2x8xf32>' and input 1 'tensor<?x3x8xf32>' must agree in all but the last dimension}}
  %y = llm.concat %x, %z : tensor<?x2x8xf32>, tensor<?x3x8xf32> -> tensor<?x2x16xf32>
  return
}

// -----

func.func @concat_c1_none() {
  // expected-error @+1 {{needs an input}}
  %y = "llm.concat"() : () -> tensor<?x8xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{result must be [?, 16] but is [?, 15]}}
  %y = llm.concat %x, %x : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x15xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{input must have rank 3 but has rank 2}}
  %y = llm.transpose %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @transpose_c2(%x: tensor<?x2x8xf32>) {
  // expected-error @+1 {{result must be [?, 8, 2] but is [?, 2, 8]}}
  %y = llm.transpose %x : tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @take_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{input must have rank 3 but has rank 2}}
  %y = llm.take %x[0] : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @take_c2(%x: tensor<?x2x8xf32>) {
  // expected-error @+1 {{result must be [?, 8] but is [?, 2]}}
  %y = llm.take %x[0] : tensor<?x2x8xf32> -> tensor<?x2xf32>
  return
}

// -----

func.func @take_c3(%x: tensor<?x2x8xf32>) {
  // expected-error @+1 {{number 2 is none of the input's, of which there are 2}}
  %y = llm.take %x[2] : tensor<?x2x8xf32> -> tensor<?x8xf32>
  return
}

// -----

func.func @put_c1(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{input must have rank 3 but has rank 2}}
  %y = llm.put %x[0], %x : tensor<?x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @put_c2(%x: tensor<?x2x8xf32>, %z: tensor<?x4xf32>) {
  // expected-error @+1 {{row dimension 1 (4) must equal input dimension 2 (8)}}
  %y = llm.put %x[0], %z : tensor<?x2x8xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @put_c3(%x: tensor<?x2x8xf32>, %z: tensor<?x8xf32>) {
  // expected-error @+1 {{number -1 is none of the input's, of which there are 2}}
  %y = llm.put %x[-1], %z : tensor<?x2x8xf32>, tensor<?x8xf32>
  return
}

// -----

func.func @mix_c1(%c: tensor<?x4x3xf32>, %x: tensor<?x2x8xf32>) {
  // expected-error @+1 {{coefficients dimension 2 (3) must equal input dimension 1 (2)}}
  %y = llm.mix %c, %x : tensor<?x4x3xf32>, tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  return
}

// -----

func.func @mix_c2(%c: tensor<?x4x2xf32>, %x: tensor<?x2x8xf32>) {
  // expected-error @+1 {{result must be [?, 4, 8] but is [?, 2, 8]}}
  %y = llm.mix %c, %x : tensor<?x4x2xf32>, tensor<?x2x8xf32> -> tensor<?x2x8xf32>
  return
}

// -----

func.func @position_scale_c1(%b: !llm.batch) {
  // expected-error @+1 {{result must be [?, 1] but is [?, 2]}}
  %y = llm.position_scale %b scale 0.1 period 8 : tensor<?x2xf32>
  return
}

// -----

func.func @position_scale_c2(%b: !llm.batch) {
  // expected-error @+1 {{period must be positive but is 0}}
  %y = llm.position_scale %b scale 0.1 period 0 : tensor<?x1xf32>
  return
}

// -----

func.func @position_scale_c2_shift(%b: !llm.batch) {
  // expected-error @+1 {{shift must not be negative but is -1}}
  %y = llm.position_scale %b scale 0.1 period 8 shift -1 : tensor<?x1xf32>
  return
}

// -----

func.func @position_scale_c2_scale(%b: !llm.batch) {
  // expected-error @+1 {{scale must be finite but is +Inf}}
  %y = llm.position_scale %b scale 0x7FF0000000000000 period 8 : tensor<?x1xf32>
  return
}
