//===- OperatorProgram.h - a program of one operation ------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_OPERATORPROGRAM_H
#define LLMC_LIB_PIPELINES_OPERATORPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OwningOpRef.h"

namespace llmc {

/// The smallest program that holds `op`, an operation of a model: its rows come from outside,
/// its weights and state from the families of the model. An operation whose result no program
/// can return (a choice of experts or positions) stands with the one that reads it. What holds
/// of this program on a target holds of the operation.
mlir::OwningOpRef<mlir::ModuleOp> programOf(mlir::Operation *op);

/// Of the operation that such a program returns rows of where `op` has none to return.
mlir::Location placeholderLocation(mlir::MLIRContext *context);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_OPERATORPROGRAM_H
