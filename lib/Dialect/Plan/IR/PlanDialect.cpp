//===- PlanDialect.cpp - the plan dialect ---------------------------------===//

#include "llmc/Dialect/Plan/IR/PlanDialect.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"

using namespace mlir;

#include "llmc/Dialect/Plan/IR/PlanDialect.cpp.inc"

#include "llmc/Dialect/Plan/IR/PlanEnums.cpp.inc"

#include "llmc/Dialect/Plan/IR/PlanAttrInterfaces.cpp.inc"

#include "llmc/Dialect/Plan/IR/PlanOpInterfaces.cpp.inc"

void llmc::plan::PlanDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "llmc/Dialect/Plan/IR/PlanOps.cpp.inc"
      >();
}
