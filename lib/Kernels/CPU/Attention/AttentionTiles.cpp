//===- AttentionTiles.cpp - a block of positions in register tiles --------===//
//
// Scores: lanes are positions, a query's channel is broadcast. Sums: lanes are
// channels, a weight is broadcast. The tile's shape never enters the result: each
// output is its own chain.
//
//===----------------------------------------------------------------------===//
#include "AttentionEmitter.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include <limits>

using namespace mlir;

namespace llmc::kernels {

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Accumulators of 16 lanes that leave room for the other operand's vectors and a
/// broadcast.
static int64_t accumulatorBudget(const CPUVariant &variant) { return variant.isAVX512() ? 24 : 6; }

SmallVector<int64_t> AttentionEmitter::tileSizes() const {
  int64_t most = kb.variant().isAVX512() ? 12 : 6;
  SmallVector<int64_t> sizes = {most, 4, 2, 1};
  // A row's queries in one tile, or in two equal ones.
  for (int64_t size : {layout.shared, layout.shared / 2})
    if (size <= most && !llvm::is_contained(sizes, size) && size > 0)
      sizes.push_back(size);
  llvm::sort(sizes, std::greater<>());
  return sizes;
}

int64_t AttentionEmitter::vectorsFor(int64_t rows, int64_t most) const {
  int64_t vectors = std::clamp<int64_t>(accumulatorBudget(kb.variant()) / rows, 1, 8);
  return std::min(most, int64_t(llvm::bit_floor(uint64_t(vectors))));
}

void AttentionEmitter::forTiles(Value from, Value to,
                                llvm::function_ref<void(Value, int64_t)> body) {
  for (int64_t size : tileSizes()) {
    Value stop = to;
    if (size > 1)
      stop = kb.add(from, kb.mul(kb.div(kb.sub(to, from), size), size));
    kb.loop(from, stop, size, [&](Value query) { body(query, size); });
    from = stop;
  }
}

/// Into the second level: the first is full of the block at hand, and requests to
/// it wait in line with the loads.
void AttentionEmitter::prefetch(Value pointer, int64_t offset) {
  LLVM::Prefetch::create(kb.builder(), kb.loc(), kb.at(pointer, offset), /*rw=*/0, /*hint=*/2,
                         /*cache=*/1);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitScores(const Block &block, Value query, int64_t rows) {
  int64_t width = spec.state.keyWidth, positions = spec.state.blockTokens;
  Value q = at(0, query, width * 4);
  Value out = at(layout.scores, query, positions * 4);
  int64_t vectors = vectorsFor(rows, positions / lanes);
  int64_t unroll = rows >= 8 ? 1 : rows >= 3 ? 2 : 4;
  while (width % unroll)
    unroll /= 2;

  for (int64_t first = 0; first < positions; first += vectors * lanes) {
    vectors = std::min(vectors, (positions - first) / lanes);
    Values accs(rows * vectors, kb.splat(0));
    accs = kb.loop(kb.c(0), kb.c(width), unroll, accs, [&](Value d, ValueRange carried) {
      Values chain(carried);
      Value row = kb.at(block.keys, kb.mul(d, positions * 4));
      Value channel = kb.at(q, kb.mul(d, 4));
      if (isSkinny(rows) && first == 0 && block.nextKeys)
        for (int64_t u = 0; u < unroll; ++u)
          for (int64_t line = 0; line < positions * 4; line += 64)
            prefetch(kb.at(block.nextKeys, kb.mul(d, positions * 4)), u * positions * 4 + line);
      for (int64_t u = 0; u < unroll; ++u) {
        Values keys;
        for (int64_t v = 0; v < vectors; ++v)
          keys.push_back(kb.load(kb.vecF(), row, 64, (u * positions + first + v * lanes) * 4));
        for (int64_t r = 0; r < rows; ++r) {
          Value x = kb.broadcast(kb.load(kb.f32(), channel, 4, (r * width + u) * 4));
          for (int64_t v = 0; v < vectors; ++v)
            chain[r * vectors + v] = kb.fma(x, keys[v], chain[r * vectors + v]);
        }
      }
      return chain;
    });
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        kb.store(kb.mulf(accs[r * vectors + v], kb.splat(spec.scale)), out, 64,
                 (r * positions + first + v * lanes) * 4);
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

std::pair<Value, Value> AttentionEmitter::visible(const Group &group, const Block &block,
                                                  Value row) {
  if (block.count)
    return {Value(), block.count};
  Value end = kb.sub(kb.add(kb.add(group.position, row), 1), block.start);
  Value first;
  if (spec.window || spec.chunk)
    first = kb.max(kb.sub(firstVisible(group, row), block.start), 0);
  return {first, kb.min(end, spec.state.blockTokens)};
}

void AttentionEmitter::emitWeights(const Group &group, const Block &block, Value from, Value to) {
  int64_t positions = spec.state.blockTokens, vectors = positions / lanes;
  Value shared = group.heads;
  Value ninf = kb.splat(-std::numeric_limits<float>::infinity());

  // Invisible slots to -inf; maxima.
  kb.loop(from, to, 1, [&](Value row) {
    auto [first, end] = visible(group, block, row);
    Value endLane = kb.broadcast(kb.toI32(end));
    Value firstLane = first ? kb.broadcast(kb.toI32(first)) : Value();
    Values masks;
    for (int64_t v = 0; v < vectors; ++v) {
      Value lane = kb.add(kb.iota(), v * lanes);
      Value mask = kb.lt(lane, endLane);
      masks.push_back(first ? kb.andi(mask, kb.le(firstLane, lane)) : mask);
    }
    // How far each position is behind the row's.
    Values distances;
    if (spec.slopes)
      for (int64_t v = 0; v < vectors; ++v) {
        Value start = kb.sub(block.start, kb.add(group.position, row));
        Value lane = kb.add(kb.iota(), v * lanes);
        distances.push_back(
            kb.sitofp(kb.add(lane, kb.broadcast(kb.toI32(start))), kb.vecF()));
      }
    Value firstHead = kb.add(kb.mul(group.kvHead, layout.shared), group.firstHead);
    Value base = kb.mul(row, shared);
    kb.loop(base, kb.add(base, shared), 1, [&](Value query) {
      Value scores = at(layout.scores, query, positions * 4);
      Value most, slope;
      if (spec.slopes) {
        Value head = kb.add(firstHead, kb.sub(query, base));
        slope = kb.broadcast(kb.load(kb.f32(), kb.at(slopes, kb.mul(head, 4)), 4));
      }
      for (int64_t v = 0; v < vectors; ++v) {
        Value s = kb.load(kb.vecF(), scores, 64, v * lanes * 4);
        if (spec.softcap != 0)
          s = emitSoftcap(kb, spec.softcap, s);
        if (spec.slopes)
          s = kb.addf(s, kb.mulf(slope, distances[v]));
        s = kb.select(masks[v], s, ninf);
        kb.store(s, scores, 64, v * lanes * 4);
        most = most ? kb.maxf(most, s) : s;
      }
      Value old = kb.load(kb.f32(), at(layout.maxima, query, 4), 4);
      kb.store(kb.maxf(old, kb.reduceMax(most)), at(layout.nextMaxima, query, 4), 4);
    });
  });

  // Factors of 16 queries at a time.
  Value begin = kb.mul(from, shared), end = kb.mul(to, shared);
  kb.loop(begin, end, lanes, [&](Value query) {
    Value mask = kb.laneMask(kb.sub(end, query));
    Value maxima = at(layout.maxima, query, 4);
    Value next = kb.load(kb.vecF(), at(layout.nextMaxima, query, 4), 4);
    Value factor = polyExp(kb, kb.subf(kb.load(kb.vecF(), maxima, 4), next));
    kb.maskedStore(factor, at(layout.factors, query, 4), mask, 4);
    kb.maskedStore(next, maxima, mask, 4);
  });

  // Weights and denominators.
  kb.loop(begin, end, 1, [&](Value query) {
    Value scores = at(layout.scores, query, positions * 4);
    Value most = kb.broadcast(kb.load(kb.f32(), at(layout.maxima, query, 4), 4));
    Values weights;
    for (int64_t v = 0; v < vectors; ++v) {
      weights.push_back(
          polyExp(kb, kb.subf(kb.load(kb.vecF(), scores, 64, v * lanes * 4), most)));
      kb.store(weights[v], scores, 64, v * lanes * 4);
    }
    Value sum = weights[0];
    for (Value weight : ArrayRef<Value>(weights).drop_front())
      sum = kb.addf(sum, weight);
    Value factor = kb.load(kb.f32(), at(layout.factors, query, 4), 4);
    Value denominator = at(layout.denominators, query, 4);
    kb.store(kb.fma(kb.load(kb.f32(), denominator, 4), factor, kb.reduceAdd(sum)), denominator, 4);
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

void AttentionEmitter::emitSums(const Block &block, Value query, int64_t rows, Value first,
                                Value last, int64_t unroll) {
  int64_t width = spec.valueWidth();
  int64_t step = vectorsFor(rows, layout.valueRow / lanes) * lanes;
  int64_t whole = width / step * step;
  auto columns = [&](Value column, int64_t vectors, Value mask) {
    emitSumColumns(block, query, rows, first, last, unroll, column, vectors, mask);
  };
  if (whole == step)
    columns(kb.c(0), step / lanes, Value());
  else if (whole)
    kb.loop(kb.c(0), kb.c(whole), step,
            [&](Value column) { columns(column, step / lanes, Value()); });
  if (int64_t rest = width - whole) {
    Value mask = rest % lanes ? kb.laneMask(kb.c(rest % lanes)) : Value();
    columns(kb.c(whole), llvm::divideCeil(rest, lanes), mask);
  }
}

/// `mask`, where set, is of the last vector.
void AttentionEmitter::emitSumColumns(const Block &block, Value query, int64_t rows, Value first,
                                      Value last, int64_t unroll, Value column, int64_t vectors,
                                      Value mask) {
  int64_t width = valueDistance(), positions = spec.state.blockTokens;
  Value sums = kb.at(at(layout.sums, query, layout.valueRow * 4), kb.mul(column, 4));
  Value weights = at(layout.scores, query, positions * 4);
  Value factors = at(layout.factors, query, 4);
  Value values = kb.at(block.values, kb.mul(column, 4));

  Values accs;
  for (int64_t r = 0; r < rows; ++r) {
    Value factor = kb.broadcast(kb.load(kb.f32(), factors, 4, r * 4));
    for (int64_t v = 0; v < vectors; ++v)
      accs.push_back(kb.mulf(
          kb.load(kb.vecF(), sums, 64, (r * layout.valueRow + v * lanes) * 4), factor));
  }
  accs = kb.loop(first, last, unroll, accs, [&](Value j, ValueRange carried) {
    Values chain(carried);
    Value row = kb.at(values, kb.mul(j, width * 4));
    Value weight = kb.at(weights, kb.mul(j, 4));
    if (isSkinny(rows) && unroll > 1 && block.nextValues) {
      Value next = kb.at(kb.at(block.nextValues, kb.mul(column, 4)), kb.mul(j, width * 4));
      for (int64_t u = 0; u < unroll; ++u)
        for (int64_t v = 0; v < vectors; ++v)
          prefetch(next, (u * width + v * lanes) * 4);
    }
    for (int64_t u = 0; u < unroll; ++u) {
      Values loaded;
      for (int64_t v = 0; v < vectors; ++v) {
        bool isPartial = mask && v == vectors - 1;
        int64_t offset = (u * width + v * lanes) * 4;
        loaded.push_back(isPartial ? kb.maskedLoad(kb.vecF(), kb.at(row, offset), mask, 4)
                                   : kb.load(kb.vecF(), row, 4, offset));
      }
      for (int64_t r = 0; r < rows; ++r) {
        Value w = kb.broadcast(kb.load(kb.f32(), weight, 4, (r * positions + u) * 4));
        for (int64_t v = 0; v < vectors; ++v)
          chain[r * vectors + v] = kb.fma(w, loaded[v], chain[r * vectors + v]);
      }
    }
    return chain;
  });
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      kb.store(accs[r * vectors + v], sums, 64, (r * layout.valueRow + v * lanes) * 4);
}

} // namespace llmc::kernels
