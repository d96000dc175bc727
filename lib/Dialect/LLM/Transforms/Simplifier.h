//===- Simplifier.h - what the simplifications share ------------*- C++ -*-===//
#ifndef LLMC_LIB_DIALECT_LLM_TRANSFORMS_SIMPLIFIER_H
#define LLMC_LIB_DIALECT_LLM_TRANSFORMS_SIMPLIFIER_H

#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Simplify.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>
#include <utility>

namespace llmc::llm {

/// A number of a decision, as an argument of its remark.
using SimplifyNumber = std::pair<llvm::StringRef, int64_t>;

/// Which simplifications may be made on a module, and what became of each chance: a passed
/// remark at once, missed ones at the end, of the operations that are still there.
class Simplifier : public mlir::RewriterBase::Listener {
public:
  /// `maxContext` is 0 where nothing bounds the positions of a sequence.
  Simplifier(mlir::ModuleOp module, llvm::ArrayRef<std::string> disabled, bool foldScales,
             int64_t maxContext)
      : module(module), disabled(disabled), foldScales(foldScales), maxContext(maxContext) {}

  mlir::ModuleOp module;
  llvm::ArrayRef<std::string> disabled;
  bool foldScales;
  int64_t maxContext;
  /// Factors that were folded because `foldScales` asks for it.
  int64_t foldedScales = 0;

  /// Whether the simplification is not switched off; where it is, `op` is missed by that.
  bool permits(llvm::StringRef name, mlir::Operation *op);
  /// Says that `op` is being simplified. Before it changes.
  void passed(llvm::StringRef name, mlir::Operation *op, const llvm::Twine &what,
              llvm::ArrayRef<SimplifyNumber> numbers = {});
  /// Says why `op` is not; gives failure for patterns to return.
  llvm::LogicalResult missed(llvm::StringRef name, mlir::Operation *op, llvm::StringRef predicate,
                             const llvm::Twine &reason,
                             llvm::ArrayRef<SimplifyNumber> numbers = {});
  void reportMissed();

  void notifyOperationErased(mlir::Operation *op) override;

private:
  struct Refusal {
    std::string predicate, reason;
    llvm::SmallVector<std::pair<std::string, int64_t>, 2> numbers;
  };
  llvm::MapVector<mlir::Operation *, llvm::MapVector<llvm::StringRef, Refusal>> refusals;
};

/// Removes what nobody reads and what has no effect, where `report` is set with remarks.
void eraseUnused(Simplifier &simplifier, bool report);
void mergeCommonSubexpressions(Simplifier &simplifier);
/// Removes bounds that no sequence of at most `maxContext` positions reaches, and states that
/// nothing reads any more; whether something changed that holds for that context alone.
bool dropUnreachedBounds(Simplifier &simplifier);
void dropUnreadStates(Simplifier &simplifier);
/// Moves the selection of rows in front of operations that nothing observes.
void selectRowsEarly(Simplifier &simplifier);

/// What reads a weight family: the layers of its members, and whether a reader names its layer
/// otherwise.
struct WeightReaders {
  llvm::SetVector<int64_t> layers;
  bool unknown = false;
};
/// By the names of families.
llvm::DenseMap<mlir::Attribute, WeightReaders> findWeightReaders(mlir::ModuleOp module);
/// Families lose the members that were read before and are no more.
void narrowWeightFamilies(Simplifier &simplifier,
                          const llvm::DenseMap<mlir::Attribute, WeightReaders> &before);

// Patterns that are applied until none matches.
void addElementSimplifications(mlir::RewritePatternSet &patterns, Simplifier &simplifier);
void addWeightSimplifications(mlir::RewritePatternSet &patterns, Simplifier &simplifier);
void addScaleSimplifications(mlir::RewritePatternSet &patterns, Simplifier &simplifier);

} // namespace llmc::llm

#endif // LLMC_LIB_DIALECT_LLM_TRANSFORMS_SIMPLIFIER_H
