//===- PlanDialect.h - the plan dialect -------------------------*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANDIALECT_H
#define LLMC_DIALECT_PLAN_IR_PLANDIALECT_H

#include "mlir/IR/Dialect.h"

#include "llmc/Dialect/Plan/IR/PlanDialect.h.inc"

#endif // LLMC_DIALECT_PLAN_IR_PLANDIALECT_H
