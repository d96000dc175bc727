//===- LLMRoutingOps.td - routers and experts -*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMROUTINGOPS
#define LLMC_DIALECT_LLM_IR_LLMROUTINGOPS

include "llmc/Dialect/LLM/IR/LLMTypes.td"

#endif // LLMC_DIALECT_LLM_IR_LLMROUTINGOPS
