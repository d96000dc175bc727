//===- Passes.td - passes of the plan dialect --------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_TRANSFORMS_PASSES
#define LLMC_DIALECT_PLAN_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def AssignLivenessPass : Pass<"plan-assign-liveness", "::llmc::plan::ProgramOp"> {
  let summary = "Compute from the steps how long every slice is live";
  let description = [{
    Before: slices, and entries whose steps use them. After: every slice has
    `live`, the first and last step that touch it over all entries; a slice that
    no step and no output uses is erased.

    Steps are numbered from 0 through all entries, the body of a repeat once. Inside a
    repeat, a slice that is read before it is written carries its value from one
    iteration to the next (or is the same for all), and is live through the whole
    repeat; so is one that is live across it. An output is live to the last step.

    Numbers: unchanged. Not applicable: never; an existing `live` is recomputed.

    [[example: Dialect/Plan/assign-liveness.mlir]]
  }];
  let dependentDialects = ["::llmc::plan::PlanDialect"];
}

def PackArenasPass : Pass<"plan-pack-arenas", "::llmc::plan::ProgramOp"> {
  let summary = "Give every slice and weight its offset and every arena its size";
  let description = [{
    Before: slices have `live` (`plan-assign-liveness`). After: slices have
    offsets, weights base and stride, arenas sizes; nothing moves any more.

    Slices are placed at their size in the largest step, aligned to 64 bytes,
    largest first into the tightest gap, in three orders of which the best is
    kept. Where that misses the lower bound (the largest sum of sizes live at one
    step), what sticks out moves forward in the order, again and again; then a search
    over placement orders follows, within `search-nodes`: it finds something better,
    proves that nothing better exists, or gives up. All smaller steps take the same
    offsets: sizes only grow with tokens, outputs and sequences. The
    outcome is the arena's `packing` and a remark named `packing`, passed where no
    packing takes less and missed where that is open.

    Weights follow one another in the order of the program, members of a family
    together. A state arena holds every member of its states for each block; the
    workspace holds the largest scratch area for each thread.

    Numbers: unchanged. Not applicable: an error at a slice without `live`.

    [[example: Dialect/Plan/pack-arenas.mlir]]
  }];
  let options = [
    Option<"searchNodes", "search-nodes", "int64_t", "200000",
           "Placements that the search may try for one arena; 0 turns it off.">
  ];
  let dependentDialects = ["::llmc::plan::PlanDialect"];
}

def DeriveContractsPass : Pass<"plan-derive-contracts", "::llmc::plan::ProgramOp"> {
  let summary = "State at every kernel how it may be launched";
  let description = [{
    Before: kernels, and launches of them. After: every kernel has `contracts`,
    one for each combination of work items, kinds and accesses of operands that
    it is launched with; the bytes of an operand are the least over those
    launches. The steps say the same once more; an artifact holds both, and its
    reader refuses one in which they disagree.

    Numbers: unchanged. Not applicable: an error at a kernel that is never
    launched.

    [[example: Dialect/Plan/derive-contracts.mlir]]
  }];
  let dependentDialects = ["::llmc::plan::PlanDialect"];
}

def VerifyPass : Pass<"plan-verify", "::llmc::plan::ProgramOp"> {
  let summary = "Check that a plan is complete and its memory sound";
  let description = [{
    The end of the plan phase. Holds afterwards, beyond what the ops verify one
    by one:
    - every slice has offset, live and lies inside its sized arena at the largest step;
    - recomputed liveness is covered by `live`;
    - no two slices of an arena that are live together share a byte;
    - a step reads only what an earlier step wrote (for a repeat, also in its
      first iteration); this is the proof behind `readwrite`: what is computed in
      place was valid before;
    - weights lie inside their arena and apart from one another;
    - states and the scratch of every kernel fit their arenas;
    - every launch meets a contract of its kernel, and the vocabulary and the
      context stay below the kernel's bounds;
    - there is an entry, and every entry has an output.

    Changes nothing. Numbers: unchanged. Not applicable: never.

    [[example: Dialect/Plan/verify-invalid.mlir]]
  }];
}

#endif // LLMC_DIALECT_PLAN_TRANSFORMS_PASSES
