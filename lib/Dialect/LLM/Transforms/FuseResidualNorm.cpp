//===- FuseResidualNorm.cpp - a residual add and its norm -----------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSERESIDUALNORMPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// Whether the value is a sum that an earlier fusion took.
static bool isFusedSum(Value value) { return isa_and_present<ResidualAddOp>(makerInFusion(value)); }

/// The norms and scales behind `value` that nothing else reads, the last one first.
static SmallVector<Operation *> rowOpsBehind(Value value, Block *block) {
  SmallVector<Operation *> ops;
  for (Operation *op = value.getDefiningOp();
       isa_and_nonnull<RMSNormOp, LayerNormOp, ScaleOp>(op) && op->getBlock() == block &&
       op->hasOneUse();
       op = op->getOperand(0).getDefiningOp())
    ops.push_back(op);
  return ops;
}

/// The first norm that reads the sum; reports the norms that cannot have it.
static Operation *normOf(ResidualAddOp add, Fuser &fuser) {
  Operation *first = nullptr;
  for (Operation *user : add->getUsers()) {
    if (!isa<RMSNormOp, LayerNormOp>(user) || user->getOperand(0) != add.getResult())
      continue;
    if (user->getBlock() != add->getBlock())
      fuser.missed(user, predicate::sameBlock, "the sum is made in another block");
    else if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  return first;
}

namespace {
struct FuseResidualNormPass : FusionPassOver<llmc::llm::impl::FuseResidualNormPassBase<FuseResidualNormPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("residual-norm", settings());
    for (ResidualAddOp add : collectUnfused<ResidualAddOp>(getOperation()))
      fuseAdd(fuser, add);
    // What is left reads a sum that a fusion has.
    auto report = [&](Operation *norm) {
      Value sum = norm->getOperand(0);
      if (isFusedSum(sum))
        fuser.missed(norm, predicate::otherFusion, "the sum is part of " + describeSource(sum));
    };
    for (RMSNormOp norm : collectUnfused<RMSNormOp>(getOperation()))
      report(norm);
    for (LayerNormOp norm : collectUnfused<LayerNormOp>(getOperation()))
      report(norm);
  }

  void fuseAdd(Fuser &fuser, ResidualAddOp add) {
    SmallVector<Operation *> ops = rowOpsBehind(add.getDelta(), add->getBlock());
    ops.push_back(add);
    if (Operation *norm = normOf(add, fuser))
      ops.push_back(norm);
    if (ops.size() == 1) {
      if (auto refusal = refuseFusedReader("the sum", add, llvm::IsaPred<RMSNormOp, LayerNormOp>))
        fuser.missed(add, *refusal);
      return;
    }
    int64_t width = cast<RankedTensorType>(add.getResult().getType()).getShape().back();
    if (width > maxHiddenSize)
      return fuser.missed(ops.back(), predicate::width,
                          "the row has " + Twine(width) + " elements, more than " +
                              Twine(maxHiddenSize),
                          {{"width", width}, {"limit", int64_t(maxHiddenSize)}});
    fuser.fuse(ops);
  }
};
} // namespace
