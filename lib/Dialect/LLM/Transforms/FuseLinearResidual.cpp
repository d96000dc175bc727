//===- FuseLinearResidual.cpp - a product and its residual add ------------===//
#include "FusionUtils.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSELINEARRESIDUALPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static std::string whyNot(ResidualAddOp add) {
  Value delta = add.getDelta();
  Operation *product = delta.getDefiningOp();
  if (!isa_and_present<LinearOp, ExpertSumOp>(product))
    return "delta comes from " + describeSource(delta);
  if (product->getBlock() != add->getBlock())
    return "delta is made in another block";
  if (!delta.hasOneUse())
    return "the product has another use than the add";
  return {};
}

namespace {
struct FuseLinearResidualPass
    : llmc::llm::impl::FuseLinearResidualPassBase<FuseLinearResidualPass> {
  using Base::Base;

  void runOnOperation() override {
    Fuser fuser("linear-residual", enabled);
    for (ResidualAddOp add : collectUnfused<ResidualAddOp>(getOperation())) {
      if (std::string reason = whyNot(add); !reason.empty())
        fuser.missed(add, reason);
      else
        fuser.fuse({add.getDelta().getDefiningOp(), add});
    }
  }
};
} // namespace
