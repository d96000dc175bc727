// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{source 'layers.w' must hold {i}: the family has layers}}
llm.weight_family @weight_family_c1_layers "layers.w" layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{source 'layers.{i}.w' must not hold {i}: the family has no layers}}
llm.weight_family @weight_family_c1_no_layers "layers.{i}.w" : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{source must not be empty}}
llm.weight_family @weight_family_c1_empty "" : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{checkpoint 'blk.w' must hold {i}: the family has layers}}
llm.weight_family @weight_family_c2 "layers.{i}.w" from "blk.w" layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{takes 64 rows from row 65 on, the stored tensor has 128}}
llm.weight_family @weight_family_c3 "w" rows 65 of 128 : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{has first_row without stored_rows or the reverse; give both or neither}}
llm.weight_family @weight_family_c3_half "w" {first_row = 1 : i64} : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{is transposed, which only a matrix can be}}
llm.weight_family @weight_family_c4 "w" transposed : !llm.weight<[64], #llm.dense<f32>>

// -----

func.func @param_c1_no_family() {
  // expected-error @+1 {{family @w must be a symbol of llm.weight_family}}
  %0 = llm.param @w : !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

llm.state_family @kv layers [0, 4] : !llm.cache<paged, [2, 16, 16], f32>
func.func @param_c1_of_state(%i: index) {
  // expected-error @+1 {{family @kv must be a symbol of llm.weight_family}}
  %0 = llm.param @kv[%i] : !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

llm.weight_family @w "w" : !llm.weight<[64], #llm.dense<f32>>
func.func @param_c1_type() {
  // expected-error @+1 {{result type '!llm.weight<[32], #llm.dense<f32>>' must be the type of family @w, '!llm.weight<[64], #llm.dense<f32>>'}}
  %0 = llm.param @w : !llm.weight<[32], #llm.dense<f32>>
  return
}

// -----

llm.weight_family @w "w.{i}" layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>
func.func @param_c2_layer_missing() {
  // expected-error @+1 {{needs a layer: family @w has layers}}
  %0 = llm.param @w : !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

llm.weight_family @w "w" : !llm.weight<[64], #llm.dense<f32>>
func.func @param_c2_layer_given(%i: index) {
  // expected-error @+1 {{takes no layer: family @w has none}}
  %0 = llm.param @w[%i] : !llm.weight<[64], #llm.dense<f32>>
  return
}

// -----

llm.state_family @kv layers [0, 4] : !llm.cache<paged, [2, 16, 16], f32>
func.func @state_c1_type(%i: index) {
  // expected-error @+1 {{result type '!llm.cache<paged, [2, 16, 32], f32>' must be the type of family @kv, '!llm.cache<paged, [2, 16, 16], f32>'}}
  %0 = llm.state @kv[%i] : !llm.cache<paged, [2, 16, 32], f32>
  return
}

// -----

llm.state_family @kv layers [0, 4] : !llm.cache<paged, [2, 16, 16], f32>
func.func @state_c2() {
  // expected-error @+1 {{needs a layer: family @kv has layers}}
  %0 = llm.state @kv : !llm.cache<paged, [2, 16, 16], f32>
  return
}
