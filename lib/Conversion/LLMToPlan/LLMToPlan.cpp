//===- LLMToPlan.cpp - the pass -------------------------------------------===//
#include "Converter.h"

#include "llmc/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace llmc {

#define GEN_PASS_DEF_CONVERTLLMTOPLANPASS
#include "llmc/Conversion/Passes.h.inc"

namespace {

struct ConvertLLMToPlan : impl::ConvertLLMToPlanPassBase<ConvertLLMToPlan> {
  using ConvertLLMToPlanPassBase::ConvertLLMToPlanPassBase;

  void runOnOperation() override {
    if (generators != "tuned" && generators != "generic") {
      getOperation().emitError("generators=") << generators << " is not known; known: tuned, generic";
      return signalPassFailure();
    }
    PlanOptions options{target,     maxTokens,   maxOutputs, maxSequences,
                        maxContext, blockTokens, blocks,     generators == "generic",
                        device};
    if (failed(Converter(getOperation(), options).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc
