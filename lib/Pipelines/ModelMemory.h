//===- ModelMemory.h - weights and state as the model has them --*- C++ -*-===//
//
// What a module after normalisation says of memory, whatever runs it: the state that its layers
// keep, and its weights as they are stored, each with how devices may divide it.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_PIPELINES_MODELMEMORY_H
#define LLMC_LIB_PIPELINES_MODELMEMORY_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace llmc {

/// State of one kind and shape.
struct StatePart {
  llm::CacheType type;
  /// Ascending.
  llvm::SmallVector<int64_t> layers;
  /// No token sees more positions than these; 0: it sees all.
  int64_t window = 0;
  /// The same where the kernels of llmc need no more of it than that.
  int64_t ringWindow = 0;
  /// Of the attentions that read it; 0: none does.
  int64_t queryHeads = 0;

  bool isPerSequence() const {
    return type.getKind() == llm::CacheKind::Recurrent || type.getKind() == llm::CacheKind::Conv;
  }
  /// What people call it: keys and values, latent, index keys, entries, recurrent, convolution.
  llvm::StringRef name() const;
};

/// In the order of the families, those of one family by window.
llvm::SmallVector<StatePart> statePartsOf(mlir::ModuleOp module);

/// How much of a part's state there is.
struct StateExtent {
  int64_t layers = 0;
  /// Positions of each sequence, and sequences.
  int64_t tokens = 0, sequences = 1;
  /// Of an element that is kept for a position; what is kept for a sequence is f32.
  int64_t elementBytes = 4;
  /// Keys and values (or heads of a recurrence) that one device has; 0: all.
  int64_t heads = 0;
  /// Whether positions that no token sees any more are given back.
  bool boundByWindow = true;
  /// Whether `tokens` are those of rings of blocks.
  bool isRing = false;
};
/// Saturates.
int64_t stateBytes(const StatePart &part, const StateExtent &extent);
/// The same as a product of named numbers.
std::string stateFormula(const StatePart &part, const StateExtent &extent);

/// A family of weights as it is stored.
struct WeightPart {
  /// How devices that compute together may divide it.
  enum class Split { None, Product, Vocabulary, Experts };
  llm::WeightFamilyOp family;
  Split split = Split::None;
  /// Read by the program before its layers, behind them, or inside.
  bool before = false, behind = false, inside = false;

  /// Empty: it belongs to no layer.
  llvm::SmallVector<int64_t> layers() const;
};
llvm::SmallVector<WeightPart> weightPartsOf(mlir::ModuleOp module);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_MODELMEMORY_H
