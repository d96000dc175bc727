//===- Passes.h - passes that read and write llm only -----------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H
#define LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace llmc::llm {

#define GEN_PASS_DECL
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"

/// Which pass may take a residual add that both linear-residual and
/// residual-norm match.
enum class ResidualPreference {
  /// The product's epilogue adds (CPU).
  Linear,
  /// The norm's prologue adds (GPU).
  Norm
};

/// Names of the fusion patterns, in the order in which their passes run.
llvm::ArrayRef<llvm::StringRef> fusionPatterns();

/// Adds every fusion pass. Those of `disabled` run too, but only to report
/// what they would have fused; names that are no pattern are ignored here and
/// should be refused with `fusionPatterns` where the user gives them.
void addFusionPasses(mlir::OpPassManager &pm, llvm::ArrayRef<std::string> disabled = {},
                     ResidualPreference preference = ResidualPreference::Linear);

/// Registers the passes above and the pipeline `llm-fuse`.
void registerLLMPasses();

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H
