// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation)' | FileCheck %s
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation)' --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// CHECK-LABEL: func.func @taken
// CHECK: llm.fusion "scaled-activation"
func.func @taken(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = llm.scale %x by 0.5 : tensor<?x64xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// CHECK-LABEL: func.func @refused
// CHECK-NOT: llm.fusion
// WHY: [Missed] scaled-activation | Category:fusion | Function=refused | Reason="the scaled value has another use", predicate=single-use
func.func @refused(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %s = llm.scale %x by 0.5 : tensor<?x64xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x64xf32>
  return %s, %y : tensor<?x64xf32>, tensor<?x64xf32>
}
