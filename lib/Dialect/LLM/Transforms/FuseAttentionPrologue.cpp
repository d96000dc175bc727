//===- FuseAttentionPrologue.cpp - head norms, rotary, append -------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEATTENTIONPROLOGUEPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

namespace {
/// The rotary ops of one append and of the attention that reads its state.
struct Prologue {
  RotaryOp q, k;
  std::optional<FusionRefusal> obstacle;
};
} // namespace

static Prologue match(KVAppendOp append) {
  Prologue prologue;
  auto refuse = [&](StringRef predicate, const Twine &reason) {
    prologue.obstacle = {predicate, reason.str()};
    return prologue;
  };
  prologue.k = append.getKey().getDefiningOp<RotaryOp>();
  if (!prologue.k)
    return refuse(predicate::producer, "the key comes from " + describeSource(append.getKey()));
  SmallVector<PagedAttentionOp> readers;
  for (Operation *user : append->getUsers())
    if (auto attention = dyn_cast<PagedAttentionOp>(user))
      readers.push_back(attention);
  if (readers.size() != 1)
    return refuse(predicate::readers, Twine(readers.size()) + " attentions read the state");
  Value query = readers.front().getQuery();
  prologue.q = query.getDefiningOp<RotaryOp>();
  if (!prologue.q)
    return refuse(predicate::producer, "the query comes from " + describeSource(query));
  if (prologue.q == prologue.k)
    return refuse(predicate::producer, "query and key are the same value");
  if (prologue.q.getRope() != prologue.k.getRope())
    return refuse(predicate::sameSettings, "query and key have different rotary records");
  if (prologue.q.getFirst() != prologue.k.getFirst())
    return refuse(predicate::sameSettings, "query and key turn from different channels on");
  if (prologue.q.getBatch() != append.getBatch() || prologue.k.getBatch() != append.getBatch())
    return refuse(predicate::sameInput, "rotary and append have different batches");
  if (prologue.q->getBlock() != append->getBlock() || prologue.k->getBlock() != append->getBlock())
    return refuse(predicate::sameBlock, "rotary and append are in different blocks");
  return prologue;
}

/// The norm over heads before a rotary, where only the rotary reads it. The kernel's norm has
/// a scale.
static RMSNormOp headNormOf(RotaryOp rotary) {
  auto norm = rotary.getInput().getDefiningOp<RMSNormOp>();
  bool fits = norm && norm.getScale() && norm->hasOneUse() && norm->getBlock() == rotary->getBlock();
  return fits ? norm : RMSNormOp();
}

namespace {
struct FuseAttentionProloguePass : FusionPassOver<llmc::llm::impl::FuseAttentionProloguePassBase<FuseAttentionProloguePass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("attention-prologue", settings());
    for (KVAppendOp append : collectUnfused<KVAppendOp>(getOperation())) {
      Prologue prologue = match(append);
      if (prologue.obstacle) {
        fuser.missed(append, *prologue.obstacle);
        continue;
      }
      SmallVector<Operation *> ops{prologue.q, prologue.k, append};
      for (RotaryOp rotary : {prologue.q, prologue.k})
        if (RMSNormOp norm = headNormOf(rotary))
          ops.push_back(norm);
      fuser.fuse(ops);
    }
  }
};
} // namespace
