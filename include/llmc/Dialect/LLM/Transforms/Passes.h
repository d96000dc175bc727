//===- Passes.h - passes that read and write llm only -----------*- C++ -*-===//
#ifndef LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H
#define LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Simplify.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

#include <string>
#include <vector>

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

struct FusionOptions {
  /// Names of patterns. Passes of disabled ones run too, but only to report what they would
  /// have fused. Names that are no pattern are ignored here and should be refused with
  /// `findFusionPattern` where the user gives them.
  std::vector<std::string> disabled, acrossRounding;
  ResidualPreference preference = ResidualPreference::Linear;
  FusionFigures figures = {};
};

/// Adds the pass of every pattern.
void addFusionPasses(mlir::OpPassManager &pm, const FusionOptions &options = {});

/// Registers the passes above and the pipeline `llm-fuse`.
void registerLLMPasses();

} // namespace llmc::llm

#endif // LLMC_DIALECT_LLM_TRANSFORMS_PASSES_H
