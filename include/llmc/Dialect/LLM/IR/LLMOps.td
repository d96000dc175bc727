//===- LLMOps.td - every op family of the llm dialect -----*- tablegen -*-===//
#ifndef LLMC_DIALECT_LLM_IR_LLMOPS
#define LLMC_DIALECT_LLM_IR_LLMOPS

include "llmc/Dialect/LLM/IR/LLMWeightOps.td"
include "llmc/Dialect/LLM/IR/LLMEmbeddingOps.td"
include "llmc/Dialect/LLM/IR/LLMLinearOps.td"
include "llmc/Dialect/LLM/IR/LLMNormOps.td"
include "llmc/Dialect/LLM/IR/LLMAttentionOps.td"
include "llmc/Dialect/LLM/IR/LLMStreamOps.td"
include "llmc/Dialect/LLM/IR/LLMElementOps.td"
include "llmc/Dialect/LLM/IR/LLMRoutingOps.td"
include "llmc/Dialect/LLM/IR/LLMRecurrentOps.td"
include "llmc/Dialect/LLM/IR/LLMEntryOps.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "llmc/Dialect/LLM/IR/LLMStructureOps.td"

#endif // LLMC_DIALECT_LLM_IR_LLMOPS
