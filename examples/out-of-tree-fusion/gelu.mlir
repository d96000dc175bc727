// Taken and refused:
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation{max-factor=2})' | FileCheck %s
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation{max-factor=2})' --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// Disabled, by its own option and by name:
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation{enabled=false})' --remarks-filter=fusion -o %t.off 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not grep llm.fusion %t.off
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse{disable=scaled-activation})' --remarks-filter=fusion -o %t.off 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not grep scaled-activation %t.off
// Executed: the same bits with the fusion and without.
// RUN: llmc-opt %s --test-evaluate-function -o /dev/null > %t.apart
// RUN: llmc-opt %s --load-pass-plugin=%plugin --pass-pipeline='builtin.module(llm-fuse-scaled-activation,test-evaluate-function)' -o /dev/null > %t.fused
// RUN: diff %t.apart %t.fused
// RUN: FileCheck %s --check-prefix=RAN < %t.fused

// RAN: taken step 0 result 0: [2, 4]
// OFF: [Missed] scaled-activation | Category:fusion | Function=taken | Reason="the pattern is disabled", predicate=enabled
// CHECK-LABEL: func.func @taken
// CHECK: llm.fusion "scaled-activation"
func.func @taken(%x: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {test.steps = [{args = [
    dense<[[-0.75, 1.75, 9.25, 0.5], [3.0, -8.0, 7.5, 0.125]]> : tensor<2x4xf32>]}]} {
  %s = llm.scale %x by 0.5 : tensor<?x4xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}
// CHECK-LABEL: func.func @refused
// CHECK-NOT: llm.fusion
// WHY: [Missed] scaled-activation | Category:fusion | Function=refused | Reason="the scaled value has another use", predicate=single-use
func.func @refused(%x: tensor<?x64xf32>) -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  %s = llm.scale %x by 0.5 : tensor<?x64xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x64xf32>
  return %s, %y : tensor<?x64xf32>, tensor<?x64xf32>
}
// A number of a refusal is whole or not.
// WHY: [Missed] scaled-activation | Category:fusion | Function=large | Reason="the factor is larger than the limit", factor=2.5, limit=2, predicate=factor
func.func @large(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = llm.scale %x by 2.5 : tensor<?x64xf32>
  %y = llm.activation gelu_tanh %s : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
