// What a kernel library has a kernel for becomes a fusion that holds its definition.

// RUN: rm -rf %t && split-file %s %t
// RUN: llmc-opt %t/program.mlir --llmc-claim-kernels=libraries=%t/kernels.json | FileCheck %t/program.mlir
// RUN: llmc-opt %t/program.mlir --llmc-claim-kernels="libraries=%t/kernels.json composites-only=true" | FileCheck %t/program.mlir --check-prefix=COMPOSITE
// RUN: llmc-opt %t/program.mlir --llmc-claim-kernels=libraries=%t/kernels.json --remarks-filter=kernel -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// REMARK-DAG: [Passed] user-kernel | {{.*}}cap of {{.*}}kernels.json:2:23 computes llm.softcap
// REMARK-DAG: [Missed] user-kernel | {{.*}}cap does not take llm.softcap: width is 128, covered by 'cap' is at most 64
// REMARK-DAG: [Missed] user-kernel | {{.*}}head does not take llm.select_rows: it changes the number of rows
// RUN: not llmc-opt %t/program.mlir --llmc-claim-kernels=libraries=%t/unknown.json 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: unknown.json:1:{{[0-9]+}}: kernel 'a' computes 'llm.softkap', which is neither an operation of llmc nor one that this model calls; near is llm.softcap

//--- kernels.json
// Reading a library does not look into the object.
{ "kernels": { "cap": {
    "op": "llm.softcap", "only": { "width": { "max": 64 } },
    "object": "kernels.json", "symbol": "cap", "facts": ["width", "cap"], "scratch": { "bytes": 8, "width": 4 } },
  "twice": { "op": "twice", "object": "kernels.json", "symbol": "twice" },
  "head": { "op": "llm.select_rows", "object": "kernels.json", "symbol": "head" } } }
//--- unknown.json
{ "kernels": { "a": { "op": "llm.softkap", "object": "kernels.json", "symbol": "a" } } }
//--- program.mlir
func.func private @op.twice(%x: tensor<?x64xf32>) -> tensor<?x64xf32> attributes {llm.implements = "twice"} {
  %y = llm.scale %x by 2.0 : tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
// CHECK-LABEL: func.func @claims
// COMPOSITE-LABEL: func.func @claims
func.func @claims(%x: tensor<?x64xf32>, %z: tensor<?x128xf32>, %batch: !llm.batch)
    -> (tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x64xf32>) {
  // CHECK: llm.fusion "user-kernel" (%arg0) {kernel = {facts = array<f64: 6.400000e+01, 3.000000e+01>, name = "cap", object = "{{.*}}kernels.json", operands = array<i64: 0>, position = "{{.*}}kernels.json:2:23", scratch = 264 : i64, symbol = "cap"}}
  // CHECK: llm.softcap %{{.*}} cap 30.0
  // CHECK: llm.softcap %arg1 cap 30.0
  // CHECK-NOT: llm.fusion
  // CHECK: llm.composite "twice"
  // COMPOSITE: llm.softcap %arg0 cap 30.0
  // COMPOSITE: llm.fusion "user-kernel" {{.*}}name = "twice"
  // COMPOSITE: llm.scale %{{.*}} by 2.0
  %0 = llm.softcap %x cap 30.0 : tensor<?x64xf32>
  %1 = llm.softcap %z cap 30.0 : tensor<?x128xf32>
  %2 = llm.composite "twice" @op.twice(%0) : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %3 = llm.select_rows %2, %batch : tensor<?x64xf32>
  return %0, %1, %3 : tensor<?x64xf32>, tensor<?x128xf32>, tensor<?x64xf32>
}
