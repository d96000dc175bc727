//===- FuseLinearResidual.cpp - a product and its residual add ------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSELINEARRESIDUALPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static std::optional<FusionRefusal> whyNot(ResidualAddOp add) {
  Value delta = add.getDelta();
  Operation *product = delta.getDefiningOp();
  if (!isa_and_present<LinearOp, ExpertSumOp>(product))
    return refuseSource("delta comes", delta);
  if (product->getBlock() != add->getBlock())
    return FusionRefusal{predicate::sameBlock, "delta is made in another block"};
  if (!delta.hasOneUse())
    return FusionRefusal{predicate::singleUse, "the product has another use than the add"};
  return std::nullopt;
}

namespace {
struct FuseLinearResidualPass : FusionPassOver<llmc::llm::impl::FuseLinearResidualPassBase<FuseLinearResidualPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("linear-residual", settings());
    for (ResidualAddOp add : collectUnfused<ResidualAddOp>(getOperation())) {
      if (std::optional<FusionRefusal> refusal = whyNot(add))
        fuser.missed(add, *refusal);
      else
        fuser.fuse({add.getDelta().getDefiningOp(), add});
    }
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      if (auto refusal = refuseFusedReader("the product", product, llvm::IsaPred<ResidualAddOp>))
        fuser.missed(product, *refusal);
  }
};
} // namespace
