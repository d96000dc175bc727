//===- FuseRouter.cpp - a router's product and its choice -----------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEROUTERPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// Operations on logits, which the kernel does on a row that it has just computed.
static bool isRowOp(Operation *op) {
  return isa_and_present<ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, SoftmaxOp, RMSNormOp,
                         LayerNormOp>(op);
}

static std::optional<FusionRefusal> collect(RouteOp route, SmallVectorImpl<Operation *> &ops) {
  ops.push_back(route);
  for (Value value = route.getLogits();;) {
    Operation *op = value.getDefiningOp();
    if (!isRowOp(op) && !isa_and_present<LinearOp>(op))
      return refuseSource("the logits come", value);
    if (op->getBlock() != route->getBlock())
      return FusionRefusal{predicate::sameBlock, "the logits are made in another block"};
    if (!value.hasOneUse())
      return FusionRefusal{predicate::singleUse, "the logits have another use than the router"};
    ops.push_back(op);
    if (isa<LinearOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
}

/// A step of one token has one item of work, so that one thread reads all of the weight. A product
/// by itself is shared where its features are many.
static std::optional<FusionRefusal> judgeSharing(LinearOp product, int64_t features,
                                                 const llmc::FusionFigures &figures) {
  auto type = cast<WeightType>(product.getWeight().getType());
  int64_t bytes = type.getStorageBytes(), rows = type.getShape()[0];
  // What the second of two threads would have read at the same time.
  double lost = double(bytes) / 2 / figures.bytesPerSecond;
  if (rows <= features || lost <= figures.launchSeconds)
    return std::nullopt;
  return FusionRefusal{
      predicate::cost,
      llvm::formatv("one thread reads {0} bytes of weight that threads of a product of its own share",
                    bytes)
          .str(),
      {{"tokens", 1}, {"weight_bytes", bytes}, {"nanoseconds", int64_t((lost - figures.launchSeconds) * 1e9)}}};
}

namespace {
struct FuseRouterPass : FusionPassOver<llmc::llm::impl::FuseRouterPassBase<FuseRouterPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("router", settings());
    for (RouteOp route : collectUnfused<RouteOp>(getOperation())) {
      SmallVector<Operation *> ops;
      std::optional<FusionRefusal> refusal = collect(route, ops);
      if (!refusal && route.getTable())
        refusal = {predicate::kernel, "experts are named by a table; the scores only weigh them"};
      if (!refusal)
        refusal = judgeSharing(cast<LinearOp>(ops.back()), sharedFeatures, fuser.figures());
      if (refusal)
        fuser.missed(route, *refusal);
      else
        fuser.fuse(ops);
    }
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      if (auto refusal = refuseFusedReader("the product", product, llvm::IsaPred<RouteOp>))
        fuser.missed(product, *refusal);
  }
};
} // namespace
