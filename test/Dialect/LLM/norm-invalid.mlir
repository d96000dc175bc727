// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @rms_norm_c1(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %y = "llm.rms_norm"(%x, %s) <{epsilon = 1.0e-5 : f64}> : (tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xbf16>
  return
}

// -----

func.func @rms_norm_c2_width(%x: tensor<?x64xf32>, %s: !llm.weight<[32], #llm.dense<f32>>) {
  // expected-error @+1 {{scale dimension 0 (32) must equal input dimension 1 (64)}}
  %y = llm.rms_norm %x, %s eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[32], #llm.dense<f32>>
  return
}

// -----

func.func @rms_norm_c2_rank(%x: tensor<?x64xf32>, %s: !llm.weight<[1, 64], #llm.dense<f32>>) {
  // expected-error @+1 {{scale must have rank 1 but has rank 2}}
  %y = llm.rms_norm %x, %s eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[1, 64], #llm.dense<f32>>
  return
}

// -----

func.func @rms_norm_c3(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{epsilon must be finite and positive but is 0}}
  %y = llm.rms_norm %x, %s eps 0.0 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

func.func @layer_norm_c1(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{failed to verify that all of {input, result} have same type}}
  %y = "llm.layer_norm"(%x, %s) <{epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0>}> : (tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x32xf32>
  return
}

// -----

func.func @layer_norm_c2_bias(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>, %b: !llm.weight<[32], #llm.dense<f32>>) {
  // expected-error @+1 {{bias dimension 0 (32) must equal input dimension 1 (64)}}
  %y = llm.layer_norm %x, %s bias %b eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>, !llm.weight<[32], #llm.dense<f32>>
  return
}

// -----

func.func @layer_norm_c2_no_width(%x: tensor<f32>, %s: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{input must have at least rank 1 but has rank 0}}
  %y = llm.layer_norm %x, %s eps 1.0e-5 : tensor<f32>, !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

func.func @layer_norm_c3(%x: tensor<?x64xf32>, %s: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{epsilon must be finite and positive but is -1}}
  %y = llm.layer_norm %x, %s eps -1.0 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

func.func @rms_norm_c4(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{has an offset for its scale but no scale}}
  %y = llm.rms_norm %x eps 1.0e-5 offset 1.0 : tensor<?x64xf32>
  return
}

// -----

func.func @layer_norm_c4(%x: tensor<?x64xf32>, %b: !llm.weight<[64], #llm.dense<f32>>) {
  // expected-error @+1 {{has a bias but no scale}}
  %y = "llm.layer_norm"(%x, %b) <{epsilon = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 1>}> : (tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32>
  return
}
