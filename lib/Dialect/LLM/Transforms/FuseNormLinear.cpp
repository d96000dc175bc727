//===- FuseNormLinear.cpp - a norm and the products of its rows -----------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSENORMLINEARPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// Rows that a product takes at a time.
static constexpr int64_t preparedRows = 96;

static bool isProduct(Operation *op) { return isa<LinearOp, OutputHeadOp>(op); }

/// Why `reader`, a product or a fusion, does anything but multiply the rows of `norm`, if so.
static std::optional<FusionRefusal> whyNotMultiplied(Operation *norm, Operation *reader) {
  auto onlyMultiplies = [](Value rows) {
    return llvm::all_of(rows.getUses(), [](OpOperand &use) {
      return isProduct(use.getOwner()) && use.getOperandNumber() == 0;
    });
  };
  if (reader->getBlock() != norm->getBlock())
    return FusionRefusal{predicate::sameBlock, "the rows are read in another block"};
  if (isProduct(reader))
    return std::nullopt;
  auto fusion = cast<FusionOp>(reader);
  Block &body = fusion.getBody().front();
  for (auto [input, argument] : llvm::zip_equal(fusion.getInputs(), body.getArguments()))
    if (input == norm->getResult(0) && !onlyMultiplies(argument))
      return FusionRefusal{predicate::kernel, describeSource(fusion.getResult(0)) +
                                                  " does more with the rows than products do"};
  for (Operation &op : body.without_terminator())
    if (isProduct(&op) && !isa<BlockArgument>(op.getOperand(0)))
      return FusionRefusal{predicate::otherFusion, "the product has rows of its own making"};
    else if (!isProduct(&op) && !isa<GateOp, ActivationOp, ResidualAddOp, ScaleOp, OffsetOp,
                                     ClampOp, SoftcapOp, BinaryOp>(op))
      return FusionRefusal{predicate::kernel, "no product's kernel has " +
                                                  op.getName().getStringRef().str()};
  return std::nullopt;
}

namespace {
struct FuseNormLinearPass
    : FusionPassOver<llmc::llm::impl::FuseNormLinearPassBase<FuseNormLinearPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("norm-linear", settings());
    for (RMSNormOp norm : collectUnfused<RMSNormOp>(getOperation()))
      fuseNorm(norm, /*operations=*/5, fuser);
    for (LayerNormOp norm : collectUnfused<LayerNormOp>(getOperation()))
      fuseNorm(norm, /*operations=*/8, fuser);
    // What is left multiplies rows that another fusion makes.
    auto report = [&](Operation *product) {
      Value rows = product->getOperand(0);
      if (isa_and_present<RMSNormOp, LayerNormOp>(makerInFusion(rows)))
        fuser.missed(product, predicate::otherFusion, "the norm is part of " + describeSource(rows));
    };
    for (LinearOp product : collectUnfused<LinearOp>(getOperation()))
      report(product);
    for (OutputHeadOp product : collectUnfused<OutputHeadOp>(getOperation()))
      report(product);
  }

  /// What is read and computed once more by each range but the first.
  FusionCost costOfRanges(int64_t width, int64_t operations) const {
    FusionCost more;
    more.recomputedBytes = (ranges - 1) * width * 4;
    more.recomputedOperations = (ranges - 1) * width * operations;
    more.scratchBytes = preparedRows * width * 4;
    return more;
  }

  void fuseNorm(Operation *norm, int64_t operations, Fuser &fuser) {
    auto type = cast<RankedTensorType>(norm->getResult(0).getType());
    llvm::SmallSetVector<Operation *, 4> readers(norm->user_begin(), norm->user_end());
    bool multiplied = llvm::any_of(readers, [](Operation *reader) {
      return isa<LinearOp, OutputHeadOp, FusionOp>(reader);
    });
    // Norms of heads, and those that no product reads, are no match.
    if (type.getRank() != 2 || !multiplied)
      return;
    if (readers.size() != 1)
      return fuser.missed(norm, predicate::readers,
                          llvm::Twine(readers.size()) +
                              " launches read the rows; each would make them again",
                          {{"readers", int64_t(readers.size())}});
    Operation *reader = readers.front();
    if (std::optional<FusionRefusal> refusal = whyNotMultiplied(norm, reader))
      return fuser.missed(norm, *refusal);
    if (!fuser.isEnabled())
      return fuser.missed(norm, predicate::enabled, "the pattern is disabled");
    SmallVector<Operation *> ops;
    if (auto select = norm->getOperand(0).getDefiningOp<SelectRowsOp>();
        select && select->hasOneUse() && select->getBlock() == norm->getBlock())
      ops.push_back(select);
    ops.push_back(norm);
    FusionCost more = costOfRanges(type.getShape().back(), operations);
    SmallVector<Operation *> launches(ops);
    launches.push_back(reader);
    if (std::optional<FusionRefusal> refusal = fuser.check(launches, more))
      return fuser.missed(norm, *refusal);
    auto fusion = dyn_cast<FusionOp>(reader);
    if (!fusion) {
      ops.push_back(reader);
      fuser.fuse(ops, more);
      return;
    }
    std::string pattern = fusion.getPattern().str();
    SmallVector<Operation *> body;
    for (Operation &op : fusion.getBody().front().without_terminator())
      body.push_back(&op);
    inlineFusion(fusion);
    llvm::append_range(ops, body);
    // Of what its pattern was allowed to round, this one may have other settings.
    if (!fuser.fuse(ops, more)) {
      OpBuilder builder(body.back());
      makeFusion(builder, body, pattern);
    }
  }
};
} // namespace
