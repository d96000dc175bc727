//===- RecurrentUnits.cpp - mixers with a state per sequence --------------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;

namespace {
/// Operands of a launch, where values that lie in one slice are one operand.
class Operands {
public:
  explicit Operands(SmallVectorImpl<plan::UseAttr> &uses) : uses(uses) {}

  unsigned add(plan::UseAttr use) {
    for (auto [i, known] : llvm::enumerate(uses))
      if (known.getSymbol() == use.getSymbol()) {
        if (known.getAccess() != use.getAccess())
          known = plan::UseAttr::get(use.getContext(), use.getSymbol().getValue(),
                                     plan::Access::ReadWrite, use.getLayer());
        return unsigned(i);
      }
    uses.push_back(use);
    return unsigned(uses.size() - 1);
  }

private:
  SmallVectorImpl<plan::UseAttr> &uses;
};
} // namespace

static kernels::StepRows stepRows(const RowBuffer &buffer, unsigned operand) {
  return {operand, buffer.stride, buffer.offset};
}

/// Why a unit with a convolution or linear attention is not one kernel.
std::optional<Refusal> whyNotRecurrent(const Unit &unit) {
  auto conv = unit.first<CausalConvOp>();
  for (Operation *op : unit.ops) {
    if (isa<CausalConvOp, TokenShiftOp, LinearAttentionOp>(op)) {
      if (op != unit.ops.front())
        return Refusal{op, "is not the first operation of its launch"};
      continue;
    }
    auto activation = dyn_cast<ActivationOp>(op);
    if (!conv || !activation || unit.ops.size() != 2 ||
        activation.getInput() != conv.getResult() || unit.isResult(conv.getResult()))
      return Refusal{op, conv ? "is not the activation of the launch's convolution"
                              : "is no part of the linear attention kernel"};
  }
  if (conv && (conv.getTaps() < 2 || conv.getTaps() > kernels::mostConvTaps))
    return Refusal{conv, "has " + std::to_string(conv.getTaps()) + " taps; the CPU kernel has 2 to " +
                             std::to_string(kernels::mostConvTaps)};
  return std::nullopt;
}

FailureOr<Converter::SequenceState> Converter::sequenceState(Value cache, Value next,
                                                             const Unit &unit) {
  auto found = caches.find(unit.resolve(cache));
  if (found == caches.end())
    return unit.op->emitError("updates a state that is none of this layer");
  PackedWeight state = found->second;
  auto declared = dyn_cast_if_present<plan::StateOp>(
      SymbolTable::lookupSymbolIn(program, state.symbol));
  if (!declared || !declared.getBytesPerSequence())
    return unit.op->emitError("needs a state of which each sequence has one; @")
           << state.symbol << " is none";
  caches[unit.resolve(next)] = state;
  return SequenceState{state, int64_t(*declared.getBytesPerSequence())};
}

LogicalResult Converter::lowerConv(const Unit &unit) {
  auto conv = cast<CausalConvOp>(unit.ops.front());
  auto activation = unit.first<ActivationOp>();
  Location loc = unit.op->getLoc();
  auto x = bufferOf(unit.resolve(conv.getInput()), unit.op);
  auto weight = packMatrix(loc, unit.resolve(conv.getWeight()));
  if (failed(x) || failed(weight))
    return failure();
  auto state = sequenceState(conv.getState(), conv.getNext(), unit);
  if (failed(state))
    return failure();

  SmallVector<plan::UseAttr> uses;
  Operands operands(uses);
  kernels::ConvSpec spec;
  spec.channels = x->width;
  spec.taps = conv.getTaps();
  spec.slotBytes = state->bytes;
  spec.x = stepRows(*x, operands.add(use(*x, plan::Access::Read)));
  spec.weight = operands.add(use(*weight));
  if (Value bias = conv.getBias()) {
    auto packed = packVectors(loc, {unit.resolve(bias)}, {}, false);
    if (failed(packed))
      return failure();
    spec.bias = operands.add(use(*packed));
  }
  spec.state = operands.add(use(state->state, plan::Access::ReadWrite));
  if (activation)
    spec.activation = kernelActivation(activation.getFunction());
  RowBuffer out = diesAt(*x, unit.op) ? *x : newBuffer("convolved", x->width, x->rows);
  spec.out = stepRows(out, operands.add(use(out, plan::Access::Write)));
  bind(unit.resolve(activation ? activation.getResult() : conv.getResult()), out);
  launch(loc, kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::convItemsPerSequence(spec), plan::Extent::Sequences),
         activation ? "causal convolution, activation" : "causal convolution");
  return success();
}

LogicalResult Converter::lowerTokenShift(const Unit &unit) {
  auto op = cast<TokenShiftOp>(unit.ops.front());
  auto x = bufferOf(unit.resolve(op.getInput()), unit.op);
  if (failed(x))
    return failure();
  auto state = sequenceState(op.getState(), op.getNext(), unit);
  if (failed(state))
    return failure();
  SmallVector<plan::UseAttr> uses;
  Operands operands(uses);
  kernels::ConvSpec spec;
  spec.shift = true;
  spec.channels = x->width;
  spec.taps = 2;
  spec.slotBytes = state->bytes;
  spec.x = stepRows(*x, operands.add(use(*x, plan::Access::Read)));
  spec.state = operands.add(use(state->state, plan::Access::ReadWrite));
  RowBuffer out = diesAt(*x, unit.op) ? *x : newBuffer("shifted", x->width, x->rows);
  spec.out = stepRows(out, operands.add(use(out, plan::Access::Write)));
  bind(unit.resolve(op.getResult()), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::convItemsPerSequence(spec), plan::Extent::Sequences), "token shift");
  return success();
}

LogicalResult Converter::lowerPool(const Unit &unit) {
  auto pool = cast<PoolTokensOp>(unit.ops.front());
  auto values = bufferOf(unit.resolve(pool.getValues()), unit.op);
  auto gates = bufferOf(unit.resolve(pool.getGates()), unit.op);
  auto bias = packMatrix(unit.op->getLoc(), unit.resolve(pool.getBias()));
  if (failed(values) || failed(gates) || failed(bias))
    return failure();
  auto state = sequenceState(pool.getState(), pool.getNext(), unit);
  if (failed(state))
    return failure();
  SmallVector<plan::UseAttr> uses;
  Operands operands(uses);
  kernels::PoolSpec spec;
  spec.group = pool.getGroup();
  spec.width = values->width;
  spec.overlap = pool.getOverlap();
  spec.slotBytes = state->bytes;
  spec.values = stepRows(*values, operands.add(use(*values, plan::Access::Read)));
  spec.gates = stepRows(*gates, operands.add(use(*gates, plan::Access::Read)));
  spec.bias = operands.add(use(*bias));
  spec.state = operands.add(use(state->state, plan::Access::ReadWrite));
  // Never in place: later tokens read what earlier ones have read.
  RowBuffer out = newBuffer("pooled", spec.pooled(), values->rows);
  spec.out = stepRows(out, operands.add(use(out, plan::Access::Write)));
  if (std::string problem = kernels::checkPool(spec); !problem.empty())
    return pool.emitError("has no CPU kernel: ") << problem;
  bind(unit.resolve(pool.getResult()), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::poolItemsPerSequence(spec), plan::Extent::Sequences), "means of groups");
  return success();
}

LogicalResult Converter::lowerLinearAttention(const Unit &unit) {
  auto op = cast<LinearAttentionOp>(unit.ops.front());
  auto state = sequenceState(op.getState(), op.getNext(), unit);
  if (failed(state))
    return failure();
  auto dims = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape(); };
  kernels::LinearAttentionSpec spec;
  spec.heads = dims(op.getValue())[1];
  spec.valueWidth = dims(op.getValue())[2];
  spec.keyHeads = dims(op.getKey())[1];
  spec.keyWidth = dims(op.getKey())[2];
  spec.channelDecay = op.isDecayPerChannel();
  spec.delta = op.getDelta();
  spec.before = op.getBefore();
  spec.scale = float(op.getScale().convertToDouble());
  spec.slotBytes = state->bytes;

  SmallVector<plan::UseAttr> uses;
  Operands operands(uses);
  auto read = [&](Value value) -> FailureOr<kernels::StepRows> {
    auto buffer = bufferOf(unit.resolve(value), unit.op);
    if (failed(buffer))
      return failure();
    return stepRows(*buffer, operands.add(use(*buffer, plan::Access::Read)));
  };
  for (auto [value, rows] : {std::pair(op.getQuery(), &spec.q), std::pair(op.getKey(), &spec.k),
                             std::pair(op.getValue(), &spec.v), std::pair(op.getDecay(), &spec.decay)}) {
    auto found = read(value);
    if (failed(found))
      return failure();
    *rows = *found;
  }
  for (auto [value, rows] : {std::pair(op.getBeta(), &spec.beta),
                             std::pair(op.getRankOneA(), &spec.rankOneA),
                             std::pair(op.getRankOneB(), &spec.rankOneB)}) {
    if (!value)
      continue;
    auto found = read(value);
    if (failed(found))
      return failure();
    *rows = *found;
  }
  spec.state = operands.add(use(state->state, plan::Access::ReadWrite));
  // A column of the values is read by the item that computes it and by no other; where they
  // are an operand once more, as keys, they are not.
  RowBuffer values = buffers[unit.resolve(op.getValue())];
  bool shared = llvm::any_of(op->getOperands(), [&](Value other) {
    auto found = buffers.find(unit.resolve(other));
    return other != op.getValue() && found != buffers.end() && found->second.overlaps(values);
  }) || llvm::count(op->getOperands(), op.getValue()) > 1;
  RowBuffer out = !shared && diesAt(values, unit.op)
                      ? values
                      : newBuffer("mixed", values.width, values.rows);
  spec.out = stepRows(out, operands.add(use(out, plan::Access::Write)));
  bind(unit.resolve(op.getResult()), out);
  launch(unit.op->getLoc(), kernels::describeKernel(module.getContext(), spec), uses,
         items(kernels::linearAttentionItemsPerSequence(spec), plan::Extent::Sequences),
         "linear attention");
  return success();
}

} // namespace llmc
