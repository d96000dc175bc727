//===- LinearSkinny.cpp - products of few tokens --------------------------===//
//
// Bound by the stream of packed weights: a record is decoded, used for every token
// and forgotten. Prefetching is worth more here than any other choice after the
// arithmetic.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {

/// How far ahead of the stream to fetch where all of it is used; from 2.5 to 20 KiB
/// made no difference.
static constexpr int64_t prefetchDistance = 2560;
/// The same for streams that are fetched to the second level.
static constexpr int64_t farDistance = 8192;

void LinearEmitter::prefetchRecord(Value record, int64_t offset, int64_t count) {
  // Bytes are decoded faster than the first level can be filled from memory: with few lines
  // under way there at once, fetching to the second level gave AVX-512 twice as much (10 and
  // 21 GB/s of a plain read's 20) and AVX2 8%. Other formats lose 10 to 20% by its latency.
  bool far = info.bits == 8;
  // As far ahead in time where a pass skips the records of other panels.
  int64_t ahead = (far ? farDistance : prefetchDistance) * spec.tile / count;
  for (int64_t line = 0; line < info.recordBytes; line += 64)
    if (info.recordBytes >= 64 || offset % 64 == 0)
      k.prefetch(record, offset + line + ahead, far ? 2 : 1);
}

void LinearEmitter::addProducts(Values &sums, int64_t count, Value input, int64_t i,
                                function_ref<Value(int64_t)> weights) {
  int64_t tokens = int64_t(sums.size()) / count;
  Values inputs;
  for (int64_t t = 0; t < tokens; ++t)
    inputs.push_back(k.broadcast(k.load(k.f32(), input, 4, (t * inputDistance() + i) * 4)));
  for (int64_t p = 0; p < count; ++p) {
    Value w = weights(p);
    for (int64_t t = 0; t < tokens; ++t) {
      Value &sum = sums[size_t(t * count + p)];
      sum = k.fma(w, inputs[size_t(t)], sum);
    }
  }
}

LinearEmitter::Values LinearEmitter::skinnyPanels(int64_t tokens, int64_t count,
                                                  PanelStream stream, Value x) {
  int64_t stride = info.recordBytes * spec.tile;
  Values zeros(size_t(tokens * count), k.splat(0));
  return overGroups(stream, zeros, [&](PanelStream at, Value group, int64_t steps,
                                       ValueRange sums) {
    Value input = k.at(x, k.mul(group, info.group * 4));
    Values next(sums);
    for (int64_t g = 0; g < steps; ++g) {
      SmallVector<PanelRecord> records;
      for (int64_t p = 0; p < count; ++p) {
        int64_t offset = g * stride + p * info.recordBytes;
        prefetchRecord(at.records, offset, count);
        records.emplace_back(k, spec.storage, k.at(at.headers, p * info.headerBytes),
                             k.at(at.records, offset));
      }
      for (int64_t i = 0; i < info.group; ++i)
        addProducts(next, count, input, g * info.group + i,
                    [&](int64_t p) { return records[size_t(p)].weights(i); });
    }
    return next;
  });
}

/// Sixteen registers do not hold the sums of the four chains or more that hide the latency
/// of a multiply-add, and words, scales and minima of as many panels besides. So groups are
/// decoded to memory. For one token that goes on while the group before is multiplied: each
/// of `count` rounds decodes one panel and takes 32 / count values of k of all. More tokens
/// have enough to do between two groups, and no registers to spare.
LinearEmitter::Values LinearEmitter::skinnyOverMemory(int64_t tokens, int64_t count,
                                                      PanelStream stream, Value x) {
  int64_t groups = spec.cols / info.group, perRound = info.group / count;
  int64_t bufferStride = info.group * count * 64;
  auto buffer = [&](Value group) {
    return k.at(decoded, k.mul(k.rem(group, 2), bufferStride));
  };
  // Panel p of a group.
  struct Source {
    PanelRecord record;
    Value target;
  };
  auto source = [&](Value group, Value p) {
    PanelStream at = groupOf(stream, group);
    Value record = k.at(at.records, k.mul(p, info.recordBytes));
    prefetchRecord(record, 0, count);
    return Source{{k, spec.storage, k.at(at.headers, k.mul(p, info.headerBytes)), record},
                  k.at(buffer(group), k.mul(p, 64))};
  };
  auto decode = [&](Source &from, int64_t i) {
    k.store(from.record.weights(i), from.target, 64, i * count * 64);
  };
  auto multiply = [&](Values &sums, Value group, Value p, int64_t i) {
    Value first = k.mul(p, perRound);
    Value values = k.at(buffer(group), k.mul(first, count * 64));
    Value input = k.at(k.at(x, k.mul(group, info.group * 4)), k.mul(first, 4));
    addProducts(sums, count, input, i, [&](int64_t panel) {
      return k.load(k.vecF(), values, 64, (i * count + panel) * 64);
    });
  };
  auto decodeGroup = [&](Value group) {
    k.loop(k.c(0), k.c(count), 1, [&](Value p) {
      Source from = source(group, p);
      for (int64_t i = 0; i < info.group; ++i)
        decode(from, i);
    });
  };
  Values sums(size_t(tokens * count), k.splat(0));
  if (tokens > 1)
    return k.loop(k.c(0), k.c(groups), 1, sums, [&](Value g, ValueRange carried) {
      Values next(carried);
      decodeGroup(g);
      for (int64_t i = 0; i < info.group; ++i)
        multiply(next, g, k.c(0), i);
      return next;
    });
  decodeGroup(k.c(0));
  sums = k.loop(k.c(0), k.c(groups - 1), 1, sums, [&](Value g, ValueRange outer) {
    return k.loop(k.c(0), k.c(count), 1, outer, [&](Value p, ValueRange carried) {
      Values next(carried);
      Source from = source(k.add(g, 1), p);
      for (int64_t i = 0; i < info.group; ++i) {
        decode(from, i);
        if ((i + 1) % count == 0)
          multiply(next, g, p, i / count);
      }
      return next;
    });
  });
  return k.loop(k.c(0), k.c(count), 1, sums, [&](Value p, ValueRange carried) {
    Values next(carried);
    for (int64_t i = 0; i < perRound; ++i)
      multiply(next, k.c(groups - 1), p, i);
    return next;
  });
}

void LinearEmitter::skinny(int64_t tokens, Value weights, Value item, Value first) {
  bool overMemory = !k.variant().isAVX512() && !info.isFloat();
  // Panels whose sums stay in registers.
  int64_t count = tokens == 1 ? 4 : 2;
  if (!k.variant().isAVX512() && tokens > (overMemory ? 2 : 1))
    count = 1;
  count = std::min(spec.tile, count);
  Value input = inputRows(first, k.c(tokens));
  k.loop(k.c(0), k.c(spec.tile), count, [&](Value p) {
    PanelStream stream = streamOf(weights, p);
    Values sums = overMemory ? skinnyOverMemory(tokens, count, stream, input)
                             : skinnyPanels(tokens, count, stream, input);
    Value target = k.at(buffer, k.mul(p, 64));
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < count; ++i)
        k.store(sums[size_t(t * count + i)], target, 64, (t * spec.tile + i) * 64);
  });
  finish(k.c(tokens), spec.tile, first, k.mul(item, spec.tile));
}

} // namespace llmc::kernels
