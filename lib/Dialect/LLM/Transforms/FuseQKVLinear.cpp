//===- FuseQKVLinear.cpp - products of the same input ---------------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Kernels/CPU/LinearKernels.h"
#include "llvm/ADT/MapVector.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEQKVLINEARPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static bool feedsGate(LinearOp product) {
  return llvm::any_of(product->getUsers(), llvm::IsaPred<GateOp>);
}

static WeightType weightOf(Operation *product) {
  return cast<WeightType>(cast<LinearOp>(product).getWeight().getType());
}

/// Features with what an item of the product's kernel has behind them.
static int64_t paddedFeatures(int64_t features) {
  return llvm::alignTo(features, llmc::kernels::panelFeatures *
                                     llmc::kernels::linearTile(features, /*gated=*/false));
}

/// One launch has wider items than several small ones, and more padding to read.
static FusionCost costOfPadding(ArrayRef<Operation *> products) {
  int64_t features = 0, apart = 0;
  for (Operation *product : products) {
    features += weightOf(product).getShape()[0];
    apart += paddedFeatures(weightOf(product).getShape()[0]);
  }
  WeightType any = weightOf(products.front());
  FusionCost more;
  more.weightBytes = std::max<int64_t>(paddedFeatures(features) - apart, 0) *
                     (any.getStorageBytes() / any.getShape()[0]);
  return more;
}

namespace {
struct FuseQKVLinearPass : FusionPassOver<llmc::llm::impl::FuseQKVLinearPassBase<FuseQKVLinearPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("qkv-linear", settings());
    llvm::MapVector<std::pair<Block *, Value>, SmallVector<LinearOp>> siblings;
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      siblings[{product->getBlock(), product.getInput()}].push_back(product);
    for (auto &[key, products] : siblings)
      if (products.size() > 1)
        fuseSiblings(fuser, products);
  }

  /// Products of one input: those of each storage become one fusion.
  void fuseSiblings(Fuser &fuser, ArrayRef<LinearOp> products) {
    llvm::MapVector<Attribute, SmallVector<Operation *>> byStorage;
    for (LinearOp product : products) {
      if (feedsGate(product)) {
        fuser.missed(product, predicate::otherFusion,
                     "the product belongs to llm.gate (gated-linear)");
        continue;
      }
      byStorage[cast<WeightType>(product.getWeight().getType()).getStorage()].push_back(product);
    }
    for (auto &[storage, group] : byStorage) {
      if (group.size() > 1) {
        fuseGroup(fuser, group);
        continue;
      }
      if (byStorage.size() == 1)
        continue;
      auto nameOf = [](Operation *op) { return weightOf(op).getStorageName(); };
      bool isFirst = &group == &byStorage.front().second;
      auto &other = isFirst ? byStorage.back().second : byStorage.front().second;
      fuser.missed(group.front(), predicate::sameStorage,
                   "the weight is stored as " + nameOf(group.front()) +
                       ", another product of the input as " + nameOf(other.front()));
    }
  }

  /// Without narrow products that cost more as part of it than their launch does.
  void fuseGroup(Fuser &fuser, SmallVector<Operation *> group) {
    for (;;) {
      FusionCost more = costOfPadding(group);
      std::optional<FusionRefusal> refusal = fuser.check(group, more);
      if (!fuser.isEnabled() || group.size() == 2 || !refusal || refusal->predicate != predicate::cost) {
        fuser.fuse(group, more);
        return;
      }
      auto narrowest = llvm::min_element(group, [](Operation *a, Operation *b) {
        return weightOf(a).getShape()[0] < weightOf(b).getShape()[0];
      });
      fuser.missed(*narrowest, *refusal);
      group.erase(narrowest);
    }
  }
};
} // namespace
