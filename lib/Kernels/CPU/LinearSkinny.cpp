//===- LinearSkinny.cpp - products of few tokens --------------------------===//
//
// Bound by the stream of packed weights: a record is decoded into registers,
// used for every token and forgotten. Prefetching is worth more here than any
// other choice after the arithmetic.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {

/// How far ahead of the stream to fetch where all of it is used; from 2.5 to 20 KiB
/// made no difference.
static constexpr int64_t prefetchDistance = 2560;

KernelBuilder::Values LinearEmitter::skinnyPanels(int64_t tokens, int64_t count,
                                                  PanelStream stream, Value x) {
  int64_t stride = info.recordBytes * spec.tile;
  // As far ahead in time where a pass skips the records of other panels.
  int64_t ahead = prefetchDistance * spec.tile / count;
  Values zeros(size_t(tokens * count), k.splat(0));
  return overGroups(stream, zeros, [&](PanelStream at, Value group, int64_t steps,
                                       ValueRange sums) {
    Value input = k.at(x, k.mul(group, info.group * 4));
    Values next(sums);
    for (int64_t g = 0; g < steps; ++g) {
      SmallVector<PanelRecord> records;
      for (int64_t p = 0; p < count; ++p) {
        int64_t offset = g * stride + p * info.recordBytes;
        for (int64_t line = 0; line < info.recordBytes; line += 64)
          if (info.recordBytes >= 64 || offset % 64 == 0)
            k.prefetch(at.records, offset + line + ahead);
        records.emplace_back(k, spec.storage, k.at(at.headers, p * info.headerBytes),
                             k.at(at.records, offset));
      }
      for (int64_t i = 0; i < info.group; ++i) {
        Values inputs;
        for (int64_t t = 0; t < tokens; ++t) {
          int64_t offset = (t * spec.inputDistance() + g * info.group + i) * 4;
          inputs.push_back(k.broadcast(k.load(k.f32(), input, 4, offset)));
        }
        for (int64_t p = 0; p < count; ++p) {
          Value w = records[size_t(p)].weights(i);
          for (int64_t t = 0; t < tokens; ++t) {
            Value &sum = next[size_t(t * count + p)];
            sum = k.fma(w, inputs[size_t(t)], sum);
          }
        }
      }
    }
    return next;
  });
}

void LinearEmitter::skinny(int64_t tokens, Value weights, Value item, Value first) {
  // Accumulators, scales and minima of all panels must stay in registers.
  int64_t count = spec.tile;
  if (tokens > 1)
    count = std::min<int64_t>(count, 2);
  if (!k.variant().isAVX512() && (tokens > 1 || !info.isFloat()))
    count = 1;
  Value input = rowOf(x, first, spec.inputDistance());
  k.loop(k.c(0), k.c(spec.tile), count, [&](Value p) {
    Values sums = skinnyPanels(tokens, count, streamOf(weights, p), input);
    Value target = k.at(buffer, k.mul(p, 64));
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < count; ++i)
        k.store(sums[size_t(t * count + i)], target, 64, (t * spec.tile + i) * 64);
  });
  finish(k.c(tokens), spec.tile, first, k.mul(item, spec.tile));
}

} // namespace llmc::kernels
