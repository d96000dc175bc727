//===- LinearAttention.cpp - a state that decays and is written to --------===//
//
// The value columns of a state do not depend on each other. An item has 64 of one
// head, so that its part of the state (32 KiB for a key width of 128) stays in the
// first level of the cache while the tokens pass. Each token takes two passes over
// it, or one where nothing of the state before the token is needed: the sums of that
// state, then write and read.
//
//===----------------------------------------------------------------------===//
#include "SequenceWalk.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace llmc::kernels {
namespace {

constexpr int64_t lanes = 16;

int64_t groupsOf(const LinearAttentionSpec &spec) {
  return (spec.valueWidth + itemColumns - 1) / itemColumns;
}

class LinearAttentionEmitter {
public:
  LinearAttentionEmitter(ModuleOp module, const LinearAttentionSpec &spec,
                         const CPUVariant &variant)
      : spec(spec), kb(module, linearAttentionKernelName(spec), variant),
        // Sums, columns of u and a row of the state: three registers a vector.
        together(variant.isAVX512() ? 4 : 2) {}

  void run();

private:
  using Values = KernelBuilder::Values;

  void item(const SequenceWalk &walk);
  /// All tokens for `count` vectors of columns from `column` on, the last of them masked.
  void columns(const SequenceWalk &walk, Value head, Value column, int64_t count, Value mask);
  void token(Value row, Value head, Value column, Value panel, int64_t count, Value mask);
  /// exp of the decays of the head: one for all channels, or to scratch and null.
  Value decays(Value row, Value head);
  /// [0, keyWidth) with carried vectors.
  Values overChannels(ValueRange init,
                      llvm::function_ref<Values(Value channel, ValueRange)> body);

  Value rowAt(const StepRows &rows, Value row, Value element) {
    Value elements = kb.add(kb.mul(row, rows.stride), element);
    return kb.at(kb.at(operands[rows.operand], rows.offset * 4), kb.mul(elements, 4));
  }
  Value scalarAt(Value base, Value index) {
    return kb.broadcast(kb.load(kb.f32(), kb.at(base, kb.mul(index, 4)), 4));
  }
  Value maskOf(Value mask, int64_t v, int64_t count) {
    return v + 1 == count ? mask : Value();
  }

  const LinearAttentionSpec &spec;
  KernelBuilder kb;
  int64_t together;
  SmallVector<Value> operands;
};

void LinearAttentionEmitter::run() {
  unsigned count = spec.state + 1;
  for (const StepRows &rows : {spec.q, spec.k, spec.v, spec.decay, spec.out})
    count = std::max(count, rows.operand + 1);
  for (const std::optional<StepRows> &rows : {spec.beta, spec.rankOneA, spec.rankOneB})
    if (rows)
      count = std::max(count, rows->operand + 1);
  for (unsigned i = 0; i < count; ++i)
    operands.push_back(kb.operand(i));
  overSequences(kb, operands[spec.state], spec.slotBytes, linearAttentionItemsPerSequence(spec),
                [&](const SequenceWalk &walk) { item(walk); });
  kb.finish();
}

void LinearAttentionEmitter::item(const SequenceWalk &walk) {
  Value head = kb.div(walk.part, groupsOf(spec));
  Value column = kb.mul(kb.rem(walk.part, groupsOf(spec)), itemColumns);
  Value end = kb.min(kb.add(column, itemColumns), spec.valueWidth);
  int64_t step = together * lanes;
  Value whole = kb.add(column, kb.mul(kb.div(kb.sub(end, column), step), step));
  kb.loop(column, whole, step, [&](Value at) { columns(walk, head, at, together, Value()); });
  if (spec.valueWidth % step == 0)
    return;
  // What is left has the same width in every head: it is compiled for that width.
  int64_t left = spec.valueWidth % step;
  kb.ifThen(kb.lt(whole, end), [&] {
    Value mask = left % lanes ? kb.laneMask(kb.c(left % lanes)) : Value();
    columns(walk, head, whole, (left + lanes - 1) / lanes, mask);
  });
}

void LinearAttentionEmitter::columns(const SequenceWalk &walk, Value head, Value column,
                                     int64_t count, Value mask) {
  Value start = kb.add(kb.mul(head, spec.keyWidth * spec.valueWidth), column);
  Value panel = kb.at(walk.slot, kb.mul(start, 4));
  kb.ifThen(walk.isStart, [&] {
    kb.loop(kb.c(0), kb.c(spec.keyWidth), 1, [&](Value d) {
      Value row = kb.at(panel, kb.mul(d, spec.valueWidth * 4));
      for (int64_t v = 0; v < count; ++v)
        storeColumns(kb, kb.splat(0), kb.at(row, v * lanes * 4), maskOf(mask, v, count));
    });
  });
  kb.loop(walk.first, walk.last, 1,
          [&](Value row) { token(row, head, column, panel, count, mask); });
}

Value LinearAttentionEmitter::decays(Value row, Value head) {
  if (!spec.channelDecay)
    return polyExp(kb, scalarAt(rowAt(spec.decay, row, head), kb.c(0)));
  Value from = rowAt(spec.decay, row, kb.mul(head, spec.keyWidth));
  int64_t whole = spec.keyWidth / lanes * lanes;
  if (whole)
    kb.loop(kb.c(0), kb.c(whole * 4), lanes * 4, [&](Value at) {
      kb.store(polyExp(kb, kb.load(kb.vecF(), kb.at(from, at), 4)), kb.at(kb.scratch(), at), 64);
    });
  if (int64_t tail = spec.keyWidth % lanes) {
    Value mask = kb.laneMask(kb.c(tail));
    Value last = kb.maskedLoad(kb.vecF(), kb.at(from, whole * 4), mask, 4);
    // The scratch is padded: a whole vector.
    kb.store(polyExp(kb, last), kb.at(kb.scratch(), whole * 4), 64);
  }
  return Value();
}

LinearAttentionEmitter::Values
LinearAttentionEmitter::overChannels(ValueRange init,
                                     llvm::function_ref<Values(Value, ValueRange)> body) {
  int64_t unroll = spec.keyWidth % 4 == 0 ? 4 : spec.keyWidth % 2 == 0 ? 2 : 1;
  return kb.loop(kb.c(0), kb.c(spec.keyWidth), unroll, init,
                 [&](Value channel, ValueRange carried) {
                   Values next(carried);
                   for (int64_t i = 0; i < unroll; ++i)
                     next = body(kb.add(channel, i), next);
                   return next;
                 });
}

void LinearAttentionEmitter::token(Value row, Value head, Value column, Value panel,
                                   int64_t count, Value mask) {
  Value keyHead = kb.div(head, spec.heads / spec.keyHeads);
  Value keys = rowAt(spec.k, row, kb.mul(keyHead, spec.keyWidth));
  Value queries = rowAt(spec.q, row, kb.mul(keyHead, spec.keyWidth));
  Value place = kb.add(kb.mul(head, spec.valueWidth), column);
  Value values = rowAt(spec.v, row, place), target = rowAt(spec.out, row, place);
  Value decay = decays(row, head);
  auto decayOf = [&](Value d) { return decay ? decay : scalarAt(kb.scratch(), d); };
  auto stateAt = [&](Value d) { return kb.at(panel, kb.mul(d, spec.valueWidth * 4)); };
  auto decayed = [&](Value state, Value factor, int64_t v) {
    Value old = loadColumns(kb, kb.at(state, v * lanes * 4), maskOf(mask, v, count));
    return kb.mulf(old, factor);
  };

  Values zeros(size_t(count), kb.splat(0)), written;
  for (int64_t v = 0; v < count; ++v)
    written.push_back(loadColumns(kb, kb.at(values, v * lanes * 4), maskOf(mask, v, count)));
  if (spec.delta) {
    Values sums = overChannels(zeros, [&](Value d, ValueRange carried) {
      Value key = scalarAt(keys, d), factor = decayOf(d), state = stateAt(d);
      Values next;
      for (int64_t v = 0; v < count; ++v)
        next.push_back(kb.fma(key, decayed(state, factor, v), carried[v]));
      return next;
    });
    for (int64_t v = 0; v < count; ++v)
      written[v] = kb.subf(written[v], sums[v]);
  }
  if (spec.beta) {
    Value beta = scalarAt(rowAt(*spec.beta, row, head), kb.c(0));
    for (Value &w : written)
      w = kb.mulf(w, beta);
  }
  // Of the state as it was.
  auto sumsOf = [&](Value factors) {
    return overChannels(zeros, [&](Value d, ValueRange carried) {
      Value factor = scalarAt(factors, d), state = stateAt(d);
      Values next;
      for (int64_t v = 0; v < count; ++v) {
        Value old = loadColumns(kb, kb.at(state, v * lanes * 4), maskOf(mask, v, count));
        next.push_back(kb.fma(factor, old, carried[v]));
      }
      return next;
    });
  };
  Values taken, read;
  Value places = kb.mul(keyHead, spec.keyWidth), given;
  if (spec.rankOneA) {
    taken = sumsOf(rowAt(*spec.rankOneA, row, places));
    given = rowAt(*spec.rankOneB, row, places);
  }
  if (spec.before)
    read = sumsOf(queries);
  Values sums = overChannels(spec.before ? ValueRange() : ValueRange(zeros), [&](Value d, ValueRange carried) {
    Value key = scalarAt(keys, d), factor = decayOf(d), state = stateAt(d), query, other;
    if (!spec.before)
      query = scalarAt(queries, d);
    if (spec.rankOneA)
      other = scalarAt(given, d);
    Values next;
    for (int64_t v = 0; v < count; ++v) {
      Value now = decayed(state, factor, v);
      if (spec.rankOneA)
        now = kb.fma(other, taken[v], now);
      now = kb.fma(key, written[v], now);
      storeColumns(kb, now, kb.at(state, v * lanes * 4), maskOf(mask, v, count));
      if (!spec.before)
        next.push_back(kb.fma(query, now, carried[v]));
    }
    return next;
  });
  if (spec.before)
    sums = read;
  for (int64_t v = 0; v < count; ++v) {
    Value result = spec.scale == 1 ? sums[v] : kb.mulf(sums[v], kb.splat(spec.scale));
    storeColumns(kb, result, kb.at(target, v * lanes * 4), maskOf(mask, v, count));
  }
}

} // namespace

std::string checkLinearAttention(const LinearAttentionSpec &spec) {
  if (spec.heads <= 0 || spec.keyHeads <= 0 || spec.heads % spec.keyHeads)
    return "heads (" + std::to_string(spec.heads) + ") are not a multiple of key heads (" +
           std::to_string(spec.keyHeads) + ")";
  if (spec.keyWidth <= 0 || spec.valueWidth <= 0)
    return "heads of linear attention have no channels";
  if (spec.rankOneA.has_value() != spec.rankOneB.has_value() || (spec.rankOneA && spec.delta))
    return "a rank one part has two factors, and does not go with delta";
  int64_t keys = spec.keyHeads * spec.keyWidth, values = spec.heads * spec.valueWidth;
  int64_t decays = spec.channelDecay ? spec.heads * spec.keyWidth : spec.heads;
  auto isNarrow = [](const StepRows &rows, int64_t width) { return rows.stride < width; };
  if (isNarrow(spec.q, keys) || isNarrow(spec.k, keys) || isNarrow(spec.v, values) ||
      isNarrow(spec.out, values) || isNarrow(spec.decay, decays) ||
      (spec.beta && isNarrow(*spec.beta, spec.heads)) ||
      (spec.rankOneA && isNarrow(*spec.rankOneA, keys)) ||
      (spec.rankOneB && isNarrow(*spec.rankOneB, keys)))
    return "rows of linear attention are at least as far apart as their heads are wide";
  if (spec.slotBytes < spec.stateBytes() || spec.slotBytes % 4)
    return "a slot of " + std::to_string(spec.slotBytes) + " bytes does not hold a state of " +
           std::to_string(spec.stateBytes());
  return "";
}

std::string linearAttentionKernelName(const LinearAttentionSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto rows = [&](const StepRows &r) { os << r.operand << ',' << r.stride << ',' << r.offset << ';'; };
  for (const StepRows &r : {spec.q, spec.k, spec.v, spec.decay, spec.out})
    rows(r);
  for (const std::optional<StepRows> &optional : {spec.beta, spec.rankOneA, spec.rankOneB})
    if (optional)
      rows(*optional);
  os << spec.state << ',' << llvm::bit_cast<uint32_t>(spec.scale) << ',' << spec.slotBytes;
  std::string name = "linear_attention_" + std::to_string(spec.heads) + "_" +
                     std::to_string(spec.keyHeads) + "_" + std::to_string(spec.keyWidth) + "_" +
                     std::to_string(spec.valueWidth);
  if (spec.delta)
    name += "_delta";
  if (spec.channelDecay)
    name += "_channels";
  if (spec.rankOneA)
    name += "_rank1";
  if (spec.before)
    name += "_before";
  return name + "_" + llvm::utohexstr(llvm::xxh3_64bits(text), /*LowerCase=*/true, /*Width=*/16);
}

int64_t linearAttentionKernelScratch(const LinearAttentionSpec &spec) {
  return spec.channelDecay ? int64_t(llvm::alignTo(spec.keyWidth, lanes)) * 4 : 0;
}

int64_t linearAttentionItemsPerSequence(const LinearAttentionSpec &spec) {
  return spec.heads * groupsOf(spec);
}

void buildLinearAttentionKernel(ModuleOp module, const LinearAttentionSpec &spec,
                                const CPUVariant &variant) {
  assert(checkLinearAttention(spec).empty() && "check the spec first");
  LinearAttentionEmitter(module, spec, variant).run();
}

} // namespace llmc::kernels
