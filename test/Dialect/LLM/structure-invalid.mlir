// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func private @layer(index, tensor<?x32xf32>) -> tensor<?x32xf32>
func.func @repeat_c1_type(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{callee @layer must have type '(index, tensor<?x64xf32>) -> tensor<?x64xf32>' (layer index, carried and invariant values to carried values) but has type '(index, tensor<?x32xf32>) -> tensor<?x32xf32>'}}
  %y = llm.repeat [@layer] from 0 count 2 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func @repeat_c1_callee(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{callee @layer must be a function}}
  %y = llm.repeat [@layer] from 0 count 2 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func private @layer(index, tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @repeat_c1_results(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{results must have the types of the carried values}}
  %y = "llm.repeat"(%x) <{callees = [@layer], from = 0 : i64, count = 1 : i64, operandSegmentSizes = array<i32: 1, 0>}> : (tensor<?x64xf32>) -> tensor<?x32xf32>
  return
}

// -----

func.func private @layer(index, tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @repeat_c2_count(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{count must be positive but is 0}}
  %y = llm.repeat [@layer] from 0 count 0 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func private @layer(index, tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @repeat_c2_layers(%x: tensor<?x64xf32>) {
  %most = llm.repeat [@layer] from 4 count 65532 (%x) : (tensor<?x64xf32>)
  // expected-error @+1 {{runs more than 65536 layers}}
  %y = llm.repeat [@layer] from 5 count 65532 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func private @layer(index, tensor<?x64xf32>) -> tensor<?x64xf32>
func.func @repeat_c2_from(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{from must not be negative but is -1}}
  %y = llm.repeat [@layer] from -1 count 2 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func @repeat_c2_callees(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{needs at least one callee}}
  %y = llm.repeat [] from 0 count 1 (%x) : (tensor<?x64xf32>)
  return
}

// -----

func.func @fusion_c1_number(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{number of block arguments (2) must equal the number of inputs (1)}}
  %y = llm.fusion "scale" (%x) : (tensor<?x64xf32>) -> tensor<?x64xf32> {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>):
    llm.yield %a : tensor<?x64xf32>
  }
  return
}

// -----

func.func @fusion_c1_type(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{block argument 0 has type 'tensor<?x32xf32>' but input 0 has type 'tensor<?x64xf32>'}}
  %y = llm.fusion "scale" (%x) : (tensor<?x64xf32>) -> tensor<?x32xf32> {
  ^bb0(%a: tensor<?x32xf32>):
    llm.yield %a : tensor<?x32xf32>
  }
  return
}

// -----

func.func @fusion_c2(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{yielded value 0 has type 'tensor<?x64xf32>' but result 0 has type 'tensor<?x32xf32>'}}
  %y = llm.fusion "scale" (%x) : (tensor<?x64xf32>) -> tensor<?x32xf32> {
  ^bb0(%a: tensor<?x64xf32>):
    llm.yield %a : tensor<?x64xf32>
  }
  return
}

// -----

func.func @observe_c1_layer_missing(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{name 'hidden.{i}' holds {i but no layer is given}}
  llm.observe %x "hidden.{i}" : tensor<?x64xf32>
  return
}

// -----

func.func @observe_c1_layer_given(%x: tensor<?x64xf32>, %i: index) {
  // expected-error @+1 {{name 'hidden' holds no {i but a layer is given}}
  llm.observe %x "hidden"[%i] : tensor<?x64xf32>
  return
}
