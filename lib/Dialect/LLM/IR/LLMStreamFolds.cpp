//===- LLMStreamFolds.cpp - folds of stream arithmetic --------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"

using namespace mlir;
using namespace llmc::llm;

// A factor that is 1 in f32 changes no value.
OpFoldResult ScaleOp::fold(FoldAdaptor) {
  if (static_cast<float>(getFactor().convertToDouble()) == 1.0f)
    return getInput();
  return {};
}
