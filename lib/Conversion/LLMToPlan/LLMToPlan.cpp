//===- LLMToPlan.cpp - the pass -------------------------------------------===//
#include "Converter.h"

#include "llmc/Conversion/Passes.h"

using namespace mlir;

namespace llmc {

#define GEN_PASS_DEF_CONVERTLLMTOPLANPASS
#include "llmc/Conversion/Passes.h.inc"

namespace {

struct ConvertLLMToPlan : impl::ConvertLLMToPlanPassBase<ConvertLLMToPlan> {
  using ConvertLLMToPlanPassBase::ConvertLLMToPlanPassBase;

  void runOnOperation() override {
    PlanOptions options{target, maxTokens, maxOutputs, maxSequences, maxContext, blockTokens, blocks};
    if (failed(Converter(getOperation(), options).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc
