//===- AttentionGather.cpp - keys and values put together in scratch ------===//
//
// Values that are channels of keys lie position innermost; they are turned once a block, and
// the queries of a group share the work. Selected positions lie anywhere, entries channel by
// channel; their keys are gathered into a block of their own. All move bits and compute nothing.
//
//===----------------------------------------------------------------------===//
#include "AttentionEmitter.h"
#include "EntryWalk.h"
#include "Transpose.h"

using namespace mlir;

namespace llmc::kernels {

/// 16 channels of 16 positions.
void AttentionEmitter::turnTile(Value keys, Value channel, int64_t channels, int64_t position) {
  int64_t positions = spec.state.blockTokens;
  Value from = kb.at(keys, kb.mul(channel, positions * 4));
  Values rows;
  for (int64_t i = 0; i < lanes; ++i)
    rows.push_back(i < channels
                       ? kb.load(kb.vecF(), from, 64, (i * positions + position) * 4)
                       : kb.splat(0));
  transposeTile(kb, rows);
  Value to = kb.at(kb.at(kb.scratch(), layout.values), kb.mul(channel, 4));
  for (int64_t i = 0; i < lanes; ++i)
    kb.store(rows[i], to, 64, (position + i) * layout.valueRow * 4);
}

void AttentionEmitter::turnValues(Value keys) {
  int64_t whole = spec.latentValues / lanes * lanes;
  for (int64_t position = 0; position < spec.state.blockTokens; position += lanes) {
    kb.loop(kb.c(0), kb.c(whole), lanes,
            [&](Value channel) { turnTile(keys, channel, lanes, position); });
    if (spec.latentValues > whole)
      turnTile(keys, kb.c(whole), spec.latentValues - whole, position);
  }
}

void AttentionEmitter::gather(const Group &group, Value chosen, Value count) {
  int64_t positions = spec.state.blockTokens;
  kb.loop(kb.c(0), count, 1, [&](Value j) {
    Value position = kb.toI64(kb.load(kb.i32(), kb.at(chosen, kb.mul(j, 4)), 4));
    Value block = blockAddress(group, kb.div(position, positions));
    Value slot = kb.rem(position, positions);
    Value from = kb.at(block, kb.mul(slot, 4));
    Value keys = kb.at(kb.at(kb.scratch(), layout.keys), kb.mul(j, 4));
    Value values = at(layout.values, j, layout.valueRow * 4);
    auto move = [&](int64_t begin, int64_t end, bool isValue) {
      int64_t unroll = (end - begin) % 8 == 0 ? 8 : (end - begin) % 4 == 0 ? 4 : 1;
      kb.loop(kb.c(begin), kb.c(end), unroll, [&](Value d) {
        Value row = kb.mul(d, positions * 4);
        Value source = kb.at(from, row), key = kb.at(keys, row);
        Value value = kb.at(values, kb.mul(d, 4));
        for (int64_t u = 0; u < unroll; ++u) {
          Value x = kb.load(kb.f32(), source, 4, u * positions * 4);
          kb.store(x, key, 4, u * positions * 4);
          if (isValue)
            kb.store(x, value, 4, u * 4);
        }
      });
    };
    move(0, spec.latentValues, true);
    move(spec.latentValues, spec.state.keyWidth, false);
    if (spec.latentValues)
      return;
    int64_t width = spec.state.valueWidth, whole = width / lanes * lanes;
    Value row = kb.at(kb.at(block, spec.state.valueOffset()), kb.mul(slot, width * 4));
    kb.loop(kb.c(0), kb.c(whole * 4), lanes * 4, [&](Value i) {
      kb.store(kb.load(kb.vecF(), kb.at(row, i), 4), kb.at(values, i), 64);
    });
    if (width > whole)
      kb.maskedStore(kb.maskedLoad(kb.vecF(), kb.at(row, whole * 4),
                                   kb.laneMask(kb.c(width - whole)), 4),
                     kb.at(values, whole * 4), kb.laneMask(kb.c(width - whole)), 4);
  });
}

void AttentionEmitter::gatherEntries(const Group &group, Value count,
                                     llvm::function_ref<Value(Value)> number) {
  kb.loop(kb.c(0), count, 1, [&](Value j) {
    gatherEntry(kb, spec.entries(), {entries, table, tableStride}, group.sequence, number(j),
                kb.at(kb.scratch(), layout.keys), spec.state.blockTokens, j,
                at(layout.values, j, layout.valueRow * 4), spec.latentValues);
  });
}

void AttentionEmitter::emitEntries(const Group &group) {
  int64_t size = spec.state.blockTokens;
  Value complete = kb.div(kb.add(group.position, 1), spec.group);
  kb.loop(kb.c(0), complete, size, [&](Value first) {
    Value count = kb.min(kb.sub(complete, first), size);
    gatherEntries(group, count, [&](Value j) { return kb.add(first, j); });
    emitGathered(group, first, count);
  });
}

void AttentionEmitter::emitGathered(const Group &group, Value start, Value count) {
  Block block;
  block.start = start;
  block.keys = kb.at(kb.scratch(), layout.keys);
  block.values = kb.at(kb.scratch(), layout.values);
  block.count = count;
  forTiles(kb.c(0), group.heads,
           [&](Value query, int64_t rows) { emitScores(block, query, rows); });
  emitWeights(group, block, kb.c(0), kb.c(1));
  forTiles(kb.c(0), group.heads, [&](Value query, int64_t rows) {
    emitSums(block, query, rows, kb.c(0), count, /*unroll=*/1);
  });
}

void AttentionEmitter::emitSelected(const Group &group) {
  int64_t size = spec.state.blockTokens;
  Value row = kb.at(selection, kb.mul(group.row, spec.selected * 4));
  auto chosen = [&](Value i) { return kb.load(kb.i32(), kb.at(row, kb.mul(i, 4)), 4); };
  kb.whileLoop(
      {kb.c(0)},
      [&](ValueRange next) {
        // The place is read before it is known to be inside.
        Value place = kb.min(next[0], kb.c(spec.selected - 1));
        return kb.andi(kb.lt(next[0], kb.c(spec.selected)), kb.le(kb.c32(0), chosen(place)));
      },
      [&](ValueRange next) -> Values {
        Value first = next[0];
        Value most = kb.min(kb.sub(kb.c(spec.selected), first), kb.c(size));
        Values count = kb.whileLoop(
            {kb.c(1)},
            [&](ValueRange n) {
              Value place = kb.add(first, kb.min(n[0], kb.sub(most, 1)));
              return kb.andi(kb.lt(n[0], most), kb.le(kb.c32(0), chosen(place)));
            },
            [&](ValueRange n) -> Values { return {kb.add(n[0], 1)}; });
        if (spec.group)
          gatherEntries(group, count[0],
                        [&](Value j) { return kb.toI64(chosen(kb.add(first, j))); });
        else
          gather(group, kb.at(row, kb.mul(first, 4)), count[0]);
        emitGathered(group, first, count[0]);
        return {kb.add(first, size)};
      });
}

} // namespace llmc::kernels
