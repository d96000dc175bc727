// What holds for every pattern: rounding points, order of effects, blocks. Predicates of one pattern
// are in its own test.
// RUN: llmc-opt %s --llm-fuse-residual-norm --remarks-filter=fusion -split-input-file -verify-diagnostics -o /dev/null
// RUN: llmc-opt %s --llm-fuse=across-rounding=residual-norm -split-input-file | FileCheck %s --check-prefix=ACROSS
// RUN: llmc-opt %s --llm-fuse=disable=residual-norm --remarks-filter=fusion -split-input-file 2>&1 -o /dev/null | FileCheck %s --check-prefix=OFF

!s = !llm.weight<[64], #llm.dense<f32>>

// The sum is rounded to bf16, a kernel that fuses the norm would go on with f32.
// ACROSS-LABEL: func.func @rounds
// ACROSS: llm.fusion "residual-norm"
// OFF: [Missed] residual-norm | Category:fusion | Function=rounds | Reason="the pattern is disabled", predicate=enabled
func.func @rounds(%x: tensor<?x64xbf16>, %d: tensor<?x64xbf16>, %s: !s) -> tensor<?x64xbf16> {
  %sum = llm.residual_add %x, %d : tensor<?x64xbf16>
  // expected-remark @+1 {{[Missed] residual-norm | Category:fusion | Function=rounds | Reason="llm.residual_add rounds to bf16, inside a kernel its result would stay f32", bits=16, predicate=rounding-point}}
  %y = llm.rms_norm %sum, %s eps 1.0e-5 : tensor<?x64xbf16>, !s
  return %y : tensor<?x64xbf16>
}
