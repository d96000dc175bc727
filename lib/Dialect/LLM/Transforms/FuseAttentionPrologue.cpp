//===- FuseAttentionPrologue.cpp - head norms, rotary, append -------------===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEATTENTIONPROLOGUEPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static ArrayRef<int64_t> rowOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front();
}

namespace {
/// What q, k or v goes through before it is used: a norm over heads, then a rotary. The last
/// channels of q and k may be a part of their own, which alone turns then.
struct Chain {
  SmallVector<Operation *> ops;
  RotaryOp rotary;
  int64_t rest = 0;
  /// The first channel that turns.
  int64_t first() const {
    auto width = rest ? rowOf(end)[1] - rest : 0;
    return width + int64_t(RotaryOp(rotary).getFirst());
  }
  Value end;
};
} // namespace

/// Walks back from `value`, which is `chain`'s where nothing else reads it, and takes what leads to
/// it: a rotary, a norm, and what only cuts heads out of others.
static void walk(Value value, Block *block, bool mayTurn, bool mayNorm, bool isEnd, Chain &chain) {
  SmallVector<Operation *> views;
  for (bool free = isEnd;; free = false) {
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != block || !(free || value.hasOneUse()))
      return;
    auto slice = dyn_cast<SliceOp>(op);
    // Each piece is a part of one head; pieces of several heads have no one distance between heads.
    bool isPart = slice && rowOf(slice.getInput()).size() == 2 &&
                  rowOf(slice.getResult())[0] == rowOf(chain.end)[0];
    if (isa<SplitHeadsOp, MergeHeadsOp>(op)) {
      views.push_back(op);
      value = op->getOperand(0);
      continue;
    }
    auto rotary = dyn_cast<RotaryOp>(op);
    // A norm is of heads: of rows where these are one head each.
    bool isNorm = isa<RMSNormOp, LayerNormOp>(op) &&
                  (rowOf(value).size() == 2 || rowOf(value)[0] == rowOf(chain.end)[1] - chain.rest);
    if (!(isPart && value.hasOneUse()) && !(rotary && mayTurn) && !(isNorm && mayNorm))
      return;
    chain.ops.append(views);
    views.clear();
    chain.ops.push_back(op);
    if (isPart)
      return;
    if (rotary)
      chain.rotary = rotary;
    else
      mayNorm = false;
    mayTurn = false;
    value = op->getOperand(0);
  }
}

/// Of q or k, whose end others may read too.
static Chain chainOf(Value value, Block *block) {
  Chain chain;
  chain.end = value;
  auto concat = value.getDefiningOp<ConcatOp>();
  if (!concat || concat->getBlock() != block || concat.getInputs().size() != 2) {
    walk(value, block, true, true, true, chain);
    return chain;
  }
  chain.ops.push_back(concat);
  chain.rest = rowOf(concat.getInputs()[1]).back();
  walk(concat.getInputs()[0], block, false, true, false, chain);
  walk(concat.getInputs()[1], block, true, false, false, chain);
  return chain;
}

/// The query of the only attention that reads the state behind `append`, or why there is none.
static FailureOr<Value> findQuery(KVAppendOp append, FusionRefusal &refusal) {
  SmallVector<Value> queries;
  for (Operation *user : append->getUsers())
    if (auto attention = dyn_cast<PagedAttentionOp>(user))
      queries.push_back(attention.getQuery());
  if (queries.size() == 1)
    return queries.front();
  refusal = {predicate::readers,
             (Twine(queries.size()) + " attentions read the state").str(),
             {{"attentions", int64_t(queries.size())}}};
  return failure();
}

/// Why one kernel does not make `q` together with `k`, if so.
static std::optional<FusionRefusal> whyNotTogether(const Chain &q, const Chain &k,
                                                   KVAppendOp append) {
  auto refuse = [](StringRef predicate, const Twine &reason) {
    return FusionRefusal{predicate, reason.str()};
  };
  if (q.end == k.end)
    return refuse(predicate::producer, "query and key are the same value");
  if (q.ops.empty())
    return refuse(predicate::producer, "the query comes from " + describeSource(q.end));
  if (rowOf(q.end)[1] != rowOf(k.end)[1] || q.rest != k.rest)
    return refuse(predicate::sameShape, "query and key have heads of different parts");
  RotaryOp a = q.rotary, b = k.rotary;
  if (a && b && a.getRope() != b.getRope())
    return refuse(predicate::sameSettings, "query and key have different rotary records");
  if (a && b && q.first() != k.first())
    return refuse(predicate::sameSettings, "query and key turn from different channels on");
  if (a && a.getBatch() != append.getBatch())
    return refuse(predicate::sameInput, "rotary and append have different batches");
  return std::nullopt;
}

namespace {
struct FuseAttentionProloguePass
    : FusionPassOver<llmc::llm::impl::FuseAttentionProloguePassBase<FuseAttentionProloguePass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("attention-prologue", settings());
    for (KVAppendOp append : collectUnfused<KVAppendOp>(getOperation()))
      fuseAppend(fuser, append);
  }

  void fuseAppend(const Fuser &fuser, KVAppendOp append) {
    Block *block = append->getBlock();
    llvm::SetVector<Operation *> ops;
    Chain k = chainOf(append.getKey(), block), q;
    if (append.getValue() && llvm::is_contained(k.ops, append.getValue().getDefiningOp()))
      return fuser.missed(append, predicate::kernel, "the values are what the key goes through");
    if (k.rotary && k.rotary.getBatch() != append.getBatch())
      return fuser.missed(append, predicate::sameInput, "rotary and append have different batches");
    ops.insert(k.ops.begin(), k.ops.end());
    if (append.getValue()) {
      Chain v;
      v.end = append.getValue();
      walk(v.end, block, false, true, false, v);
      ops.insert(v.ops.begin(), v.ops.end());
    }
    FusionRefusal refusal;
    auto query = findQuery(append, refusal);
    bool together = succeeded(query);
    if (together) {
      q = chainOf(*query, block);
      if (std::optional<FusionRefusal> why = whyNotTogether(q, k, append)) {
        refusal = *why;
        together = false;
      } else {
        ops.insert(q.ops.begin(), q.ops.end());
      }
    }
    if (ops.empty())
      return fuser.missed(append, predicate::producer,
                          "the key comes from " + describeSource(append.getKey()));
    // What is left without the query is still worth a kernel.
    if (!together)
      fuser.missed(append, refusal);
    ops.insert(append);
    fuser.fuse(ops.getArrayRef());
  }
};
} // namespace
