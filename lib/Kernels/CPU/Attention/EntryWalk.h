//===- EntryWalk.h - where the channels of an entry lie ---------*- C++ -*-===//
#ifndef LLMC_LIB_KERNELS_CPU_ATTENTION_ENTRYWALK_H
#define LLMC_LIB_KERNELS_CPU_ATTENTION_ENTRYWALK_H

#include "llmc/Kernels/CPU/AttentionKernels.h"

namespace llmc::kernels {

/// The state of a launch and the blocks of its sequences.
struct EntryPlaces {
  mlir::Value state, table, tableStride;
};

/// Channels that lie side by side: `count` of them from `channel` on, at `pointer`.
struct EntryRun {
  mlir::Value pointer, channel, count;
};

/// Visits the runs of entry `number` of a sequence in order: those of the positions of its group
/// that lie in one block. All counts are multiples of the share where that divides the width.
inline void forEntryRuns(KernelBuilder &kb, const EntryState &entries, const EntryPlaces &places,
                         mlir::Value sequence, mlir::Value number,
                         llvm::function_ref<void(const EntryRun &)> body) {
  using mlir::Value;
  int64_t size = entries.blockTokens, share = entries.share();
  Value first = kb.mul(number, entries.group);
  auto visit = [&](Value channel, Value position, Value count) {
    Value entry = kb.add(kb.mul(sequence, places.tableStride), kb.div(position, size));
    Value block = kb.toI64(kb.load(kb.i32(), kb.at(places.table, kb.mul(entry, 4)), 4));
    Value from = kb.at(places.state, kb.mul(block, entries.blockBytes()));
    body({kb.at(from, kb.mul(kb.rem(position, size), share * 4)), channel, count});
  };
  // A group never lies in two blocks.
  if (size % entries.group == 0)
    return visit(kb.c(0), first, kb.c(entries.width));
  kb.whileLoop(
      {kb.c(0), first},
      [&](mlir::ValueRange next) { return kb.lt(next[0], entries.width); },
      [&](mlir::ValueRange next) -> KernelBuilder::Values {
        Value channel = next[0], position = next[1];
        Value here = kb.sub(kb.c(size), kb.rem(position, size));
        Value count = kb.min(kb.mul(here, share), kb.sub(kb.c(entries.width), channel));
        visit(channel, position, count);
        return {kb.add(channel, count), kb.add(position, here)};
      });
}

/// So many channels at a time divide every run.
inline int64_t entryUnroll(const EntryState &entries) {
  int64_t step = entries.blockTokens % entries.group == 0 ? entries.width : entries.share();
  if (entries.width % step)
    return 1;
  return step % 8 == 0 ? 8 : step % 4 == 0 ? 4 : 1;
}

/// Puts an entry into column `column` of keys [width][columns] f32, and its first channels at
/// `values`, where there are any.
inline void gatherEntry(KernelBuilder &kb, const EntryState &entries, const EntryPlaces &places,
                        mlir::Value sequence, mlir::Value number, mlir::Value keys,
                        int64_t columns, mlir::Value column, mlir::Value values = {},
                        int64_t valueWidth = 0) {
  using mlir::Value;
  int64_t unroll = entryUnroll(entries);
  if (valueWidth % unroll)
    unroll = 1;
  forEntryRuns(kb, entries, places, sequence, number, [&](const EntryRun &run) {
    auto move = [&](Value from, Value to, bool isValue) {
      kb.loop(from, to, unroll, [&](Value d) {
        Value channel = kb.add(run.channel, d), source = kb.at(run.pointer, kb.mul(d, 4));
        Value key = kb.at(kb.at(keys, kb.mul(channel, columns * 4)), kb.mul(column, 4));
        Value value = isValue ? kb.at(values, kb.mul(channel, 4)) : Value();
        for (int64_t u = 0; u < unroll; ++u) {
          Value x = kb.load(kb.f32(), source, 4, u * 4);
          kb.store(x, key, 4, u * columns * 4);
          if (isValue)
            kb.store(x, value, 4, u * 4);
        }
      });
    };
    Value zero = kb.c(0);
    Value split = valueWidth ? kb.max(zero, kb.min(run.count, kb.sub(kb.c(valueWidth), run.channel)))
                             : zero;
    if (valueWidth)
      move(zero, split, true);
    if (valueWidth < entries.width)
      move(split, run.count, false);
  });
}

} // namespace llmc::kernels

#endif // LLMC_LIB_KERNELS_CPU_ATTENTION_ENTRYWALK_H
