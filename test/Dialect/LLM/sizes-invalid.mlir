// RUN: llmc-opt %s -split-input-file -verify-diagnostics

// Sizes whose bytes are no number of 64 bits are refused where they are written.

// expected-error @+1 {{weight [1099511627776, 1099511627776] has more than 4398046511104 elements}}
func.func private @weight(!llm.weight<[1099511627776, 1099511627776], #llm.dense<f32>>)

// -----

// expected-error @+1 {{weight [9223372036854775807, 2, 2] has more than 4398046511104 elements}}
func.func private @wraps(!llm.weight<[9223372036854775807, 2, 2], #llm.dense<f32>>)

// -----

// expected-error @+1 {{cache [4294967296, 4294967296, 8] has more than 16777216 elements}}
func.func private @cache(!llm.cache<paged, [4294967296, 4294967296, 8], f32>)

// -----

func.func @heads(%x: tensor<?x8xf32>) -> tensor<?x2305843009213693953x8xf32> {
  // The product is 8 in 64 bits.
  // expected-error @+1 {{result has 2305843009213693953 heads of width 8, more than a number of 64 bits holds}}
  %y = llm.split_heads %x : tensor<?x8xf32> -> tensor<?x2305843009213693953x8xf32>
  return %y : tensor<?x2305843009213693953x8xf32>
}
