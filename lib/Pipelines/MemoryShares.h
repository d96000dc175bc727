//===- MemoryShares.h - what devices hold that divide a model ---*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_MEMORYSHARES_H
#define LLMC_LIB_PIPELINES_MEMORYSHARES_H

#include "ModelMemory.h"
#include "llmc/Pipelines/MemoryPlan.h"

namespace llmc {

/// What the division of a model needs to know of it.
struct ModelParts {
  llvm::SmallVector<StatePart> states;
  llvm::SmallVector<WeightPart> weights;
  /// For each of `weights` and of its members (one where it belongs to no layer): how the
  /// published files store it, null for as its type says. Empty where nothing is quantised.
  std::vector<std::vector<const QuantizedFormat *>> quantized;
  /// What a config says of quantised weights and is not in these; empty: nothing.
  std::string notCounted;
  int64_t layers = 0, hidden = 0;
  /// Experts that a token goes to, and the widest result of attention (heads x value width).
  int64_t chosenExperts = 0, attentionHeads = 0, attentionWidth = 0;
};
/// How published files store each member of a family, as ModelParts::quantized has it.
std::vector<const QuantizedFormat *> quantizedMembers(const WeightPart &part,
                                                      const QuantizationRules &rules);
/// What a config says of quantised weights and is in none of these, with the reason; else empty.
std::string quantizationNotCounted(const QuantizationRules &rules,
                                   const std::vector<std::vector<const QuantizedFormat *>> &used);

ModelParts partsOf(mlir::ModuleOp module, const MemoryRequest &request);

/// Throws InputError where the model cannot be divided as asked, with the degrees that can.
void checkDivision(const ModelParts &parts, const MemoryRequest &request);

/// Layers `[first, last)` of a stage.
std::pair<int64_t, int64_t> layersOfStage(const ModelParts &parts, const MemoryRequest &request,
                                          int64_t stage);

/// Weights of one device of the stage, as they are stored.
std::vector<MemoryItem> weightShares(const ModelParts &parts, const MemoryRequest &request,
                                     int64_t stage);
/// Bytes of an element of state by its name; empty: f32.
int64_t elementBytesOf(llvm::StringRef type);

/// State of one device of the stage for sequences of so many positions.
std::vector<MemoryItem> stateShares(const ModelParts &parts, const MemoryRequest &request,
                                    int64_t stage, int64_t context, int64_t batch);
/// Buffers of what devices exchange.
std::vector<MemoryItem> communicationShares(const ModelParts &parts, const MemoryRequest &request,
                                            int64_t stage);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_MEMORYSHARES_H
