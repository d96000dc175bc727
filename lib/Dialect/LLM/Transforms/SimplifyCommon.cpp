//===- SimplifyCommon.cpp - what is computed twice or for nobody ----------===//
#include "Simplifier.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"

using namespace mlir;
using namespace llmc::llm;

/// "llm.scale", for remarks.
static StringRef nameOf(Operation *op) { return op->getName().getStringRef(); }

void llmc::llm::eraseUnused(Simplifier &simplifier, bool report) {
  constexpr StringRef name = "unused";
  SmallVector<Operation *> unused;
  simplifier.module.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (isa<SymbolOpInterface>(op) || !isOpTriviallyDead(op))
      return;
    // A weight or a state that an operation had is no work.
    bool isWork = !isa<ParamOp, StateOp>(op);
    if (report && isWork && !simplifier.permits(name, op))
      return;
    if (report && isWork)
      simplifier.passed(name, op, nameOf(op) + " has no reader");
    simplifier.notifyOperationErased(op);
    op->erase();
  });
}

namespace {
/// Hears of every operation that another one stands for.
class MergeListener : public RewriterBase::Listener {
public:
  explicit MergeListener(Simplifier &simplifier) : simplifier(simplifier) {}

  void notifyOperationReplaced(Operation *op, Operation *other) override {
    if (isa<ParamOp, StateOp>(op))
      return;
    simplifier.passed("common-subexpression", op, nameOf(op) + " is computed already");
  }
  void notifyOperationErased(Operation *op) override { simplifier.notifyOperationErased(op); }

private:
  Simplifier &simplifier;
};
} // namespace

void llmc::llm::mergeCommonSubexpressions(Simplifier &simplifier) {
  if (llvm::is_contained(simplifier.disabled, "common-subexpression"))
    return;
  MergeListener listener(simplifier);
  IRRewriter rewriter(simplifier.module.getContext(), &listener);
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, simplifier.module);
}
