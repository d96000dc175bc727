//===- FuseAttentionGate.cpp - attention and what its heads go through ----===//
#include "llmc/Dialect/LLM/Transforms/Fusion.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace llmc::llm {
#define GEN_PASS_DEF_FUSEATTENTIONGATEPASS
#include "llmc/Dialect/LLM/Transforms/Passes.h.inc"
} // namespace llmc::llm

using namespace mlir;
using namespace llmc::llm;

static ArrayRef<int64_t> rowOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front();
}

static bool isView(Operation *op) { return isa_and_present<SplitHeadsOp, MergeHeadsOp>(op); }
static bool isNorm(Operation *op) { return isa<RMSNormOp, LayerNormOp, SoftmaxOp>(op); }
static bool isUnary(Operation *op) {
  return isa_and_present<ActivationOp, ScaleOp, OffsetOp, ClampOp, SoftcapOp>(op);
}
/// Operations on rows, which may want to be part of the attention.
static bool isRowOp(Operation *op) {
  return isUnary(op) || isNorm(op) || isa<GateOp, BinaryOp, ResidualAddOp>(op);
}

namespace {
/// One attention and the operations behind it that its kernel can compute head by head.
class Tail {
public:
  explicit Tail(Operation *attention) : attention(attention), heads(rowOf(attention->getResult(0))) {
    ops.insert(attention);
  }

  /// Takes what fits; the refusal of the first operation on rows where none does.
  std::optional<FusionRefusal> grow();
  ArrayRef<Operation *> all() const { return ops.getArrayRef(); }

private:
  std::optional<FusionRefusal> whyNot(Operation *op, Value value) const;
  void takeProducers(Value value);

  Operation *attention;
  ArrayRef<int64_t> heads;
  llvm::SetVector<Operation *> ops;
};
} // namespace

/// `op` reads `value`, which is of the tail.
std::optional<FusionRefusal> Tail::whyNot(Operation *op, Value value) const {
  if (op->getBlock() != attention->getBlock())
    return FusionRefusal{predicate::sameBlock, "the result is used in another block"};
  if (isNorm(op) && (rowOf(value) != heads || op->getOperand(0) != value))
    return FusionRefusal{predicate::sameShape,
                         op->getName().getStringRef().str() + " is not over one head each"};
  int64_t size = heads[0] * heads[1];
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()) || operand == value)
      continue;
    ArrayRef<int64_t> row = rowOf(operand);
    int64_t own = ShapedType::getNumElements(row);
    if ((own == size && (row.size() == 1 || row == heads)) ||
        (own == heads[0] && row[0] == heads[0]))
      continue;
    return FusionRefusal{predicate::sameShape,
                         llvm::formatv("{0} reads rows that are not {1} heads of {2}",
                                       op->getName().getStringRef(), heads[0], heads[1])
                             .str()};
  }
  if (ShapedType::getNumElements(rowOf(op->getResult(0))) != size)
    return FusionRefusal{predicate::sameShape, "the result has another size than the heads"};
  return std::nullopt;
}

/// What only the tail reads and costs nothing to compute there: a part of each head, and functions
/// of one value.
void Tail::takeProducers(Value value) {
  SmallVector<Operation *> taken;
  size_t useful = 0;
  while (Operation *op = value.getDefiningOp()) {
    bool isPart = isa<SliceOp>(op) && rowOf(op->getResult(0)).size() == 2 &&
                  rowOf(op->getOperand(0))[0] == heads[0];
    if (ops.contains(op) || op->getBlock() != attention->getBlock() || !op->hasOneUse() ||
        !(isView(op) || isUnary(op) || isPart))
      break;
    taken.push_back(op);
    if (!isView(op))
      useful = taken.size();
    value = op->getOperand(0);
    if (isPart)
      break;
  }
  ops.insert(taken.begin(), taken.begin() + useful);
}

std::optional<FusionRefusal> Tail::grow() {
  Value value = attention->getResult(0);
  SmallVector<Operation *> views;
  while (value.hasOneUse()) {
    Operation *op = *value.user_begin();
    if (isView(op) && op->getBlock() == attention->getBlock()) {
      views.push_back(op);
      value = op->getResult(0);
      continue;
    }
    if (!isRowOp(op))
      return ops.size() > 1 ? std::nullopt : refuseFusedReader("the result", value, isRowOp);
    if (std::optional<FusionRefusal> refusal = whyNot(op, value))
      return ops.size() > 1 ? std::nullopt : refusal;
    ops.insert(views.begin(), views.end());
    views.clear();
    ops.insert(op);
    for (Value operand : op->getOperands())
      if (operand != value && isa<RankedTensorType>(operand.getType()))
        takeProducers(operand);
    value = op->getResult(0);
  }
  Operation *other = nullptr;
  for (Operation *user : value.getUsers())
    if (isRowOp(user))
      other = user;
  if (ops.size() == 1 && other)
    return FusionRefusal{predicate::singleUse, "the result has another use than " +
                                                   other->getName().getStringRef().str()};
  return std::nullopt;
}

namespace {
struct FuseAttentionGatePass
    : FusionPassOver<llmc::llm::impl::FuseAttentionGatePassBase<FuseAttentionGatePass>> {
  using FusionPassOver::FusionPassOver;

  void runOnOperation() override {
    Fuser fuser("attention-gate", settings());
    SmallVector<Operation *> attentions;
    for (PagedAttentionOp op : collectUnfused<PagedAttentionOp>(getOperation()))
      attentions.push_back(op);
    for (JointAttentionOp op : collectUnfused<JointAttentionOp>(getOperation()))
      attentions.push_back(op);
    for (Operation *attention : attentions) {
      Tail tail(attention);
      if (std::optional<FusionRefusal> refusal = tail.grow())
        fuser.missed(attention, *refusal);
      else if (tail.all().size() > 1)
        fuser.fuse(tail.all());
    }
  }
};
} // namespace
