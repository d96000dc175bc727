// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @residual_add_c1(%x: tensor<?x64xf32>, %d: tensor<?x32xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.residual_add"(%x, %d) : (tensor<?x64xf32>, tensor<?x32xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @scale_c1(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.scale"(%x) <{factor = 2.0 : f64}> : (tensor<?x64xf32>) -> tensor<?x64xbf16>
  return
}

// -----

func.func @scale_c2(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{factor must be finite but is +Inf}}
  %y = llm.scale %x by 0x7FF0000000000000 : tensor<?x64xf32>
  return
}

// -----

func.func @activation_c1(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.activation"(%x) <{function = #llm<activation silu>}> : (tensor<?x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @activation_name(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{'swish' is not an activation: expected silu, gelu, gelu_tanh, relu, sigmoid, tanh, gelu_quick, relu2, softplus, exp, log, sqrt or reciprocal}}
  %y = llm.activation swish %x : tensor<?x64xf32>
  return
}

// -----

func.func @gate_c1(%g: tensor<?x64xf32>, %u: tensor<?x32xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.gate"(%g, %u) <{function = #llm<activation silu>}> : (tensor<?x64xf32>, tensor<?x32xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func @softcap_c1(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "llm.softcap"(%x) <{cap = 2.0 : f64}> : (tensor<?x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func @softcap_c2(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{cap must be finite and positive but is -2}}
  %y = llm.softcap %x cap -2.0 : tensor<?x64xf32>
  return
}
