//===- VerifyRows.h - which rows does a value have --------------*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYROWS_H
#define LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYROWS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace llmc::llm {

/// Types say that the number of rows is dynamic, not which rows they are: one for each token
/// of the step, or one for each row whose logits are wanted. Fails where an op combines the
/// two, chooses rows for the second time, or uses positions of rows that were chosen.
mlir::LogicalResult verifyRows(mlir::FunctionOpInterface entry);

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_TRANSFORMS_VERIFYROWS_H
