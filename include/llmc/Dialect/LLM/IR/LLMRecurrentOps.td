//===- LLMRecurrentOps.td - mixers with a state per sequence -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS
#define LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

#endif // LLMC_DIALECT_LLM_IR_LLMRECURRENTOPS
