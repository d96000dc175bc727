//===- PoolTokens.cpp - weighted means of groups of tokens ----------------===//
//
// A row of the past lies in the step, or in the slot where the step began behind it. Each vector
// of channels walks the rows that count twice, for the maximum and for the sums, so that a mean
// depends on where its token stands in the group and on nothing else.
//
//===----------------------------------------------------------------------===//
#include "SequenceWalk.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"
#include <limits>

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

class PoolEmitter {
public:
  PoolEmitter(ModuleOp module, const PoolSpec &spec, const CPUVariant &variant)
      : spec(spec), kb(module, poolKernelName(spec), variant) {}

  void run() {
    values = kb.operand(spec.values.operand);
    gates = kb.operand(spec.gates.operand);
    bias = kb.operand(spec.bias);
    Value state = kb.operand(spec.state);
    out = kb.operand(spec.out.operand);
    positions = kb.batch(BatchField::Positions);
    overSequences(kb, state, spec.slotBytes, poolItemsPerSequence(spec),
                  [&](const SequenceWalk &walk) { item(walk); });
    kb.finish();
  }

private:
  using Values = KernelBuilder::Values;

  /// 16 channels of the result, of which the mask may leave some out.
  void means(const SequenceWalk &walk, Value channel, Value mask);
  void keep(const SequenceWalk &walk, Value channel, Value mask);
  void item(const SequenceWalk &walk);
  /// Channels from `channel` on of the row `back` before row `row`.
  Value past(const SequenceWalk &walk, Value row, Value back, Value channel, bool isGate,
             Value mask);

  Value rowAt(Value base, const StepRows &rows, Value row, Value channel) {
    Value elements = kb.add(kb.mul(row, rows.stride), channel);
    return kb.at(kb.at(base, rows.offset * 4), kb.mul(elements, 4));
  }
  Value stepRow(Value row, Value channel, bool isGate) {
    return isGate ? rowAt(gates, spec.gates, row, channel)
                  : rowAt(values, spec.values, row, channel);
  }
  Value keptRow(const SequenceWalk &walk, Value index, Value channel, bool isGate) {
    Value elements = kb.add(kb.mul(index, 2 * spec.width), channel);
    return kb.at(walk.slot, kb.mul(kb.add(elements, isGate ? spec.width : 0), 4));
  }

  const PoolSpec &spec;
  KernelBuilder kb;
  Value values, gates, bias, out, positions;
};

Value PoolEmitter::past(const SequenceWalk &walk, Value row, Value back, Value channel,
                        bool isGate, Value mask) {
  Value index = kb.sub(kb.sub(row, walk.first), back);
  return kb.ifElse(
      kb.lt(index, 0), TypeRange(kb.vecF()),
      [&]() -> Values {
        return {loadColumns(kb, keptRow(walk, kb.add(index, spec.kept()), channel, isGate), mask)};
      },
      [&]() -> Values {
        return {loadColumns(kb, stepRow(kb.sub(row, back), channel, isGate), mask)};
      })[0];
}

void PoolEmitter::means(const SequenceWalk &walk, Value channel, Value mask) {
  int64_t group = spec.group;
  kb.loop(walk.first, walk.last, 1, [&](Value row) {
    Value position = kb.toI64(kb.load(kb.i32(), kb.at(positions, kb.mul(row, 4)), 4));
    Value own = kb.rem(position, group), oldest = own;
    if (spec.overlap)
      oldest = kb.select(kb.lt(position, group), own, kb.add(own, group));
    // Where a row of the past counts, and its logits.
    auto column = [&](Value back) {
      if (!spec.overlap)
        return channel;
      return kb.add(channel, kb.select(kb.le(back, own), kb.c(spec.pooled()), kb.c(0)));
    };
    auto logits = [&](Value back) {
      Value place = kb.rem(kb.sub(position, back), group);
      Value added = kb.at(bias, kb.mul(kb.add(kb.mul(place, spec.width), column(back)), 4));
      return kb.addf(past(walk, row, back, column(back), true, mask),
                     loadColumns(kb, added, mask));
    };
    Value end = kb.add(oldest, 1);
    Value most = kb.loop(kb.c(0), end, 1,
                         {kb.splat(-std::numeric_limits<float>::infinity())},
                         [&](Value j, ValueRange best) -> Values {
                           return {kb.maxf(best[0], logits(kb.sub(oldest, j)))};
                         })[0];
    Values sums = kb.loop(kb.c(0), end, 1, {kb.splat(0), kb.splat(0)},
                          [&](Value j, ValueRange sum) -> Values {
                            Value back = kb.sub(oldest, j);
                            Value e = polyExp(kb, kb.subf(logits(back), most));
                            Value x = past(walk, row, back, column(back), false, mask);
                            return {kb.addf(sum[0], e), kb.fma(e, x, sum[1])};
                          });
    storeColumns(kb, kb.divf(sums[1], sums[0]), rowAt(out, spec.out, row, channel), mask);
  });
}

/// The slot gets the last rows before what comes next. It moves down in place: a row is read
/// before it is written over.
void PoolEmitter::keep(const SequenceWalk &walk, Value channel, Value mask) {
  Value count = kb.sub(walk.last, walk.first);
  kb.loop(kb.c(0), kb.c(spec.kept()), 1, [&](Value index) {
    Value from = kb.add(index, count);
    Value isOld = kb.lt(from, spec.kept());
    for (bool isGate : {false, true}) {
      Value row = kb.ifElse(
          isOld, TypeRange(kb.vecF()),
          [&]() -> Values {
            Value old = loadColumns(kb, keptRow(walk, from, channel, isGate), mask);
            return {kb.select(kb.broadcast(walk.isStart), kb.splat(0), old)};
          },
          [&]() -> Values {
            Value row = kb.add(walk.first, kb.sub(from, spec.kept()));
            return {loadColumns(kb, stepRow(row, channel, isGate), mask)};
          })[0];
      storeColumns(kb, row, keptRow(walk, index, channel, isGate), mask);
    }
  });
}

void PoolEmitter::item(const SequenceWalk &walk) {
  Value from = kb.mul(walk.part, itemColumns);
  Value end = kb.min(kb.add(from, itemColumns), spec.pooled());
  bool isWhole = spec.pooled() % lanes == 0;
  kb.loop(from, end, lanes, [&](Value channel) {
    Value mask = isWhole ? Value() : kb.laneMask(kb.sub(end, channel));
    means(walk, channel, mask);
    keep(walk, channel, mask);
    if (spec.overlap)
      keep(walk, kb.add(channel, spec.pooled()), mask);
  });
}

} // namespace

std::string checkPool(const PoolSpec &spec) {
  if (spec.group < 2)
    return "groups of tokens are of at least 2, not of " + std::to_string(spec.group);
  if (spec.width <= 0 || (spec.overlap && spec.width % 2))
    return "rows of " + std::to_string(spec.width) + " channels are not " +
           (spec.overlap ? "two halves" : "pooled");
  if (spec.values.stride < spec.width || spec.gates.stride < spec.width ||
      spec.out.stride < spec.pooled())
    return "rows of " + std::to_string(spec.width) + " channels would overlap";
  if (spec.out.operand == spec.values.operand || spec.out.operand == spec.gates.operand)
    return "means lie where rows do that are read later";
  if (spec.slotBytes < spec.stateBytes() || spec.slotBytes % 4)
    return "a slot of " + std::to_string(spec.slotBytes) + " bytes does not hold a state of " +
           std::to_string(spec.stateBytes());
  return "";
}

std::string poolKernelName(const PoolSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const StepRows &rows : {spec.values, spec.gates, spec.out})
    os << rows.operand << ',' << rows.stride << ',' << rows.offset << ';';
  os << spec.bias << ',' << spec.state << ',' << spec.slotBytes;
  return "pool_g" + std::to_string(spec.group) + "_c" + std::to_string(spec.width) +
         (spec.overlap ? "_overlap_" : "_") +
         llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

int64_t poolItemsPerSequence(const PoolSpec &spec) {
  return (spec.pooled() + itemColumns - 1) / itemColumns;
}

void buildPoolKernel(ModuleOp module, const PoolSpec &spec, const CPUVariant &variant) {
  assert(checkPool(spec).empty() && "check the spec first");
  PoolEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
