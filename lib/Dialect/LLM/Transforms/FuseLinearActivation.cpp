//===- FuseLinearActivation.cpp - a product and its activation ------------===//
#include "FusionUtils.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSELINEARACTIVATIONPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static std::string whyNot(ActivationOp activation) {
  Value value = activation.getInput();
  Operation *product = value.getDefiningOp();
  if (!isa_and_present<LinearOp, ExpertLinearOp>(product))
    return "the input comes from " + describeSource(value);
  if (product->getBlock() != activation->getBlock())
    return "the input is made in another block";
  if (!value.hasOneUse())
    return "the product has another use than the activation";
  return {};
}

namespace {
struct FuseLinearActivationPass
    : llmc::llm::impl::FuseLinearActivationPassBase<FuseLinearActivationPass> {
  using Base::Base;

  void runOnOperation() override {
    Fuser fuser("linear-activation", enabled);
    for (ActivationOp activation : collectUnfused<ActivationOp>(getOperation())) {
      if (std::string reason = whyNot(activation); !reason.empty())
        fuser.missed(activation, reason);
      else
        fuser.fuse({activation.getInput().getDefiningOp(), activation});
    }
  }
};
} // namespace
