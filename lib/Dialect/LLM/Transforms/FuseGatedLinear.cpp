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
  auto product = value.getDefiningOp<LinearOp>();
  if (!product)
    return (name + " comes from " + describeSource(value)).str();
  if (product->getBlock() != gate->getBlock())
    return (name + " is made in another block").str();
  if (!value.hasOneUse())
    return (name + " has another use than the gate").str();
  return {};
}

static std::string whyNot(GateOp gate) {
  if (std::string reason = whyNot("gate", gate.getGate(), gate); !reason.empty())
    return reason;
  if (std::string reason = whyNot("up", gate.getUp(), gate); !reason.empty())
    return reason;
  auto g = gate.getGate().getDefiningOp<LinearOp>(), u = gate.getUp().getDefiningOp<LinearOp>();
  if (g.getInput() != u.getInput())
    return "gate and up are products of different inputs";
  auto storageOf = [](LinearOp op) { return cast<WeightType>(op.getWeight().getType()); };
  if (storageOf(g).getStorage() != storageOf(u).getStorage())
    return "gate is stored as " + storageOf(g).getStorageName() + ", up as " +
           storageOf(u).getStorageName();
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
