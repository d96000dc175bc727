//===- PlanAttrs.h - attributes of the plan dialect -------------*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANATTRS_H
#define LLMC_DIALECT_PLAN_IR_PLANATTRS_H

#include "llmc/Dialect/Plan/IR/PlanDialect.h"
#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OpImplementation.h"

#include "llmc/Dialect/Plan/IR/PlanEnums.h.inc"

#include "llmc/Dialect/Plan/IR/PlanAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "llmc/Dialect/Plan/IR/PlanAttrs.h.inc"

namespace llmc::plan {

/// Whether slices and states may hold elements of the type.
bool isElementType(mlir::Type type);

/// The text form of a size, `tokens * 2304 + 64`.
mlir::ParseResult parseSizeText(mlir::AsmParser &parser, mlir::AffineMap &map);
void printSizeText(mlir::AsmPrinter &printer, mlir::AffineMap map);

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_IR_PLANATTRS_H
