// RUN: llmc-opt %s --verify-roundtrip | FileCheck %s

!bias = !llm.weight<[8], #llm.dense<f32>>
!table = !llm.weight<[100, 2], #llm.dense<f32>>
!experts = !llm.weight<[8, 32, 16], #llm.dense<bf16>>
!expert_bias = !llm.weight<[8, 32], #llm.dense<f32>>

// CHECK-LABEL: func.func @route
func.func @route(%l: tensor<?x8xf32>) {
  // CHECK: llm.route softmax %{{.*}} top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  %c, %w = llm.route softmax %l top 2 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // CHECK: llm.route identity %{{.*}} top 2 normalise margin within 0.02 scale 2.0 : (tensor<?x8xf32>)
  %c2, %w2 = llm.route identity %l top 2 normalise margin within 0.02 scale 2.0 : (tensor<?x8xf32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  // What is said explicitly and is the default is not printed.
  // CHECK: llm.route identity %{{.*}} top 1 : (tensor<?x8xf32>)
  %c1, %w1 = llm.route identity %l top 1 normalise none scale 1.0 : (tensor<?x8xf32>) -> (tensor<?x1xi32>, tensor<?x1xf32>)
  return
}

// CHECK-LABEL: func.func @route_groups
func.func @route_groups(%l: tensor<?x8xf32>, %b: !bias, %s: !bias) {
  // CHECK: llm.route sigmoid %{{.*}} bias %{{.*}} groups 4 keep 2 by top2 top 3 normalise sum scale 2.5 times %{{.*}} : (tensor<?x8xf32>, !llm.weight<[8], #llm.dense<f32>>, !llm.weight<[8], #llm.dense<f32>>) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  %c, %w = llm.route sigmoid %l bias %b groups 4 keep 2 by top2 top 3 normalise sum scale 2.5 times %s
      : (tensor<?x8xf32>, !bias, !bias) -> (tensor<?x3xi32>, tensor<?x3xf32>)
  return
}

// CHECK-LABEL: func.func @route_table
func.func @route_table(%l: tensor<?x8xf32>, %t: !table, %tokens: tensor<?xi32>) {
  // CHECK: llm.route sqrt_softplus %{{.*}} table %{{.*}} of %{{.*}} top 2 normalise softmax : (tensor<?x8xf32>, !llm.weight<[100, 2], #llm.dense<f32>>, tensor<?xi32>)
  %c, %w = llm.route sqrt_softplus %l table %t of %tokens top 2 normalise softmax
      : (tensor<?x8xf32>, !table, tensor<?xi32>) -> (tensor<?x2xi32>, tensor<?x2xf32>)
  return
}

// CHECK-LABEL: func.func @experts
func.func @experts(%x: tensor<?x16xf32>, %c: tensor<?x2xi32>, %w: tensor<?x2xf32>, %m: !experts, %b: !expert_bias) -> tensor<?x32xf32> {
  // CHECK: llm.expert_linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<bf16>>) -> tensor<?x2x32xf32>
  %y = llm.expert_linear %x, %c, %m : (tensor<?x16xf32>, tensor<?x2xi32>, !experts) -> tensor<?x2x32xf32>
  // CHECK: llm.expert_spread %{{.*}} by %{{.*}} : (tensor<?x16xf32>, tensor<?x2xf32>) -> tensor<?x2x16xf32>
  %s = llm.expert_spread %x by %w : (tensor<?x16xf32>, tensor<?x2xf32>) -> tensor<?x2x16xf32>
  // CHECK: llm.expert_linear %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} : (tensor<?x2x16xf32>, tensor<?x2xi32>, !llm.weight<[8, 32, 16], #llm.dense<bf16>>, !llm.weight<[8, 32], #llm.dense<f32>>) -> tensor<?x2x32xf32>
  %z = llm.expert_linear %s, %c, %m bias %b : (tensor<?x2x16xf32>, tensor<?x2xi32>, !experts, !expert_bias) -> tensor<?x2x32xf32>
  // CHECK: llm.expert_sum %{{.*}} : (tensor<?x2x32xf32>) -> tensor<?x32xf32>
  %a = llm.expert_sum %z : (tensor<?x2x32xf32>) -> tensor<?x32xf32>
  // CHECK: llm.expert_sum %{{.*}} by %{{.*}} : (tensor<?x2x32xf32>, tensor<?x2xf32>) -> tensor<?x32xf32>
  %e = llm.expert_sum %y by %w : (tensor<?x2x32xf32>, tensor<?x2xf32>) -> tensor<?x32xf32>
  return %e : tensor<?x32xf32>
}
