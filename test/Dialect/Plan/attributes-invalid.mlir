// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// model_c1
// expected-error@below {{hidden_size is -1, the least is 0}}
#m = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8, hidden_size = -1, layers = 2, context_length = 8, parameters = 1>

// -----

// model_c2
// expected-error@below {{layers is 70000, the most is 65536}}
#m = #plan.model<name = "m", architecture = "a", description = "d", vocab_size = 8, hidden_size = 4, layers = 70000, context_length = 8, parameters = 1>

// -----

// limits_c1
// expected-error@below {{blocks is 0, the least is 1}}
#l = #plan.limits<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 0>

// -----

// limits_c2
// expected-error@below {{max_outputs is 9, of max_tokens 8}}
#l = #plan.limits<max_tokens = 8, max_sequences = 2, max_context = 8, block_tokens = 4, blocks = 1, max_outputs = 9>

// -----

// layers_c1: not empty
// expected-error@below {{a layer set has at least one range and two bounds a range, got 0 bounds}}
#l = #plan.layers<>

// -----

// layers_c1: no negative layer
// expected-error@below {{layer set begins at -1, below layer 0}}
#l = #plan.layers<-1 to 2>

// -----

// layers_c1: ranges that touch are one range
// expected-error@below {{bounds of a layer set ascend, 4 follows 4}}
#l = #plan.layers<0 to 4, 4 to 6>

// -----

// layers_c1: no more layers than any model has
// expected-error@below {{layer set ends at 65537, past the largest, 65536}}
#l = #plan.layers<0 to 65537>

// -----

// live_c1
// expected-error@below {{live from step 3 to step 2 is no interval of steps}}
#l = #plan.live<3, 2>

// -----

// panels_c1
// expected-error@below {{tile of 0 panels is not in 1 to 1024}}
#l = #plan.panels<tile = 0>

// -----

// source_c1
// expected-error@below {{source 't' gives 0 rows, it has to give at least one}}
#l = #plan.source<"t", rows = 0>

// -----

// source_c2: one value a row
// expected-error@below {{source gives 1 values for 2 rows}}
#l = #plan.source<values [1.0], rows = 2>

// -----

// source_c3: JSON has no infinity
// expected-error@below {{source gives a value that is not finite}}
#l = #plan.source<values [1.0e50], rows = 1>

// -----

// source_c4
// expected-error@below {{source 't' gives 4 rows from row 9 on of a tensor of 12 rows}}
#l = #plan.source<"t", rows = 4, first = 9, of = 12>

// -----

// source_c4: no tensor
// expected-error@below {{source without a tensor has a range of rows or a view, or is transposed}}
#l = #plan.source<zeros, rows = 4, transposed>

// -----

// source_c5
// expected-error@below {{source 't' has a view, which says all that a range of rows and transposed do}}
#l = #plan.source<"t", rows = 4, transposed, view <stored = [8, 4], first = 0, strides = [4, 1]>>

// -----

// view_c1
// expected-error@below {{view needs a stored shape and a first element, -1 is none}}
#l = #plan.view<stored = [8, 4], first = -1, strides = [4, 1]>

// -----

// view_c1
// expected-error@below {{view of a tensor [8, 0], whose dimensions must be positive}}
#l = #plan.view<stored = [8, 0], first = 0, strides = [4, 1]>

// -----

// view_c1
// expected-error@below {{view has 1 strides, it needs those of rows and columns, and of matrices before them}}
#l = #plan.view<stored = [8, 4], first = 0, strides = [4]>

// -----

// view_c1
// expected-error@below {{view has stride 33, it must be from 1 to the 32 elements of its tensor}}
#l = #plan.view<stored = [8, 4], first = 0, strides = [33, 1]>

// -----

// items_c1
// expected-error@below {{tile is 0, the least is 1}}
#l = #plan.items<1, tokens tile 0>

// -----

// items_c1
// expected-error@below {{factor is -1, the least is 0}}
#l = #plan.items<-1, tokens>

// -----

// operand_c1
// expected-error@below {{bytes of a weights operand are a size of the step for a slice, a constant for weights}}
#l = #plan.operand<weights, read, tokens * 4>

// -----

// operand_c1
// expected-error@below {{bytes of a state operand are}}
#l = #plan.operand<state, read, 64>

// -----

// operand_c1
// expected-error@below {{bytes of a slice operand are}}
#l = #plan.operand<slice, read, threads * 4>

// -----

// operand_c1: blocks or slots
// expected-error@below {{bytes of a state operand are}}
#l = #plan.operand<state, read, sequences * 64 + blocks * 64>

// -----

// operand_c1: blocks of one kind
// expected-error@below {{bytes of a state operand are}}
#l = #plan.operand<state, read, window_blocks * 64 + blocks * 64>

// -----

// device_c1
// expected-error@below {{grid and block have one to three dimensions, got 1 and 4}}
#l = #plan.device<"k.ptx", grid = [<1, one>], block = [1, 1, 1, 1], shared_bytes = 0>

// -----

// device_c1
// expected-error@below {{block is 0, the least is 1}}
#l = #plan.device<"k.ptx", grid = [<1, one>], block = [0], shared_bytes = 0>
