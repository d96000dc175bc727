// RUN: llmc-opt %s -split-input-file -verify-diagnostics --llmc-import-pipeline
// RUN: llmc-opt %s -split-input-file -verify-diagnostics --llmc-normalize-pipeline
// RUN: llmc-opt %s -split-input-file -verify-diagnostics --llmc-partition-pipeline
// RUN: llmc-opt %s -split-input-file -verify-diagnostics --llmc-optimize-pipeline

// The phases on llm end in the check that the module is one whole model.

// expected-error@+1 {{llm.entry}}
module attributes {llm.model = {layers = 1 : i64}} {
  func.func @forward(%tokens: tensor<?xi32>, %batch: !llm.batch) {
    return
  }
}

// -----

module attributes {llm.model = {layers = 2 : i64}} {
  llm.weight_family @norm "layers.{i}.norm" layers [0, 2] : !llm.weight<[8], #llm.dense<f32>>
  llm.weight_family @embed "embed" : !llm.weight<[16, 8], #llm.dense<f32>>
  // expected-error@+1 {{layers}}
  func.func @forward(%tokens: tensor<?xi32>, %batch: !llm.batch) -> tensor<?x8xf32>
      attributes {llm.entry} {
    %table = llm.param @embed : !llm.weight<[16, 8], #llm.dense<f32>>
    %x = llm.embedding %tokens, %table
        : tensor<?xi32>, !llm.weight<[16, 8], #llm.dense<f32>> -> tensor<?x8xf32>
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch)
        : (tensor<?x8xf32>) with (!llm.batch)
    return %y : tensor<?x8xf32>
  }
  func.func private @layer(%i: index, %x: tensor<?x8xf32>, %batch: !llm.batch)
      -> tensor<?x8xf32> {
    %scale = llm.param @norm[%i] : !llm.weight<[8], #llm.dense<f32>>
    %y = llm.rms_norm %x, %scale eps 0.001 : tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>
    return %y : tensor<?x8xf32>
  }
}
