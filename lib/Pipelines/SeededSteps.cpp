//===- SeededSteps.cpp - the steps that a program is tried with -----------===//
#include "SeededSteps.h"

#include "SeededWeights.h"

#include <algorithm>

using namespace mlir;
using namespace llmc::reference;

namespace llmc {

/// Tokens that every embedding of the program has a row for.
static int64_t vocabularyOf(ModuleOp module) {
  int64_t rows = INT32_MAX;
  module.walk([&](llm::EmbeddingOp embedding) {
    rows = std::min(rows, cast<llm::WeightType>(embedding.getTable().getType()).getShape()[0]);
  });
  return rows;
}

/// The largest number below `most` that an attention, a chunk or a convolution counts back.
static int64_t reachOf(ModuleOp module, int64_t most) {
  int64_t reach = 0;
  module.walk([&](Operation *op) {
    for (StringRef name : {"window", "chunk", "block", "kernel"})
      if (auto number = op->getAttrOfType<IntegerAttr>(name))
        if (number.getInt() > reach && number.getInt() <= most)
          reach = number.getInt();
  });
  return reach;
}

static std::vector<int32_t> seededTokens(uint64_t seed, int64_t count, int64_t vocabulary) {
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(mixBits(seed * 1000 + uint64_t(i)) % uint64_t(vocabulary)));
  return tokens;
}

SmallVector<NamedStep> seededSteps(ModuleOp module, StepSize size, const StepLimits &limits) {
  int64_t vocabulary = vocabularyOf(module);
  int64_t first = 5, second = 3;
  if (size == StepSize::Few)
    first = 2, second = 1;
  else if (size == StepSize::Many)
    first = std::max<int64_t>(37, reachOf(module, 64) + 3);
  bool two = limits.sequences >= 2 && limits.outputs >= 2 && limits.tokens >= 3;
  second = std::max<int64_t>(1, std::min({second, limits.context - 1, limits.tokens - 2}));
  first = std::max<int64_t>(
      1, std::min({first, limits.context - 1, limits.tokens - (two ? second : 0)}));
  NamedStep prefill{"prefill", {}}, decode{"decode", {}};
  prefill.step.add(0, 0, seededTokens(1, first, vocabulary));
  decode.step.add(0, first, seededTokens(3, 1, vocabulary));
  prefill.step.batch.outputRows = {first - 1};
  decode.step.batch.outputRows = {0};
  if (two) {
    prefill.step.add(1, 0, seededTokens(2, second, vocabulary));
    decode.step.add(1, second, seededTokens(4, 1, vocabulary));
    prefill.step.batch.outputRows.push_back(first + second - 1);
    decode.step.batch.outputRows.push_back(1);
  }
  SmallVector<NamedStep> steps{prefill};
  // A context of one position has no room for another.
  if (first < limits.context)
    steps.push_back(decode);
  return steps;
}

} // namespace llmc
