//===- CheckProgram.h - what the plan cannot hold ---------------*- C++ -*-===//
#ifndef LLMC_LIB_CONVERSION_LLMTOPLAN_CHECKPROGRAM_H
#define LLMC_LIB_CONVERSION_LLMTOPLAN_CHECKPROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace llmc {

/// Fails at the first thing that is legal in the llm dialect and has no place in a plan: an
/// entry that a step cannot call, functions of several blocks, activations or state that no
/// kernel holds, fusions that pass a value through.
mlir::LogicalResult checkProgram(mlir::func::FuncOp entry);

} // namespace llmc

#endif // LLMC_LIB_CONVERSION_LLMTOPLAN_CHECKPROGRAM_H
