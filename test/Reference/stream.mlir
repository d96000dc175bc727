// RUN: llmc-opt %s --test-evaluate-function -o /dev/null | FileCheck %s

// Constants: computed outside of llmc in f64 by the formula above each function.

// y = stream + delta
// CHECK: residual_add step 0 result 0: [2, 4]
// CHECK-NEXT: [-3.3750000000 -1.0000000000 -1.0000000000 0.1250000000]
// CHECK-NEXT: [1.7500000000 1.5000000000 -0.2500000000 3.1250000000]
func.func @residual_add(%x: tensor<?x4xf32>, %d: tensor<?x4xf32>)
    -> tensor<?x4xf32> attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.residual_add %x, %d : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// y = x * f32(0.3)
// CHECK: scale step 0 result 0: [2, 4]
// CHECK-NEXT: [-0.4500000179 0.2250000089 0.0750000030 -0.4125000164]
// CHECK-NEXT: [0.6000000238 0.2250000089 0.3375000134 0.3750000149]
func.func @scale(%x: tensor<?x4xf32>)
    -> tensor<?x4xf32> attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>]}]} {
  %y = llm.scale %x by 0.3 : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// y = x / (1 + exp(-x)); gate: act(gate) * up
// CHECK: silu step 0 result 0: [2, 4]
// CHECK-NEXT: [-0.2736382857 0.5093840244 0.1405441252 -0.2774931806]
// CHECK-NEXT: [1.7615941560 0.5093840244 0.8492793602 0.9716248265]
// CHECK-NEXT: silu step 0 result 1: [2, 4]
// CHECK-NEXT: [0.5130717857 -0.8914220427 -0.1756801565 -0.4162397709]
// CHECK-NEXT: [-0.4403985390 0.3820380183 -1.1677591203 1.8217965496]
func.func @silu(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation silu %g : tensor<?x4xf32>
  %z = llm.gate silu %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = x/2 * (1 + erf(x / sqrt 2)); gate: act(gate) * up
// CHECK: gelu step 0 result 0: [2, 4]
// CHECK-NEXT: [-0.1002108019 0.5800294857 0.1496765814 -0.1162778682]
// CHECK-NEXT: [1.9544997361 0.5800294857 0.9784186682 1.1179377829]
// CHECK-NEXT: gelu step 0 result 1: [2, 4]
// CHECK-NEXT: [0.1878952536 -1.0150516000 -0.1870957268 -0.1744168023]
// CHECK-NEXT: [-0.4886249340 0.4350221143 -1.3453256688 2.0961333430]
func.func @gelu(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation gelu %g : tensor<?x4xf32>
  %z = llm.gate gelu %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))); gate: act(gate) * up
// CHECK: gelu_tanh step 0 result 0: [2, 4]
// CHECK-NEXT: [-0.1004284230 0.5799605552 0.1496753507 -0.1165114472]
// CHECK-NEXT: [1.9545976941 0.5799605552 0.9782247898 1.1177142030]
// CHECK-NEXT: gelu_tanh step 0 result 1: [2, 4]
// CHECK-NEXT: [0.1883032932 -1.0149309715 -0.1870941884 -0.1747671707]
// CHECK-NEXT: [-0.4886494235 0.4349704164 -1.3450590860 2.0957141306]
func.func @gelu_tanh(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation gelu_tanh %g : tensor<?x4xf32>
  %z = llm.gate gelu_tanh %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = max(x, 0); gate: act(gate) * up
// CHECK: relu step 0 result 0: [2, 4]
// CHECK-NEXT: [0.0000000000 0.7500000000 0.2500000000 0.0000000000]
// CHECK-NEXT: [2.0000000000 0.7500000000 1.1250000000 1.2500000000]
// CHECK-NEXT: relu step 0 result 1: [2, 4]
// CHECK-NEXT: [0.0000000000 -1.3125000000 -0.3125000000 0.0000000000]
// CHECK-NEXT: [-0.5000000000 0.5625000000 -1.5468750000 2.3437500000]
func.func @relu(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation relu %g : tensor<?x4xf32>
  %z = llm.gate relu %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = 1 / (1 + exp(-x)); gate: act(gate) * up
// CHECK: sigmoid step 0 result 0: [2, 4]
// CHECK-NEXT: [0.1824255238 0.6791786992 0.5621765009 0.2018132223]
// CHECK-NEXT: [0.8807970780 0.6791786992 0.7549149869 0.7772998612]
// CHECK-NEXT: sigmoid step 0 result 1: [2, 4]
// CHECK-NEXT: [-0.3420478571 -1.1885627236 -0.7027206261 0.3027198334]
// CHECK-NEXT: [-0.2201992695 0.5093840244 -1.0380081069 1.4574372397]
func.func @sigmoid(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation sigmoid %g : tensor<?x4xf32>
  %z = llm.gate sigmoid %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = tanh(x); gate: act(gate) * up
// CHECK: tanh step 0 result 0: [2, 4]
// CHECK-NEXT: [-0.9051482536 0.6351489524 0.2449186624 -0.8798266997]
// CHECK-NEXT: [0.9640275801 0.6351489524 0.8093010702 0.8482836400]
// CHECK-NEXT: tanh step 0 result 1: [2, 4]
// CHECK-NEXT: [1.6971529756 -1.1115106667 -0.3061483280 -1.3197400495]
// CHECK-NEXT: [-0.2410068950 0.4763617143 -1.1127889715 1.5905318249]
func.func @tanh(%g: tensor<?x4xf32>, %u: tensor<?x4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>) attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>,
      dense<[[-1.875, -1.75, -1.25, 1.5], [-0.25, 0.75, -1.375, 1.875]]> : tensor<2x4xf32>]}]} {
  %y = llm.activation tanh %g : tensor<?x4xf32>
  %z = llm.gate tanh %g, %u : tensor<?x4xf32>
  return %y, %z : tensor<?x4xf32>, tensor<?x4xf32>
}

// y = f32(1.3) * tanh(x / f32(1.3))
// CHECK: softcap step 0 result 0: [2, 4]
// CHECK-NEXT: [-1.0647314703 0.6765530966 0.2469630629 -1.0202127183]
// CHECK-NEXT: [1.1854199040 0.6765530966 0.9087280336 0.9684509953]
func.func @softcap(%x: tensor<?x4xf32>)
    -> tensor<?x4xf32> attributes {test.steps = [
    {args = [
      dense<[[-1.5, 0.75, 0.25, -1.375], [2.0, 0.75, 1.125, 1.25]]> : tensor<2x4xf32>]}]} {
  %y = llm.softcap %x cap 1.3 : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
