//===- LLMAttentionFolds.cpp - folds of the head views --------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

using namespace mlir;
using namespace llmc::llm;

// split_heads(merge_heads(x)) is x where the heads are the same.
OpFoldResult SplitHeadsOp::fold(FoldAdaptor) {
  auto merge = getInput().getDefiningOp<MergeHeadsOp>();
  if (merge && merge.getInput().getType() == getType())
    return merge.getInput();
  return {};
}

// merge_heads(split_heads(x)) is x.
OpFoldResult MergeHeadsOp::fold(FoldAdaptor) {
  auto split = getInput().getDefiningOp<SplitHeadsOp>();
  if (split && split.getInput().getType() == getType())
    return split.getInput();
  return {};
}
