//===- LLMFusionFolds.cpp - canonicalization of fusions -------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace llmc::llm;

/// Replaces `fusion` by one with the given inputs and results, which must be a
/// subset of its own; the body has been adapted already.
static FusionOp rebuild(PatternRewriter &rewriter, FusionOp fusion, ValueRange inputs,
                        ArrayRef<unsigned> kept) {
  SmallVector<Type> types;
  for (unsigned i : kept)
    types.push_back(fusion.getResult(i).getType());
  auto result = FusionOp::create(rewriter, fusion.getLoc(), types, fusion.getPatternAttr(), inputs);
  result->setDiscardableAttrs(fusion->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(fusion.getBody(), result.getBody(), result.getBody().end());
  for (auto [to, from] : llvm::enumerate(kept))
    rewriter.replaceAllUsesWith(fusion.getResult(from), result.getResult(to));
  rewriter.eraseOp(fusion);
  return result;
}

namespace {
/// A result that nobody reads leaves; its ops then die in the body.
struct DropUnusedResults : OpRewritePattern<FusionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FusionOp fusion, PatternRewriter &rewriter) const override {
    SmallVector<unsigned> kept;
    for (OpResult result : fusion.getResults())
      if (!result.use_empty())
        kept.push_back(result.getResultNumber());
    if (kept.size() == fusion.getNumResults())
      return failure();
    auto yield = cast<YieldOp>(fusion.getBody().front().getTerminator());
    SmallVector<Value> values;
    for (unsigned i : kept)
      values.push_back(yield.getValues()[i]);
    rewriter.modifyOpInPlace(yield, [&] { yield.getValuesMutable().assign(values); });
    rebuild(rewriter, fusion, fusion.getInputs(), kept);
    return success();
  }
};

/// An input that the body does not use leaves; one given twice is given once.
struct DropInputs : OpRewritePattern<FusionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(FusionOp fusion, PatternRewriter &rewriter) const override {
    Block &body = fusion.getBody().front();
    SmallVector<Value> inputs;
    llvm::DenseMap<Value, BlockArgument> first;
    llvm::BitVector dropped(body.getNumArguments());
    for (auto [input, argument] : llvm::zip_equal(fusion.getInputs(), body.getArguments())) {
      if (argument.use_empty()) {
        dropped.set(argument.getArgNumber());
        continue;
      }
      auto [known, isNew] = first.try_emplace(input, argument);
      if (isNew) {
        inputs.push_back(input);
        continue;
      }
      rewriter.replaceAllUsesWith(argument, known->second);
      dropped.set(argument.getArgNumber());
    }
    if (dropped.none())
      return failure();
    rewriter.modifyOpInPlace(fusion, [&] { body.eraseArguments(dropped); });
    rebuild(rewriter, fusion, inputs, llvm::to_vector(llvm::seq<unsigned>(fusion.getNumResults())));
    return success();
  }
};
} // namespace

void FusionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnusedResults, DropInputs>(context);
}
