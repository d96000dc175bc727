//===- PlanOps.td - all ops of the plan dialect ------------*- tablegen -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANOPS
#define LLMC_DIALECT_PLAN_IR_PLANOPS

include "llmc/Dialect/Plan/IR/PlanProgramOps.td"
include "llmc/Dialect/Plan/IR/PlanMemoryOps.td"
include "llmc/Dialect/Plan/IR/PlanStepOps.td"

#endif // LLMC_DIALECT_PLAN_IR_PLANOPS
