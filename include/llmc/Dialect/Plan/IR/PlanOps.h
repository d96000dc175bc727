//===- PlanOps.h - ops of the plan dialect ----------------------*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANOPS_H
#define LLMC_DIALECT_PLAN_IR_PLANOPS_H

#include "llmc/Dialect/Plan/IR/PlanAttrs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

#include "llmc/Dialect/Plan/IR/PlanOpInterfaces.h.inc"

#define GET_OP_CLASSES
#include "llmc/Dialect/Plan/IR/PlanOps.h.inc"

namespace llmc::plan {

/// Whether a path of the artifact is relative and stays inside its folder.
bool isInsidePath(llvm::StringRef path);

/// Bytes of an element that isElementType accepts.
int64_t getElementBytes(mlir::Type type);

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_IR_PLANOPS_H
