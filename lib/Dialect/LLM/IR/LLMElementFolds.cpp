//===- LLMElementFolds.cpp - folds of element arithmetic ------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

using namespace mlir;
using namespace llmc::llm;

// A term that is 0 in f32 changes no value; a negative zero among them becomes a positive one,
// which no later op of the dialect tells apart but by dividing by it.
OpFoldResult OffsetOp::fold(FoldAdaptor) {
  if (static_cast<float>(getTerm().convertToDouble()) == 0.0f)
    return getInput();
  return {};
}

// All of a value.
OpFoldResult SliceOp::fold(FoldAdaptor) {
  if (getInput().getType() == getType())
    return getInput();
  return {};
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && getInputs().front().getType() == getType())
    return getInputs().front();
  return {};
}

// Twice is not at all.
OpFoldResult TransposeOp::fold(FoldAdaptor) {
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (inner && inner.getInput().getType() == getType())
    return inner.getInput();
  return {};
}
