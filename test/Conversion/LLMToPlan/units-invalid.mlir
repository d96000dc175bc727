// RUN: llmc-opt %s --convert-llm-to-plan -split-input-file -verify-diagnostics

// What the conversion cannot place, at the operation that asks for it.

// expected-error @+1 {{has no function marked llm.entry}}
module attributes {llm.model = {architecture = "T"}} {
  func.func @step(%x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32> {
    return %x : tensor<?x8xf32>
  }
}

// -----

// expected-error @+1 {{has no llm.model facts}}
module {
  func.func @step(%x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32>
      attributes {llm.entry} {
    return %x : tensor<?x8xf32>
  }
}

// -----

module attributes {llm.model = {architecture = "T"}} {
  func.func @step(%x: tensor<?x8xf32>, %batch: !llm.batch) -> tensor<?x8xf32>
      attributes {llm.entry} {
    // expected-error @+1 {{has no lowering to the plan}}
    %y = arith.addf %x, %x : tensor<?x8xf32>
    return %y : tensor<?x8xf32>
  }
}

// -----

!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!cache = !llm.cache<paged, [2, 8, 8], f32>
#q = #llm.rope<"default", base = 100.0, width = 8, halves, magnitude = 1.0, [1.0, 0.5, 0.25, 0.125]>
#k = #llm.rope<"default", base = 200.0, width = 8, halves, magnitude = 1.0, [1.0, 0.5, 0.25, 0.0625]>
module attributes {llm.model = {architecture = "T", layers = 1 : i64}} {
  llm.state_family @kv layers [0, 1] : !cache
  func.func @step(%x: !rows, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !heads
    %s = llm.state @kv[%i] : !cache
    // expected-error @+1 {{q and k turn by different rotary records in one launch; disable the fusion attention-prologue}}
    %t:2 = llm.fusion "attention-prologue" (%h, %batch, %s)
        : (!heads, !llm.batch, !cache) -> (!heads, !cache) {
    ^bb0(%a: !heads, %step: !llm.batch, %old: !cache):
      %0 = llm.rotary %a, %step rope(#q) : !heads
      %1 = llm.rotary %a, %step rope(#k) : !heads
      %2 = llm.kv_append %1, %a, %old, %step : !heads, !heads, !cache
      llm.yield %0, %2 : !heads, !cache
    }
    %o = llm.paged_attention %t#0, %t#1, %batch scale 0.5 : !heads, !cache -> !heads
    %y = llm.merge_heads %o : !heads -> !rows
    return %y : !rows
  }
}

// -----

!rows = tensor<?x8xf32>
!w = !llm.weight<[8, 8], #llm.dense<f32>>
!v = !llm.weight<[8, 8], #llm.dense<f16>>
module attributes {llm.model = {architecture = "T"}} {
  llm.weight_family @a "a" : !w
  llm.weight_family @b "b" : !v
  func.func @step(%x: !rows, %batch: !llm.batch) -> (!rows, !rows) attributes {llm.entry} {
    %a = llm.param @a : !w
    %b = llm.param @b : !v
    // expected-error @+1 {{weights of one launch differ: @b is '!llm.weight<[8, 8], #llm.dense<f16>>', the first is '!llm.weight<[8, 8], #llm.dense<f32>>'}}
    %p:2 = llm.fusion "qkv-linear" (%x, %a, %b) : (!rows, !w, !v) -> (!rows, !rows) {
    ^bb0(%in: !rows, %wa: !w, %wb: !v):
      %0 = llm.linear %in, %wa : !rows, !w -> !rows
      %1 = llm.linear %in, %wb : !rows, !v -> !rows
      llm.yield %0, %1 : !rows, !rows
    }
    return %p#0, %p#1 : !rows, !rows
  }
}

// -----

!rows = tensor<?x16xf32>
!table = !llm.weight<[40, 16], #llm.dense<f32>>
!places = !llm.weight<[34, 16], #llm.dense<f32>>
module attributes {llm.model = {architecture = "m", context_length = 64}} {
  llm.weight_family @embed "embed" : !table
  llm.weight_family @places "places" : !places
  func.func @positions(%tokens: tensor<?xi32>, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %table = llm.param @embed : !table
    %places = llm.param @places : !places
    %x = llm.embedding %tokens, %table : tensor<?xi32>, !table -> !rows
    // expected-error @+1 {{max-context is 64, but the table has rows for 32 positions; compile for at most that many (--max-context)}}
    %p = llm.position_embedding %batch, %places offset 2 : !places -> !rows
    %s = llm.residual_add %x, %p : !rows
    return %s : !rows
  }
}

// -----

// A fusion that no kernel takes: of somebody's, and of a pattern, which can be disabled.
!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!cache = !llm.cache<paged, [2, 8, 8], f32>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
module attributes {llm.model = {architecture = "T", layers = 1 : i64}} {
  llm.weight_family @w "w" : !w
  llm.state_family @kv layers [0, 1] : !cache
  func.func @step(%x: !rows, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !heads
    %old = llm.state @kv[%i] : !cache
    %s = llm.kv_append %h, %h, %old, %batch : !heads, !heads, !cache
    %w = llm.param @w : !w
    %y = llm.fusion "heads-linear" (%h, %s, %batch, %w) : (!heads, !cache, !llm.batch, !w) -> !rows {
    ^bb0(%q: !heads, %c: !cache, %b: !llm.batch, %m: !w):
      %0 = llm.paged_attention %q, %c, %b scale 0.5 : !heads, !cache -> !heads
      // expected-error @+1 {{'llm.merge_heads' op does not make rows that this kernel multiplies (norm, choice of rows); no kernel computes fusion 'heads-linear', which has it}}
      %1 = llm.merge_heads %0 : !heads -> !rows
      %2 = llm.linear %1, %m : !rows, !w -> !rows
      llm.yield %2 : !rows
    }
    return %y : !rows
  }
}

// -----

!rows = tensor<?x16xf32>
!heads = tensor<?x2x8xf32>
!cache = !llm.cache<paged, [2, 8, 8], f32>
!w = !llm.weight<[16, 16], #llm.dense<f32>>
module attributes {llm.model = {architecture = "T", layers = 1 : i64}} {
  llm.weight_family @w "w" : !w
  llm.state_family @kv layers [0, 1] : !cache
  func.func @step(%x: !rows, %batch: !llm.batch) -> !rows attributes {llm.entry} {
    %y = llm.repeat [@layer] from 0 count 1 (%x) with (%batch) : (!rows) with (!llm.batch)
    return %y : !rows
  }
  func.func private @layer(%i: index, %x: !rows, %batch: !llm.batch) -> !rows {
    %h = llm.split_heads %x : !rows -> !heads
    %old = llm.state @kv[%i] : !cache
    %s = llm.kv_append %h, %h, %old, %batch : !heads, !heads, !cache
    %w = llm.param @w : !w
    %y = llm.fusion "norm-linear" (%h, %s, %batch, %w) : (!heads, !cache, !llm.batch, !w) -> !rows {
    ^bb0(%q: !heads, %c: !cache, %b: !llm.batch, %m: !w):
      %0 = llm.paged_attention %q, %c, %b scale 0.5 : !heads, !cache -> !heads
      // expected-error @+1 {{no kernel computes fusion 'norm-linear', which has it: --disable-fusion=norm-linear leaves its operations apart}}
      %1 = llm.merge_heads %0 : !heads -> !rows
      %2 = llm.linear %1, %m : !rows, !w -> !rows
      llm.yield %2 : !rows
    }
    return %y : !rows
  }
}
