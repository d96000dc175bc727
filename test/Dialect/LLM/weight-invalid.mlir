// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{source 'layers.w' must hold {i}: the family has layers}}
llm.weight_family @weight_family_c1_layers "layers.w" layers [0, 4] : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{has 3 values for 2 members of 2 elements}}
llm.weight_family @weight_family_c8_count "w.{i}" values [1.0, 2.0, 3.0] layers [0, 2] : !llm.weight<[2], #llm.dense<f32>>

// -----

// expected-error @+1 {{has a value that is not finite}}
llm.weight_family @weight_family_c8_finite "w.{i}" values [1.0, 1.0e39] layers [0, 1] : !llm.weight<[2], #llm.dense<f32>>

// -----

// expected-error @+1 {{has values of f32, its type is}}
llm.weight_family @weight_family_c8_type "w.{i}" values [1.0, 2.0] layers [0, 1] : !llm.weight<[2], #llm.dense<bf16>>

// -----

// expected-error @+1 {{has values, so there is nothing that is read of a checkpoint}}
llm.weight_family @weight_family_c8_rows "w.{i}" rows 1 of 4 values [1.0, 2.0] layers [0, 1] : !llm.weight<[2], #llm.dense<f32>>

// -----

llm.weight_family @weight_family_c1_last "layers.{i}.w" layers [0, 65536] : !llm.weight<[64], #llm.dense<f32>>
// expected-error @+1 {{has a member for layer 65536; no model has more than 65536 layers}}
llm.weight_family @weight_family_c1_beyond "layers.{i}.w" layers [0, 65537] : !llm.weight<[64], #llm.dense<f32>>

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

// expected-error @+1 {{has a tensor for each expert, so it has at least two dimensions and neither 'rows' nor 'transposed'}}
llm.weight_family @weight_family_c5_rank "w.{e}" : !llm.weight<[64], #llm.dense<f32>>

// -----

// expected-error @+1 {{has a tensor for each expert, so it has at least two dimensions and neither 'rows' nor 'transposed'}}
llm.weight_family @weight_family_c5_rows "w.{e}" rows 0 of 8 : !llm.weight<[4, 64], #llm.dense<f32>>

// -----

// expected-error @+1 {{has a view, which says all that 'rows' and 'transposed' do}}
llm.weight_family @weight_family_c6_both "w" transposed view <stored = [8, 4], first = 0, strides = [1, 4]> : !llm.weight<[4, 8], #llm.dense<f32>>

// -----

// expected-error @+1 {{has a view of 1 strides for 2 dimensions within a tensor}}
llm.weight_family @weight_family_c6_strides "w" view <stored = [8, 4], first = 0, strides = [4]> : !llm.weight<[8, 4], #llm.dense<f32>>

// -----

// expected-error @+1 {{has a view that reaches beyond the 32 elements of its tensor}}
llm.weight_family @weight_family_c6_range "w" view <stored = [8, 4], first = 1, strides = [4, 1]> : !llm.weight<[8, 4], #llm.dense<f32>>

// -----

#blocks = #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>
// expected-error @+1 {{has a view that cuts blocks of 32 elements}}
llm.weight_family @weight_family_c7 "w" view <stored = [2, 64], first = 16, strides = [64, 1]> : !llm.weight<[1, 32], #blocks>

// -----

// A row that lies across the tensor is of floats that llmc makes blocks of.
#blocks = #llm.blocks<"q8_0", bits = 8, size = 32, scale = f16, zero = 0, order = linear>
llm.weight_family @across "w" view <stored = [32, 5], first = 2, strides = [1, 5]> : !llm.weight<[3, 32], #blocks>

// -----

// expected-error @+1 {{view needs a stored shape, strides and a first element that is not negative}}
llm.weight_family @view_negative "w" view <stored = [2, 64], first = -1, strides = [64, 1]> : !llm.weight<[1, 32], #llm.dense<f32>>

// -----

// expected-error @+1 {{view of a tensor [4611686018427387904, 4], whose dimensions must be positive and their product at most}}
llm.weight_family @view_large "w" view <stored = [4611686018427387904, 4], first = 0, strides = [4, 1]> : !llm.weight<[1, 4], #llm.dense<f32>>

// -----

// expected-error @+1 {{view has stride 0, it must be from 1 to the 128 elements of its tensor}}
llm.weight_family @view_stride "w" view <stored = [2, 64], first = 0, strides = [0, 1]> : !llm.weight<[1, 32], #llm.dense<f32>>

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
