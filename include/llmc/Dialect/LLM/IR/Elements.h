//===- Elements.h - what values of element operations are -------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_IR_ELEMENTS_H
#define LLMC_DIALECT_LLM_IR_ELEMENTS_H

#include "mlir/IR/Value.h"

namespace llmc::llm {

/// The weight whose rows the value is, through views of heads; null where it is none. Such a
/// value is the same for every row, however many there are.
mlir::Value weightBehind(mlir::Value value);

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_IR_ELEMENTS_H
