// RUN: not llmc-opt %s --llmc-generate-kernels -split-input-file 2>&1 | FileCheck %s

// Parameters of generic kernels that were altered by hand.

// CHECK: error: generator 'generic': the function cannot be parsed: 
plan.program producer(<name = "llmc", version = "0", toolchain = "t">) model(<name = "m", architecture = "m", description = "", vocab_size = 1, hidden_size = 8, layers = 1, context_length = 1, parameters = 1>) target(<device = "cpu", triple = "x86_64-pc-linux-gnu">) limits(<max_tokens = 4, max_sequences = 1, max_context = 4, block_tokens = 32, blocks = 1, max_outputs = 1>) {
  plan.kernel @k symbol "k" generator "generic" scratch 0 {plan.config = {function = "func.func @row(", inputs = [], outputs = [], name = "k"}}
}

// -----

// CHECK: error: generator 'generic': the function needs 0 bytes of scratch, not 64
plan.program producer(<name = "llmc", version = "0", toolchain = "t">) model(<name = "m", architecture = "m", description = "", vocab_size = 1, hidden_size = 8, layers = 1, context_length = 1, parameters = 1>) target(<device = "cpu", triple = "x86_64-pc-linux-gnu">) limits(<max_tokens = 4, max_sequences = 1, max_context = 4, block_tokens = 32, blocks = 1, max_outputs = 1>) {
  plan.kernel @k symbol "k" generator "generic" scratch 0 {plan.config = {function = "func.func @row(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { %0 = llm.scale %x by 3.0 : tensor<1x8xf32> return %0 : tensor<1x8xf32> }", inputs = [{stride = 8 : i64}], outputs = [{operand = 1 : i64, stride = 8 : i64}], name = "k", scratch = 64 : i64}}
}

// -----

// CHECK: error: generator 'generic': the function has 1 arguments and 1 results, the operands are 0 and 1
plan.program producer(<name = "llmc", version = "0", toolchain = "t">) model(<name = "m", architecture = "m", description = "", vocab_size = 1, hidden_size = 8, layers = 1, context_length = 1, parameters = 1>) target(<device = "cpu", triple = "x86_64-pc-linux-gnu">) limits(<max_tokens = 4, max_sequences = 1, max_context = 4, block_tokens = 32, blocks = 1, max_outputs = 1>) {
  plan.kernel @k symbol "k" generator "generic" scratch 0 {plan.config = {function = "func.func @row(%x: tensor<1x8xf32>) -> tensor<1x8xf32> { return %x : tensor<1x8xf32> }", inputs = [], outputs = [{operand = 1 : i64, stride = 8 : i64}], name = "k"}}
}
