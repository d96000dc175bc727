//===- AttentionTail.cpp - what a launch does behind its attention --------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;
using kernels::RowProgram;

static ArrayRef<int64_t> rowOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape().drop_front();
}

namespace {
/// How a value lies beside the heads of an attention's result.
enum class Beside { Heads, Scalars, Neither };
} // namespace

/// [tokens, heads, width] or the same flat are heads; one number a head is a scalar.
static Beside besideHeads(Value value, ArrayRef<int64_t> heads) {
  ArrayRef<int64_t> row = rowOf(value);
  if (ShapedType::getNumElements(row) == heads[0] * heads[1])
    return row.size() == 1 || row == heads ? Beside::Heads : Beside::Neither;
  bool scalar = row[0] == heads[0] && ShapedType::getNumElements(row) == heads[0];
  return scalar ? Beside::Scalars : Beside::Neither;
}

/// The operation's own value behind split_heads and merge_heads of the unit.
static Value withoutViews(const Unit &unit, Value value) {
  while (Operation *view = value.getDefiningOp()) {
    if (!isa<SplitHeadsOp, MergeHeadsOp>(view) || !llvm::is_contained(unit.ops, view))
      break;
    value = view->getOperand(0);
  }
  return value;
}

std::optional<Refusal> whyNotAttention(const Unit &unit) {
  Operation *attention = nullptr;
  for (Operation *op : unit.ops)
    if (isa<PagedAttentionOp, JointAttentionOp>(op)) {
      if (attention)
        return Refusal{op, "is a second attention in one launch"};
      attention = op;
    }
  ArrayRef<int64_t> heads = rowOf(attention->getResult(0));
  Operation *last = nullptr;
  for (Operation *op : unit.ops) {
    if (op == attention || isa<SplitHeadsOp, MergeHeadsOp>(op))
      continue;
    if (auto slice = dyn_cast<SliceOp>(op)) {
      Value from = unit.resolve(withoutViews(unit, slice.getInput()));
      if (rowOf(slice.getInput()).size() != 2 || rowOf(slice.getInput())[0] != heads[0] ||
          llvm::is_contained(unit.ops, from.getDefiningOp()) || unit.isResult(slice.getResult()))
        return Refusal{op, "is no part of heads from outside of the attention's launch"};
      continue;
    }
    bool isNorm = isa<RMSNormOp, LayerNormOp, SoftmaxOp>(op);
    if (!isNorm && !isa<ResidualAddOp, ScaleOp, OffsetOp, ClampOp, SoftcapOp, ActivationOp, GateOp,
                        BinaryOp>(op))
      return Refusal{op, "is not computed behind an attention"};
    if (isNorm && rowOf(op->getResult(0)) != heads)
      return Refusal{op, "is not of one head each, as everything behind an attention is"};
    for (Value value : op->getOperands())
      if (isa<RankedTensorType>(value.getType()) &&
          besideHeads(value, heads) == Beside::Neither)
        return Refusal{op, "reads rows that are not cut as the heads of the attention"};
    last = op;
  }
  if (!last)
    return unit.ops.size() == 1
               ? std::nullopt
               : std::optional(Refusal{unit.ops[1], "stands in one launch with an attention that "
                                                    "it does not compute with"});
  for (Operation *op : unit.ops)
    for (Value result : op->getResults())
      if (unit.isResult(result) && withoutViews(unit, result) != last->getResult(0))
        return Refusal{op, "has a result beside the last one of the attention's launch"};
  if (besideHeads(last->getResult(0), heads) != Beside::Heads)
    return Refusal{last, "gives rows that are not the attention's heads"};
  return std::nullopt;
}

LogicalResult Converter::addTail(const Unit &unit, kernels::AttentionSpec &spec,
                                 SmallVectorImpl<plan::UseAttr> &uses) {
  Operation *attention = unit.first<PagedAttentionOp>();
  if (!attention)
    attention = unit.first<JointAttentionOp>();
  ArrayRef<int64_t> heads = rowOf(attention->getResult(0));
  RowProgram program(heads[1], heads[0]);
  DenseMap<Value, RowProgram::Node> nodes;
  nodes[attention->getResult(0)] =
      program.input({kernels::attentionOut, spec.outStride, spec.outOffset, heads[1]});

  auto rows = [&](Value value, int64_t from, int64_t inner) -> FailureOr<RowProgram::Node> {
    kernels::RowOperand operand{unsigned(uses.size()), 0, from, inner};
    Value source = unit.resolve(withoutViews(unit, value));
    operand.scalar = inner == 1 && heads[1] != 1;
    if (Value weight = weightBehind(source)) {
      auto packedWeight = packRows(unit.op->getLoc(), unit.resolve(weight));
      if (failed(packedWeight))
        return failure();
      uses.push_back(use(*packedWeight));
      return program.input(operand);
    }
    auto buffer = bufferOf(source, unit.op);
    if (failed(buffer))
      return failure();
    operand.stride = buffer->stride;
    operand.offset += buffer->offset;
    uses.push_back(use(*buffer, plan::Access::Read));
    return program.input(operand);
  };
  auto read = [&](Value given) -> FailureOr<RowProgram::Node> {
    if (auto known = nodes.find(withoutViews(unit, given)); known != nodes.end())
      return known->second;
    Value value = withoutViews(unit, given);
    FailureOr<RowProgram::Node> node;
    if (isa<WeightType>(value.getType())) {
      auto packedWeight = packVectors(unit.op->getLoc(), {unit.resolve(value)}, {}, false);
      if (failed(packedWeight))
        return failure();
      node = program.constant(unsigned(uses.size()));
      uses.push_back(use(*packedWeight));
    } else if (auto slice = value.getDefiningOp<SliceOp>();
               slice && llvm::is_contained(unit.ops, slice.getOperation())) {
      node = rows(slice.getInput(), int64_t(slice.getFrom()), rowOf(slice.getInput())[1]);
    } else {
      bool scalar = besideHeads(given, heads) == Beside::Scalars;
      node = rows(value, 0, scalar ? 1 : heads[1]);
    }
    if (succeeded(node))
      nodes[value] = *node;
    return node;
  };

  Value result;
  for (Operation *op : unit.ops) {
    if (op == attention || isa<SplitHeadsOp, MergeHeadsOp, SliceOp>(op))
      continue;
    SmallVector<RowProgram::Node> in;
    if (failed(readRowNodes(op->getOperands(), read, in)))
      return failure();
    nodes[op->getResult(0)] = *addRowNode(program, op, in);
    result = op->getResult(0);
  }
  program.output(nodes[result],
                 kernels::RowOperand{kernels::attentionOut, spec.outStride, spec.outOffset, heads[1]});
  spec.tail = std::move(program);
  return success();
}

} // namespace llmc
