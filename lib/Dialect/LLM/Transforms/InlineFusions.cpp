//===- InlineFusions.cpp - the inverse of the fusion passes ---------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_INLINEFUSIONSPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

void llmc::llm::inlineFusion(FusionOp fusion) {
  Block &body = fusion.getBody().front();
  for (auto [argument, input] : llvm::zip_equal(body.getArguments(), fusion.getInputs()))
    argument.replaceAllUsesWith(input);
  auto yield = cast<YieldOp>(body.getTerminator());
  fusion.replaceAllUsesWith(yield.getValues());
  yield.erase();
  fusion->getBlock()->getOperations().splice(fusion->getIterator(), body.getOperations());
  fusion.erase();
}

namespace {
struct InlineFusionsPass : llmc::llm::impl::InlineFusionsPassBase<InlineFusionsPass> {
  using Base::Base;

  void runOnOperation() override {
    // Inner fusions first: a fusion may hold another.
    SmallVector<FusionOp> fusions;
    getOperation()->walk([&](FusionOp fusion) {
      if (patterns.empty() || llvm::is_contained(patterns, fusion.getPattern()))
        fusions.push_back(fusion);
    });
    for (FusionOp fusion : fusions)
      inlineFusion(fusion);
  }
};
} // namespace
