//===- FusionUtils.h - what the fusion passes share -------------*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_LLM_TRANSFORMS_FUSIONUTILS_H
#define LLMC_LIB_DIALECT_LLM_TRANSFORMS_FUSIONUTILS_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llvm/ADT/SmallVector.h"

namespace llmc::llm {

/// The ops of a kind below `root` that no fusion holds yet.
template <typename OpTy> llvm::SmallVector<OpTy> collectUnfused(mlir::Operation *root) {
  llvm::SmallVector<OpTy> ops;
  root->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation *op) {
    if (mlir::isa<FusionOp>(op))
      return mlir::WalkResult::skip();
    if (auto match = mlir::dyn_cast<OpTy>(op))
      ops.push_back(match);
    return mlir::WalkResult::advance();
  });
  return ops;
}

/// "llm.scale" or "an argument", for reasons.
std::string describeSource(mlir::Value value);

/// Makes fusions of one pattern and reports each decision as a remark of
/// category `fusion` named after the pattern.
class Fuser {
public:
  Fuser(llvm::StringRef pattern, bool enabled) : pattern(pattern), enabled(enabled) {}

  /// Moves `ops`, which are of one block, into a fusion; null with a missed
  /// remark where the pattern is off or their order does not allow it. Results
  /// of the fusion are the values that something outside reads, in the order
  /// of the ops.
  FusionOp fuse(llvm::ArrayRef<mlir::Operation *> ops);

  /// Says that `op` could have been fused but for `reason`.
  void missed(mlir::Operation *op, const llvm::Twine &reason) const;

private:
  llvm::StringRef pattern;
  bool enabled;
};

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_TRANSFORMS_FUSIONUTILS_H
