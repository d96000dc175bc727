//===- ArenaPacking.h - slices of an arena at some largest step -*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_TRANSFORMS_ARENAPACKING_H
#define LLMC_DIALECT_PLAN_TRANSFORMS_ARENAPACKING_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Dialect/Plan/Transforms/Packing.h"

namespace llmc::plan {

/// Placements that the search may try for one arena, unless a pass option says otherwise.
constexpr int64_t kSearchNodes = 200000;

/// Offsets that plan-pack-arenas gives the slices of one arena where the largest step is that
/// of `limits`. All have their lives (plan-assign-liveness). Changes nothing.
PackResult packSlicesAt(llvm::ArrayRef<SliceOp> slices, LimitsAttr limits,
                      int64_t searchNodes = kSearchNodes);

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_TRANSFORMS_ARENAPACKING_H
