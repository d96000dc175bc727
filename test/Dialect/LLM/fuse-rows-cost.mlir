// What the target's figures decide.
// RUN: llmc-opt %s --llm-fuse-rows=max-row=32 --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=WIDTH
// RUN: llmc-opt %s --llm-fuse-rows=max-ops=1 --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=OPERATIONS
// RUN: llmc-opt %s --llm-fuse-rows=vector-registers=6 --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REGISTERS
// RUN: llmc-opt %s --llm-fuse-rows=thread-bytes=128 --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=SCRATCH
// RUN: llmc-opt %s --llm-fuse-rows="operations-per-second=1e6 launch-seconds=0" --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=COST

// WIDTH: [Missed] rows | Category:fusion | Function=two_norms | Reason="the row has 64 elements, more than 32", limit=32, predicate=width, width=64
// OPERATIONS: [Missed] rows | Category:fusion | Function=two_norms | Reason="together they are 2 operations, more than 1", limit=1, operations=2, predicate=operations
// REGISTERS: [Missed] rows | Category:fusion | Function=two_norms | Reason="7 vectors are alive at once, a thread holds 6", limit=6, predicate=registers, registers=7
// SCRATCH: [Missed] rows | Category:fusion | Function=two_norms | Reason="rows of 256 bytes are kept between passes, a thread has 128", limit=128, predicate=scratch, scratch_bytes=256
// COST: [Passed] rows | Category:fusion | Function=two_norms
func.func @two_norms(%x: tensor<?x64xf32>, %d: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %s = llm.residual_add %x, %d : tensor<?x64xf32>
  %n = llm.rms_norm %s eps 1.0e-5 : tensor<?x64xf32>
  return %n : tensor<?x64xf32>
}

// Each of the eight heads would compute the token's factor.
// COST: [Missed] rows | Category:fusion | Function=repeated | Reason="a step of 1 tokens would take {{[0-9]+}} ns longer", bytes_per_token_recomputed=0, bytes_per_token_saved=8, launches_saved=1, nanoseconds={{[0-9]+}}, operations_per_token_recomputed=7, predicate=cost, tokens=1
func.func @repeated(%batch: !llm.batch, %x: tensor<?x8x16xf32>) -> tensor<?x8x16xf32> {
  %p = llm.position_scale %batch scale 0.1 period 64 : tensor<?x1xf32>
  %y = llm.binary mul %x, %p : tensor<?x8x16xf32>, tensor<?x1xf32> -> tensor<?x8x16xf32>
  return %y : tensor<?x8x16xf32>
}
