//===- LLMElementOps.td - arithmetic of rows, heads and streams -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMELEMENTOPS
#define LLMC_DIALECT_LLM_IR_LLMELEMENTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

#endif // LLMC_DIALECT_LLM_IR_LLMELEMENTOPS
