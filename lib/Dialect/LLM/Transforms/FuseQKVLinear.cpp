//===- FuseQKVLinear.cpp - products of the same input ---------------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
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
        fuser.fuse(group);
        continue;
      }
      if (byStorage.size() == 1)
        continue;
      auto nameOf = [](Operation *op) {
        return cast<WeightType>(cast<LinearOp>(op).getWeight().getType()).getStorageName();
      };
      bool isFirst = &group == &byStorage.front().second;
      auto &other = isFirst ? byStorage.back().second : byStorage.front().second;
      fuser.missed(group.front(), predicate::sameStorage,
                   "the weight is stored as " + nameOf(group.front()) +
                       ", another product of the input as " + nameOf(other.front()));
    }
  }
};
} // namespace
