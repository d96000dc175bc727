//===- FuseGatedLinear.cpp - two products and their gate ------------------===//
#include "FusionUtils.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEGATEDLINEARPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// The predicate that keeps `product` out, or nothing.
static std::string whyNot(StringRef name, Value value, GateOp gate) {
  Operation *product = value.getDefiningOp();
  if (!isa_and_present<LinearOp, ExpertLinearOp>(product))
    return (name + " comes from " + describeSource(value)).str();
  if (product->getBlock() != gate->getBlock())
    return (name + " is made in another block").str();
  if (!value.hasOneUse())
    return (name + " has another use than the gate").str();
  return {};
}

static WeightType weightOf(Operation *product) {
  if (auto expert = dyn_cast<ExpertLinearOp>(product))
    return cast<WeightType>(expert.getWeight().getType());
  return cast<WeightType>(cast<LinearOp>(product).getWeight().getType());
}

static std::string whyNot(GateOp gate) {
  if (std::string reason = whyNot("gate", gate.getGate(), gate); !reason.empty())
    return reason;
  if (std::string reason = whyNot("up", gate.getUp(), gate); !reason.empty())
    return reason;
  Operation *g = gate.getGate().getDefiningOp(), *u = gate.getUp().getDefiningOp();
  if (g->getName() != u->getName())
    return "gate is a product of " + g->getName().getStringRef().str() + ", up of " +
           u->getName().getStringRef().str();
  if (g->getOperand(0) != u->getOperand(0))
    return "gate and up are products of different inputs";
  if (auto expert = dyn_cast<ExpertLinearOp>(g)) {
    if (expert.getChoice() != cast<ExpertLinearOp>(u).getChoice())
      return "gate and up are products of different choices of experts";
    if (weightOf(g).getShape()[0] != weightOf(u).getShape()[0])
      return "gate and up have different numbers of experts";
  }
  if (weightOf(g).getStorage() != weightOf(u).getStorage())
    return "gate is stored as " + weightOf(g).getStorageName() + ", up as " +
           weightOf(u).getStorageName();
  return {};
}

namespace {
struct FuseGatedLinearPass : llmc::llm::impl::FuseGatedLinearPassBase<FuseGatedLinearPass> {
  using Base::Base;

  bool hasEpilogue(Activation function) const {
    if (!activations.empty())
      return llvm::is_contained(activations, stringifyActivation(function));
    return function == Activation::Silu || function == Activation::GeluErf ||
           function == Activation::GeluTanh;
  }

  void runOnOperation() override {
    Fuser fuser("gated-linear", enabled);
    for (GateOp gate : collectUnfused<GateOp>(getOperation())) {
      if (!hasEpilogue(gate.getFunction())) {
        fuser.missed(gate, "no product's epilogue has " + stringifyActivation(gate.getFunction()));
        continue;
      }
      if (std::string reason = whyNot(gate); !reason.empty()) {
        fuser.missed(gate, reason);
        continue;
      }
      fuser.fuse({gate.getGate().getDefiningOp(), gate.getUp().getDefiningOp(), gate});
    }
  }
};
} // namespace
