// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s
// RUN: llmc-opt %s --emit-bytecode | llmc-opt - | FileCheck %s

// CHECK: module attributes {llm.model = {architecture = "toy", context_length = 128 : i64, layers = 4 : i64, stop = [1, 2]}}
module attributes {llm.model = {architecture = "toy", context_length = 128 : i64, layers = 4 : i64, stop = [1, 2]}} {

func.func private @even(index, tensor<?x64xf32>, !llm.batch) -> tensor<?x64xf32>
func.func private @odd(index, tensor<?x64xf32>, !llm.batch) -> tensor<?x64xf32>
func.func private @plain(index, tensor<?x64xf32>) -> tensor<?x64xf32>

// CHECK-LABEL: func.func @forward
// CHECK-SAME: attributes {llm.entry}
func.func @forward(%x: tensor<?x64xf32>, %batch: !llm.batch) -> tensor<?x64xf32> attributes {llm.entry} {
  // CHECK: llm.repeat [@even, @odd] from 0 count 2 (%{{.*}}) with (%{{.*}}) : (tensor<?x64xf32>) with (!llm.batch){{$}}
  %0 = llm.repeat [@even, @odd] from 0 count 2 (%x) with (%batch) : (tensor<?x64xf32>) with (!llm.batch)
  // CHECK: llm.repeat [@plain] from 4 count 1 (%{{.*}}) : (tensor<?x64xf32>){{$}}
  %1 = llm.repeat [@plain] from 4 count 1 (%0) : (tensor<?x64xf32>)
  return %1 : tensor<?x64xf32>
}

// CHECK-LABEL: func.func @fusion
func.func @fusion(%i: index, %x: tensor<?x64xf32>, %d: tensor<?x64xf32>, %w: !llm.weight<[64], #llm.dense<f32>>) -> tensor<?x64xf32> {
  // CHECK: %{{.*}}:2 = llm.fusion "residual-norm" (%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<?x64xf32>, tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x64xf32>, %{{.*}}: tensor<?x64xf32>, %{{.*}}: !llm.weight<[64], #llm.dense<f32>>):
  %s, %y = llm.fusion "residual-norm" (%x, %d, %w) : (tensor<?x64xf32>, tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  ^bb0(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>, %c: !llm.weight<[64], #llm.dense<f32>>):
    %0 = llm.residual_add %a, %b : tensor<?x64xf32>
    %1 = llm.rms_norm %0, %c eps 1.0e-5 : tensor<?x64xf32>, !llm.weight<[64], #llm.dense<f32>>
    // CHECK: llm.yield %{{.*}}, %{{.*}} : tensor<?x64xf32>, tensor<?x64xf32>
    llm.yield %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
  }
  // CHECK: llm.observe %{{.*}}#0 "hidden.{i+1}"[%{{.*}}] : tensor<?x64xf32>
  llm.observe %s "hidden.{i+1}"[%i] : tensor<?x64xf32>
  // CHECK: llm.observe %{{.*}}#1 "final" : tensor<?x64xf32>
  llm.observe %y "final" : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
}
