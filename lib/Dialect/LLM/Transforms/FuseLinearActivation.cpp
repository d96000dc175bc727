//===- FuseLinearActivation.cpp - a product and its activation ------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSELINEARACTIVATIONPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// Whether a reader would expect the fusion: behind a product, which may be part of another
/// fusion by now, or of which the ranks make a sum.
static bool followsProduct(ActivationOp activation) {
  Operation *source = activation.getInput().getDefiningOp();
  if (isSumOverRanks(activation.getInput()))
    source = source->getOperand(0).getDefiningOp();
  if (auto fusion = dyn_cast_if_present<FusionOp>(source))
    return llvm::any_of(fusion.getBody().front(),
                        [](Operation &op) { return isa<LinearOp, ExpertLinearOp>(op); });
  return isa_and_present<LinearOp, ExpertLinearOp>(source);
}

static std::optional<FusionRefusal> whyNot(ActivationOp activation) {
  Value value = activation.getInput();
  Operation *product = value.getDefiningOp();
  if (!isa<LinearOp, ExpertLinearOp>(product))
    return refuseSource("the input comes", value);
  if (product->getBlock() != activation->getBlock())
    return FusionRefusal{predicate::sameBlock, "the input is made in another block"};
  if (!value.hasOneUse())
    return FusionRefusal{predicate::singleUse,
                         "the product has another use than the activation"};
  return std::nullopt;
}

namespace {
struct FuseLinearActivationPass : FusionPassOver<llmc::llm::impl::FuseLinearActivationPassBase<FuseLinearActivationPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("linear-activation", settings());
    for (ActivationOp activation : collectUnfused<ActivationOp>(getOperation())) {
      if (!followsProduct(activation))
        continue;
      if (std::optional<FusionRefusal> refusal = whyNot(activation))
        fuser.missed(activation, *refusal);
      else
        fuser.fuse({activation.getInput().getDefiningOp(), activation});
    }
    auto report = [&](Operation *product) {
      if (auto refusal = refuseFusedReader("the product", product->getResult(0), llvm::IsaPred<ActivationOp>))
        fuser.missed(product, *refusal);
    };
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      report(product);
    for (ExpertLinearOp product : collectUnfused<ExpertLinearOp>(getOperation()))
      report(product);
  }
};
} // namespace
