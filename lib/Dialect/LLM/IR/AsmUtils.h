//===- AsmUtils.h - assembly that attributes and ops share ------*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_LLM_IR_ASMUTILS_H
#define LLMC_LIB_DIALECT_LLM_IR_ASMUTILS_H

#include "mlir/IR/OpImplementation.h"

namespace llmc::llm {

/// Prints the fewest digits that read back as the same value, with the point
/// that MLIR's lexer asks of a float: 500000.0, 0.125, 1.0e-05.
void printShortest(mlir::AsmPrinter &printer, double value);

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_IR_ASMUTILS_H
