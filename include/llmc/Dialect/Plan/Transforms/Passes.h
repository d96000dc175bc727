//===- Passes.h - passes of the plan dialect --------------------*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_TRANSFORMS_PASSES_H
#define LLMC_DIALECT_PLAN_TRANSFORMS_PASSES_H

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc::plan {

#define GEN_PASS_DECL
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "llmc/Dialect/Plan/Transforms/Passes.h.inc"

/// Registers every pass of the dialect under its `plan-...` name.
inline void registerPlanPasses() { registerLLMCPlanPasses(); }

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_TRANSFORMS_PASSES_H
