//===- FuseResidualNorm.cpp - a residual add and its norm -----------------===//
#include "FusionUtils.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSERESIDUALNORMPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// Whether the value is a sum that an earlier fusion took.
static bool isFusedSum(Value value) {
  auto fusion = value.getDefiningOp<FusionOp>();
  if (!fusion)
    return false;
  auto yield = cast<YieldOp>(fusion.getBody().front().getTerminator());
  Value inner = yield.getValues()[cast<OpResult>(value).getResultNumber()];
  return inner.getDefiningOp<ResidualAddOp>() != nullptr;
}

namespace {
struct FuseResidualNormPass : llmc::llm::impl::FuseResidualNormPassBase<FuseResidualNormPass> {
  using Base::Base;

  void runOnOperation() override {
    Fuser fuser("residual-norm", enabled);
    for (RMSNormOp norm : collectUnfused<RMSNormOp>(getOperation()))
      fuseNorm(fuser, norm);
    for (LayerNormOp norm : collectUnfused<LayerNormOp>(getOperation()))
      fuseNorm(fuser, norm);
  }

  void fuseNorm(Fuser &fuser, Operation *norm) {
    // The first norm of several that read a sum has it; the others then see a
    // fusion's result.
    Value sum = norm->getOperand(0);
    if (isFusedSum(sum))
      return fuser.missed(norm, "the sum is part of " + describeSource(sum));
    auto add = sum.getDefiningOp<ResidualAddOp>();
    if (!add)
      return;
    if (add->getBlock() != norm->getBlock())
      return fuser.missed(norm, "the sum is made in another block");
    int64_t width = cast<RankedTensorType>(sum.getType()).getShape().back();
    if (width > maxHiddenSize)
      return fuser.missed(norm, "the row has " + Twine(width) + " elements, more than " +
                                    Twine(maxHiddenSize));
    fuser.fuse({add, norm});
  }
};
} // namespace
