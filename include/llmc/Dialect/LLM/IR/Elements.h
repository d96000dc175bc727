//===- Elements.h - what values of element operations are -------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_IR_ELEMENTS_H
#define LLMC_DIALECT_LLM_IR_ELEMENTS_H

#include "mlir/IR/Value.h"

namespace llmc::llm {

/// The weight whose rows the value is, through views of heads and into fusions; null where it is
/// none. Such a value is the same for every row.
mlir::Value weightBehind(mlir::Value value);

/// The result of llm.weight_rows that such a value is a view of, else null.
mlir::Value weightRowsBehind(mlir::Value value);

/// Whether the operand is a weight's rows beside rows of another kind in arithmetic: there are as
/// many of them as of the others, be those of tokens or chosen ones. For any other operation a
/// weight's rows are one for each token.
bool fitsAnyRows(mlir::OpOperand &operand);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_IR_ELEMENTS_H
