//===- FuseGatedLinear.cpp - two products and their gate ------------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEGATEDLINEARPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// The predicate that keeps `product` out, or nothing.
static std::optional<FusionRefusal> whyNot(StringRef name, Value value, GateOp gate) {
  Operation *product = value.getDefiningOp();
  if (!isa_and_present<LinearOp, ExpertLinearOp>(product))
    return refuseSource(name + " comes", value);
  if (product->getBlock() != gate->getBlock())
    return FusionRefusal{predicate::sameBlock, (name + " is made in another block").str()};
  if (!value.hasOneUse())
    return FusionRefusal{predicate::singleUse, (name + " has another use than the gate").str()};
  return std::nullopt;
}

static WeightType weightOf(Operation *product) {
  if (auto expert = dyn_cast<ExpertLinearOp>(product))
    return cast<WeightType>(expert.getWeight().getType());
  return cast<WeightType>(cast<LinearOp>(product).getWeight().getType());
}

static std::optional<FusionRefusal> whyNot(GateOp gate) {
  if (std::optional<FusionRefusal> refusal = whyNot("gate", gate.getGate(), gate))
    return refusal;
  if (std::optional<FusionRefusal> refusal = whyNot("up", gate.getUp(), gate))
    return refusal;
  // Of one type, so that both are products of experts or neither is.
  Operation *g = gate.getGate().getDefiningOp(), *u = gate.getUp().getDefiningOp();
  if (g->getOperand(0) != u->getOperand(0))
    return FusionRefusal{predicate::sameInput, "gate and up are products of different inputs"};
  if (auto expert = dyn_cast<ExpertLinearOp>(g)) {
    if (expert.getChoice() != cast<ExpertLinearOp>(u).getChoice())
      return FusionRefusal{predicate::sameInput,
                           "gate and up are products of different choices of experts"};
    if (weightOf(g).getShape()[0] != weightOf(u).getShape()[0])
      return FusionRefusal{predicate::sameShape, "gate and up have different numbers of experts"};
  }
  if (weightOf(g).getStorage() != weightOf(u).getStorage())
    return FusionRefusal{predicate::sameStorage, "gate is stored as " +
                                                     weightOf(g).getStorageName() + ", up as " +
                                                     weightOf(u).getStorageName()};
  return std::nullopt;
}

namespace {
struct FuseGatedLinearPass : FusionPassOver<llmc::llm::impl::FuseGatedLinearPassBase<FuseGatedLinearPass>> {
  using FusionPassOver::FusionPassOver;

  bool hasEpilogue(Activation function) const {
    if (!activations.empty())
      return llvm::is_contained(activations, stringifyActivation(function));
    return function == Activation::Silu || function == Activation::GeluErf ||
           function == Activation::GeluTanh;
  }

  void runOnOperation() override {
    Fuser fuser("gated-linear", settings());
    for (GateOp gate : collectUnfused<GateOp>(getOperation())) {
      if (!hasEpilogue(gate.getFunction())) {
        fuser.missed(gate, predicate::kernel,
                     "no product's epilogue has " + stringifyActivation(gate.getFunction()));
        continue;
      }
      if (std::optional<FusionRefusal> refusal = whyNot(gate)) {
        fuser.missed(gate, *refusal);
        continue;
      }
      fuser.fuse({gate.getGate().getDefiningOp(), gate.getUp().getDefiningOp(), gate});
    }
    auto report = [&](Operation *product) {
      Value value = product->getResult(0);
      // One of the two products says it.
      auto isGated = [&](Operation *op) {
        auto gate = dyn_cast<GateOp>(op);
        auto input = gate ? dyn_cast<BlockArgument>(gate.getGate()) : BlockArgument();
        return input && op->getParentOp()->getOperand(input.getArgNumber()) == value;
      };
      if (auto refusal = refuseFusedReader("the product", value, isGated))
        fuser.missed(product, *refusal);
    };
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      report(product);
    for (ExpertLinearOp product : collectUnfused<ExpertLinearOp>(getOperation()))
      report(product);
  }
};
} // namespace
