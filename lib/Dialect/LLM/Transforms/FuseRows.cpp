//===- FuseRows.cpp - whatever one row kernel computes --------------------===//
//
// Groups of operations grow greedily: each operation along rows begins as a group of its own,
// and a group joins another that makes or shares one of its operands, in the order of the block,
// as long as one kernel computes both (RowPrograms.h) and both together cost less than apart.
// Each try looks at all operations of both groups; the limit of a group keeps the work linear.
//
//===----------------------------------------------------------------------===//
#include "llmc/Dialect/LLM/Analysis/RowPrograms.h"
#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEROWSPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

/// What is a launch of its own as long as nobody takes it in.
static bool isCandidate(Operation *op) {
  if (!isRowOperation(op) || isa<WeightRowsOp>(op))
    return false;
  // Parts of whole rows are only seen from elsewhere.
  if (auto slice = dyn_cast<SliceOp>(op))
    return cast<RankedTensorType>(slice.getInput().getType()).getRank() == 3 &&
           !weightBehind(slice.getInput());
  return true;
}

/// What a user or a plug-in has claimed stays as it is.
static bool mayGrow(FusionOp fusion) {
  const FusionPattern *pattern = findFusionPattern(fusion.getPattern());
  return pattern && pattern->mayGrow();
}

static bool isRowFusion(FusionOp fusion) {
  SmallVector<Operation *> ops;
  for (Operation &op : fusion.getBody().front().without_terminator())
    ops.push_back(&op);
  return llvm::any_of(ops, isCandidate) && !whyNotRowProgram(ops);
}

/// Where a value is from, through cuts of heads.
static Operation *makerOf(Value value, SmallVectorImpl<Operation *> *views = nullptr) {
  Operation *op = value.getDefiningOp();
  for (; op && isRowView(op); op = op->getOperand(0).getDefiningOp())
    if (views)
      views->push_back(op);
  return op;
}

static SmallVector<Operation *> inOrder(ArrayRef<Operation *> ops) {
  SmallVector<Operation *> sorted(ops);
  llvm::sort(sorted, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  sorted.erase(llvm::unique(sorted), sorted.end());
  return sorted;
}

namespace {
/// A fusion that was there before.
struct Earlier {
  SmallVector<Operation *> ops;
  std::string pattern;
};

struct Group {
  SmallVector<Operation *> ops;
  SmallVector<Earlier> fusions = {};
  bool hasGrown = false;
  /// What its operations save as one kernel, and recompute; absent until it is asked for.
  std::optional<FusionCost> worth = std::nullopt;
};

/// The groups of one block.
class RowGroups {
public:
  RowGroups(Block &block, const Fuser &fuser, int64_t maxRow, int64_t maxOps)
      : block(block), fuser(fuser), maxRow(maxRow), maxOps(maxOps) {}

  void run() {
    begin();
    growAlongValues();
    growBesideOthers();
    finish();
  }

private:
  void begin();
  void growAlongValues();
  void growBesideOthers();
  void reportClaimed(FusionOp fusion);
  void finish();
  std::optional<FusionRefusal> join(unsigned a, unsigned b, ArrayRef<Operation *> views);
  std::optional<FusionRefusal> whyNot(ArrayRef<Operation *> ops, Group &a, Group &b,
                                      FusionCost &worth);
  FusionCost pressureOf(ArrayRef<Operation *> ops) const;
  const FusionCost &worthOf(Group &group) const;
  void splitViews(const Group &group);

  Block &block;
  const Fuser &fuser;
  int64_t maxRow, maxOps;
  SmallVector<Group> groups;
  llvm::DenseMap<Operation *, unsigned> groupOf;
};
} // namespace

/// Every candidate, and every fusion that is a row program, is a group.
void RowGroups::begin() {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto fusion = dyn_cast<FusionOp>(op); fusion && isRowFusion(fusion)) {
      if (!mayGrow(fusion)) {
        reportClaimed(fusion);
        continue;
      }
      Earlier earlier{{}, fusion.getPattern().str()};
      for (Operation &inner : fusion.getBody().front().without_terminator())
        earlier.ops.push_back(&inner);
      inlineFusion(fusion);
      groups.push_back({earlier.ops, {earlier}});
    } else if (isCandidate(&op)) {
      groups.push_back({{&op}});
    }
  }
  for (auto [i, group] : llvm::enumerate(groups))
    for (Operation *op : group.ops)
      groupOf[op] = unsigned(i);
}

/// Says where a fusion that does not grow stands in the way.
void RowGroups::reportClaimed(FusionOp fusion) {
  Operation *beside = nullptr;
  auto look = [&](Operation *op) {
    if (op && op->getBlock() == &block && isCandidate(op))
      beside = op;
  };
  for (Value input : fusion.getInputs())
    look(makerOf(input));
  for (Operation *user : fusion->getUsers())
    look(user);
  if (beside)
    fuser.missed(beside, predicate::otherFusion,
                 "it stands next to fusion " + fusion.getPattern() + ", which does not grow");
}

FusionCost RowGroups::pressureOf(ArrayRef<Operation *> ops) const {
  RowPressure pressure = rowPressure(ops);
  FusionCost cost;
  cost.registers = pressure.registers;
  cost.scratchBytes = pressure.scratchBytes;
  cost.recomputedOperations = pressure.repeatedOperations;
  return cost;
}

/// What one kernel of `ops` saves and recomputes; `pressure` is theirs.
static FusionCost worthOf(ArrayRef<Operation *> ops, const FusionCost &pressure) {
  FusionCost worth = costOf(ops);
  worth.recomputedOperations = pressure.recomputedOperations;
  return worth;
}

const FusionCost &RowGroups::worthOf(Group &group) const {
  if (!group.worth)
    group.worth = ::worthOf(group.ops, pressureOf(group.ops));
  return *group.worth;
}

/// What keeps `ops`, those of both groups and the cuts between them, from being one kernel; else
/// `worth` is what it saves.
std::optional<FusionRefusal> RowGroups::whyNot(ArrayRef<Operation *> ops, Group &a, Group &b,
                                               FusionCost &worth) {
  if (std::optional<RowObstacle> obstacle = whyNotRowProgram(ops))
    return FusionRefusal{obstacle->predicate,
                         obstacle->op->getName().getStringRef().str() + " " + obstacle->reason};
  RowFrame frame = rowFrame(ops);
  if (!frame.isFlat && frame.width > maxRow)
    return FusionRefusal{predicate::width,
                         "the row has " + std::to_string(frame.width) + " elements, more than " +
                             std::to_string(maxRow),
                         {{"width", frame.width}, {"limit", maxRow}}};
  FusionCost more = pressureOf(ops);
  if (std::optional<FusionRefusal> refusal = fuser.check(ops, more))
    return refusal;
  worth = ::worthOf(ops, more);
  for (int64_t tokens : judgedTokens) {
    auto saved = [&](const FusionCost &cost) { return secondsSaved(cost, fuser.figures(), tokens); };
    double lost = saved(worthOf(a)) + saved(worthOf(b)) - saved(worth);
    if (lost > 0)
      return FusionRefusal{predicate::cost,
                           "together they would take longer than apart",
                           {{"tokens", tokens}, {"nanoseconds", int64_t(lost * 1e9)}}};
  }
  return std::nullopt;
}

std::optional<FusionRefusal> RowGroups::join(unsigned a, unsigned b, ArrayRef<Operation *> views) {
  int64_t count = int64_t(groups[a].ops.size() + groups[b].ops.size());
  if (count > maxOps)
    return FusionRefusal{predicate::operations,
                         "together they are " + std::to_string(count) +
                             " operations, more than " + std::to_string(maxOps),
                         {{"operations", count}, {"limit", maxOps}}};
  SmallVector<Operation *> ops = groups[a].ops;
  llvm::append_range(ops, groups[b].ops);
  llvm::append_range(ops, views);
  ops = inOrder(ops);
  FusionCost worth;
  if (std::optional<FusionRefusal> refusal = whyNot(ops, groups[a], groups[b], worth))
    return refusal;
  for (Operation *op : ops)
    groupOf[op] = a;
  groups[a].ops = std::move(ops);
  groups[a].worth = worth;
  groups[a].hasGrown = true;
  llvm::append_range(groups[a].fusions, groups[b].fusions);
  groups[b].ops.clear();
  return std::nullopt;
}

/// A reader joins what makes its operands.
void RowGroups::growAlongValues() {
  SmallVector<Operation *> readers;
  for (const Group &group : groups)
    llvm::append_range(readers, group.ops);
  for (Operation *reader : inOrder(readers)) {
    std::optional<FusionRefusal> refusal;
    for (Value operand : reader->getOperands()) {
      SmallVector<Operation *> views;
      Operation *maker = makerOf(operand, &views);
      if (maker && isSumOverRanks(maker->getResult(0)))
        refusal = refuseSource("an operand comes", maker->getResult(0));
      if (!maker || maker->getBlock() != &block || !groupOf.contains(maker) ||
          groupOf[maker] == groupOf[reader])
        continue;
      if (auto because = join(groupOf[maker], groupOf[reader], views))
        refusal = because;
    }
    if (refusal)
      fuser.missed(reader, *refusal);
  }
}

/// Groups that read the same rows become one, which reads them once.
void RowGroups::growBesideOthers() {
  for (unsigned a = 0; a < groups.size(); ++a) {
    // As long as neither grows, the answer stays.
    llvm::DenseSet<unsigned> refused;
    for (unsigned i = 0; i < groups[a].ops.size(); ++i)
      for (Value operand : groups[a].ops[i]->getOperands()) {
        if (!isa<RankedTensorType>(operand.getType()) || weightBehind(operand))
          continue;
        for (Operation *user : llvm::to_vector(operand.getUsers())) {
          auto other = groupOf.find(user);
          if (other == groupOf.end() || user->getBlock() != &block || other->second == a ||
              refused.contains(other->second))
            continue;
          if (unsigned b = other->second; join(a, b, {}))
            refused.insert(b);
          else
            refused.clear();
        }
      }
  }
}

/// Cuts of heads that both sides read stay on both sides.
void RowGroups::splitViews(const Group &group) {
  llvm::DenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
  for (Operation *view : group.ops) {
    auto isOutside = [&](OpOperand &use) { return !inside.contains(use.getOwner()); };
    if (!isRowView(view) || llvm::none_of(view->getUses(), isOutside))
      continue;
    OpBuilder builder(view);
    builder.setInsertionPointAfter(view);
    Operation *copy = builder.clone(*view);
    view->getResult(0).replaceUsesWithIf(copy->getResult(0), isOutside);
  }
}

void RowGroups::finish() {
  for (const Group &group : groups) {
    if (group.ops.empty())
      continue;
    if (group.hasGrown && fuser.isEnabled())
      splitViews(group);
    if (group.hasGrown && fuser.fuse(group.ops, pressureOf(group.ops)))
      continue;
    for (const Earlier &earlier : group.fusions) {
      OpBuilder builder(earlier.ops.back());
      makeFusion(builder, earlier.ops, earlier.pattern);
    }
  }
}

namespace {
struct FuseRowsPass : FusionPassOver<llmc::llm::impl::FuseRowsPassBase<FuseRowsPass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("rows", settings());
    SmallVector<Block *> blocks;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<FusionOp>(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return WalkResult::advance();
    });
    for (Block *block : blocks)
      RowGroups(*block, fuser, maxRow, maxOps).run();
  }
};
} // namespace
