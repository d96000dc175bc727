// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{dense storage holds floats of whole bytes but the element type is 'i8'}}
#d = #llm.dense<i8>

// -----

// expected-error @+1 {{block storage needs a name}}
#b = #llm.blocks<"", bits = 4, size = 32, scale = f16, zero = 0, order = halves>

// -----

// expected-error @+1 {{bits must be in 1 to 8 but is 9}}
#b = #llm.blocks<"b", bits = 9, size = 32, scale = f16, zero = 0, order = linear>

// -----

// expected-error @+1 {{size must be positive, at most 65536 and fill whole bytes but 3 elements of 4 bits do not}}
#b = #llm.blocks<"b", bits = 4, size = 3, scale = f16, zero = 0, order = linear>

// -----

// expected-error @+1 {{scale must be a float type but is 'i8'}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = i8, zero = 0, order = linear>

// -----

// expected-error @+1 {{min must be a float type but is 'i8'}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = linear, min = i8>

// -----

// expected-error @+1 {{zero must be 0 where a minimum is given but is 8}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 8, order = linear, min = f16>

// -----

// expected-error @+1 {{zero must be a value of 4 bits but is 16}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 16, order = linear>

// -----

// expected-error @+1 {{order halves needs 4 bits and an even size but has 8 bits and size 32}}
#b = #llm.blocks<"b", bits = 8, size = 32, scale = f16, zero = 0, order = halves>

// -----

// expected-error @+1 {{order planes and a list of planes need each other}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = planes>

// -----

// expected-error @+1 {{order planes and a list of planes need each other}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = linear, planes = [4, 32]>

// -----

// expected-error @+1 {{planes are pairs of bits and run but there are 3 numbers}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = planes, planes = [4, 32, 1]>

// -----

// expected-error @+1 {{plane 1 must have 1, 2 or 4 bits and a run that fills whole bytes and divides the size (32) but has 1 bits and run 4}}
#b = #llm.blocks<"b", bits = 5, size = 32, scale = f16, zero = 0, order = planes, planes = [4, 32, 1, 4]>

// -----

// expected-error @+1 {{planes must hold 5 bits but hold 6}}
#b = #llm.blocks<"b", bits = 5, size = 32, scale = f16, zero = 0, order = planes, planes = [4, 32, 2, 32]>

// -----

// expected-error @+1 {{group and subscale need each other}}
#b = #llm.blocks<"b", bits = 4, size = 256, scale = f16, zero = 0, order = halves, group = 32>

// -----

// expected-error @+1 {{subscale must be a signed or unsigned integer of at most 8 bits but is 'i8'}}
#b = #llm.blocks<"b", bits = 4, size = 256, scale = f16, zero = 0, order = halves, group = 32, subscale = i8>

// -----

// expected-error @+1 {{group must divide the size (256) but is 48}}
#b = #llm.blocks<"b", bits = 4, size = 256, scale = f16, zero = 0, order = halves, group = 48, subscale = ui6>

// -----

// expected-error @+1 {{a codebook has a value for each of 16 codes, zero 0 and no minimum but has 2 values}}
#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = halves, codebook = [1.0, 2.0]>

// -----

// expected-error @+1 {{extra must be at most 65536 bytes but is 70000}}
#b = #llm.blocks<"b", bits = 8, size = 32, scale = f16, zero = 0, order = linear, extra = 70000>

// -----

// expected-error @+1 {{width must be positive but is 0}}
#r = #llm.rope<"default", base = 10000.0, width = 0, halves, magnitude = 1.0, [1.0]>

// -----

// expected-error @+1 {{base must be finite and positive but is}}
#r = #llm.rope<"default", base = -1.0, width = 2, halves, magnitude = 1.0, [1.0]>

// -----

// expected-error @+1 {{magnitude must be finite and positive but is}}
#r = #llm.rope<"default", base = 10000.0, width = 2, halves, magnitude = 0.0, [1.0]>

// -----

// expected-error @+1 {{frequency 0 must be finite but is}}
#r = #llm.rope<"default", base = 10000.0, width = 2, halves, magnitude = 1.0, [0x7F800000]>

// -----

// expected-error @+1 {{layers are pairs of bounds but there are 1 bounds}}
#l = #llm.layers<[0]>

// -----

// expected-error @+1 {{bound 0 must not be negative but is -1}}
#l = #llm.layers<[-1, 3]>

// -----

// expected-error @+1 {{bounds must ascend but bound 2 (3) follows 3}}
#l = #llm.layers<[0, 3, 3, 5]>

// -----

// expected-error @+1 {{weight dimension 1 must be positive but is 0}}
func.func private @weight_dim(!llm.weight<[64, 0], #llm.dense<f32>>)

// -----

// expected-error @+1 {{storage must be dense or blocks but is 4 : i32}}
func.func private @weight_storage(!llm.weight<[64], 4 : i32>)

// -----

#b = #llm.blocks<"b", bits = 4, size = 32, scale = f16, zero = 0, order = linear>
// expected-error @+1 {{weight dimension 1 (48) must be a multiple of the block size (32)}}
func.func private @weight_blocks(!llm.weight<[64, 48], #b>)

// -----

// expected-error @+1 {{paged cache shape must be [kv heads, key width, value width] but has 2 dimensions}}
func.func private @cache_shape(!llm.cache<paged, [2, 16], f32>)

// -----

// expected-error @+1 {{cache dimension 1 must be positive but is 0}}
func.func private @cache_dim(!llm.cache<window, [2, 0, 16], f32>)

// -----

// expected-error @+1 {{cache element type must be a float but is 'i8'}}
func.func private @cache_element(!llm.cache<paged, [2, 16, 16], i8>)

// -----

// expected-error @+1 {{'llm.entry' belongs on a function}}
module attributes {llm.entry} {}

// -----

// expected-error @+1 {{'llm.entry' must be a unit attribute but is "yes"}}
func.func private @entry() attributes {llm.entry = "yes"}

// -----

// expected-error @+1 {{'llm.model' belongs on a module}}
func.func private @model() attributes {llm.model = {}}

// -----

// expected-error @+1 {{'llm.model' key 'vocab_size' must be a positive integer but is "many"}}
module attributes {llm.model = {vocab_size = "many"}} {}

// -----

// expected-error @+1 {{'llm.model' key 'architecture' must be a string but is 3 : i64}}
module attributes {llm.model = {architecture = 3 : i64}} {}

// -----

// expected-error @+1 {{'llm.model' key 'note' must be a string, number, flag or list but is {}}}
module attributes {llm.model = {note = {}}} {}

// -----

// expected-error @+1 {{'llm.model' key 'op_libraries' must be a list of [file name, 64 lower-case hexadecimal digits of its sha256] but is "dyt.mlir"}}
module attributes {llm.model = {op_libraries = "dyt.mlir"}} {}

// -----

// expected-error @+1 {{must be a list of [file name, 64 lower-case hexadecimal digits of its sha256] but is [["dyt.mlir", "AB"]]}}
module attributes {llm.model = {op_libraries = [["dyt.mlir", "AB"]]}} {}

// -----

// expected-error @+1 {{'llm.fast' is not an attribute of the llm dialect: expected llm.entry, llm.model, llm.implements, llm.settings or llm.bind}}
func.func private @unknown() attributes {llm.fast}

// -----

// expected-error @+1 {{the length beyond which frequencies are the long ones must be positive but is 0}}
#r = #llm.rope<"longrope", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0], long [1.0] beyond 0>

// -----

// expected-error @+1 {{long frequency 0 must be finite but is INF}}
#r = #llm.rope<"longrope", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0], long [0x7F800000] beyond 4>

// -----

// expected-error @+1 {{'long' needs frequencies; leave it out where there are none}}
#r = #llm.rope<"longrope", base = 10000.0, width = 2, halves, magnitude = 1.0, [1.0], long [] beyond 4>

// -----

// expected-error @+1 {{recurrent cache shape must be [heads, key width, value width] but has 2 dimensions}}
func.func private @cache_recurrent(!llm.cache<recurrent, [2, 16], f32>)

// -----

// expected-error @+1 {{conv cache shape must be [channels, taps - 1] but has 3 dimensions}}
func.func private @cache_conv(!llm.cache<conv, [2, 16, 3], f32>)

// -----

// expected-error @+1 {{conv cache element type must be f32 but is 'bf16'}}
func.func private @cache_conv_element(!llm.cache<conv, [16, 3], bf16>)

// -----

// expected-error @+1 {{recurrent cache element type must be f32 but is 'f16'}}
func.func private @cache_recurrent_element(!llm.cache<recurrent, [2, 16, 16], f16>)

// -----

// expected-error @+1 {{latent cache value width (17) must be from 0 to the key width (16)}}
func.func private @cache_latent(!llm.cache<latent, [1, 16, 17], f32>)

// -----

// expected-error @+1 {{entries cache shape must be [tokens an entry, key width, value width] but has 2 dimensions}}
func.func private @cache_entries(!llm.cache<entries, [4, 16], f32>)

// -----

// expected-error @+1 {{entries cache value width (17) must be from 0 to the key width (16)}}
func.func private @cache_entries_value(!llm.cache<entries, [4, 16, 17], f32>)
