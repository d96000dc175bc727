// RUN: llmc-opt %s --llm-verify-model -o /dev/null

// The last layer gives chosen rows, and a weight's rows go with them, in fusions too.

module attributes {llm.model = {layers = 1 : i64}} {
llm.weight_family @scale "scale" : !llm.weight<[8], #llm.dense<f32>>
func.func private @last(%i: index, %x: tensor<?x8xf32>, %b: !llm.batch) -> tensor<?x8xf32> {
  %w = llm.param @scale : !llm.weight<[8], #llm.dense<f32>>
  %r = llm.weight_rows %w, %b : !llm.weight<[8], #llm.dense<f32>> -> tensor<?x8xf32>
  %y = llm.select_rows %x, %b : tensor<?x8xf32>
  %z = llm.fusion "rows" (%y, %r) : (tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x2x4xf32>) {
  ^bb0(%a: tensor<?x8xf32>, %c: tensor<?x8xf32>):
    %s = llm.split_heads %c : tensor<?x8xf32> -> tensor<?x2x4xf32>
    %h = llm.split_heads %a : tensor<?x8xf32> -> tensor<?x2x4xf32>
    %p = llm.binary mul %h, %s : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
    llm.yield %p : tensor<?x2x4xf32>
  }
  %m = llm.merge_heads %z : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %m : tensor<?x8xf32>
}
func.func @step(%x: tensor<?x8xf32>, %b: !llm.batch) -> tensor<?x8xf32> attributes {llm.entry} {
  %y = llm.repeat [@last] from 0 count 1 (%x) with (%b) : (tensor<?x8xf32>) with (!llm.batch)
  %n = llm.rms_norm %y eps 1.0e-5 : tensor<?x8xf32>
  return %n : tensor<?x8xf32>
}
}
