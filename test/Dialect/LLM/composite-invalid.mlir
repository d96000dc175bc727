// RUN: llmc-opt %s -split-input-file -verify-diagnostics

func.func @composite_c1_missing(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{decomposition @mish must be a function with a body, marked llm.implements}}
  %y = llm.composite "mish" @mish(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func private @mish(tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "mish"}
func.func @composite_c1_external(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{decomposition @mish must be a function with a body, marked llm.implements}}
  %y = llm.composite "mish" @mish(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func private @mish(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "dish"} {
  return %x : tensor<?x64xf32>
}
func.func @composite_c1_name(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{is 'mish' but @mish implements "dish"}}
  %y = llm.composite "mish" @mish(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func private @mish(%x: tensor<?x32xf32>) -> tensor<?x32xf32> attributes {llm.implements = "mish"} {
  return %x : tensor<?x32xf32>
}
func.func @composite_c2(%x: tensor<?x64xf32>) {
  // expected-error @+1 {{has type '(tensor<?x64xf32>) -> tensor<?x64xf32>' but @mish has type '(tensor<?x32xf32>) -> tensor<?x32xf32>'}}
  %y = llm.composite "mish" @mish(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return
}

// -----

func.func private @a(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "a"} {
  // expected-error @+2 {{decomposition @a leads to itself}}
  // expected-note @+1 {{by this composite}}
  %y = llm.composite "a" @a(%x) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
func.func @composite_c3() {
  return
}

// -----

// expected-error @+1 {{'llm.settings' must be a dictionary on a function marked llm.implements but is {a = 1.000000e+00 : f64}}}
func.func @settings_place() attributes {llm.settings = {a = 1.0}} {
  return
}

// -----

// expected-error @+1 {{'llm.settings' key 'a' must be a finite number but is "one"}}
func.func @settings_kind() attributes {llm.implements = "op", llm.settings = {a = "one"}} {
  return
}

// -----

func.func @bind_name(%x: tensor<?x64xf32>) -> tensor<?x64xf32>
    attributes {llm.implements = "op", llm.settings = {a = 1.0}} {
  // expected-error @+1 {{'llm.bind' key 'factor' must name one of the function's llm.settings but is "b"}}
  %y = llm.scale %x by 2.0 {llm.bind = {factor = "b"}} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

func.func @bind_attribute(%x: tensor<?x64xf32>) -> tensor<?x64xf32>
    attributes {llm.implements = "op", llm.settings = {a = 1.0}} {
  // expected-error @+1 {{'llm.bind' key 'faktor' must be an attribute of the op that is a number}}
  %y = llm.scale %x by 2.0 {llm.bind = {faktor = "a"}} : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
