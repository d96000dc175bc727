//===- LinearWide.cpp - products of many tokens ---------------------------===//
//
// Bound by the multiply-add units. Two panels are decoded to scratch once and
// reused for all tokens; a register tile keeps tokens x 32 (AVX2: x 16) sums
// over the whole depth, so that each output remains one chain. Rows of x are
// addressed by constant offsets from one register.
//
//===----------------------------------------------------------------------===//
#include "LinearEmitter.h"

using namespace mlir;

namespace llmc::kernels {

/// The largest tiles without spills: 24 of 32 and 12 of 16 registers are sums.
int64_t LinearEmitter::tileTokens() const {
  return k.variant().isAVX512() ? mostTileTokens : 6;
}

void LinearEmitter::decode(PanelStream stream) {
  int64_t count = widePanels(spec);
  int64_t stride = info.recordBytes * spec.tile;
  overGroups(stream, {}, [&](PanelStream at, Value group, int64_t steps, ValueRange) {
    Value target = k.at(decoded, k.mul(group, info.group * count * 64));
    for (int64_t g = 0; g < steps; ++g) {
      SmallVector<PanelRecord> records;
      for (int64_t p = 0; p < count; ++p)
        records.emplace_back(k, spec.storage, k.at(at.headers, p * info.headerBytes),
                             k.at(at.records, g * stride + p * info.recordBytes));
      for (int64_t i = 0; i < info.group; ++i)
        for (int64_t p = 0; p < count; ++p)
          k.store(records[size_t(p)].weights(i), target, 64,
                  ((g * info.group + i) * count + p) * 64);
    }
    return Values{};
  });
}

void LinearEmitter::tile(int64_t tokens, Value weights, Value x) {
  int64_t count = widePanels(spec);
  // f32 panels are read in place.
  int64_t stride = 64 * (spec.storage == Storage::F32 ? spec.tile : count);
  // Few tokens leave registers for both panels, and need both to hide latency.
  int64_t together = k.variant().isAVX512() || tokens <= 2 ? count : 1;
  k.loop(k.c(0), k.c(count), together, [&](Value first) {
    Value start = k.at(weights, k.mul(first, 64));
    Values zeros(size_t(tokens * together), k.splat(0));
    Values sums = k.loop(k.c(0), k.c(spec.cols), 1, zeros, [&](Value i, ValueRange carried) {
      Values next(carried);
      Value w = k.at(start, k.mul(i, stride));
      Value input = k.at(x, k.mul(i, 4));
      Values columns;
      for (int64_t p = 0; p < together; ++p)
        columns.push_back(k.load(k.vecF(), w, 64, p * 64));
      for (int64_t t = 0; t < tokens; ++t) {
        Value value = k.broadcast(k.load(k.f32(), input, 4, t * inputDistance() * 4));
        for (int64_t p = 0; p < together; ++p) {
          Value &sum = next[size_t(t * together + p)];
          sum = k.fma(columns[size_t(p)], value, sum);
        }
      }
      return next;
    });
    Value target = k.at(buffer, k.mul(first, 64));
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t p = 0; p < together; ++p)
        k.store(sums[size_t(t * together + p)], target, 64, (t * count + p) * 64);
  });
}

void LinearEmitter::wide(Value weights, Value item, Value first, Value tokens) {
  int64_t count = widePanels(spec);
  int64_t most = tileTokens();
  // Panels past the last feature are not computed.
  Value firstPanel = k.mul(item, spec.tile);
  Value present = k.min(k.sub(k.c(panels), firstPanel), spec.tile);
  k.loop(k.c(0), present, count, [&](Value p) {
    PanelStream stream = streamOf(weights, p);
    Value base = stream.records;
    if (spec.storage != Storage::F32) {
      decode(stream);
      base = decoded;
    }
    Value panel = k.add(firstPanel, p);
    Value rest = k.rem(tokens, most);
    Value whole = k.sub(tokens, rest);
    k.loop(k.c(0), whole, most, [&](Value t) {
      Value row = k.add(first, t);
      tile(most, base, inputRows(row, k.c(most)));
      finish(k.c(most), count, row, panel);
    });
    k.ifThen(k.lt(k.c(0), rest), [&] {
      Value row = k.add(first, whole);
      Value input = inputRows(row, rest);
      for (int64_t n = 1; n < most; ++n)
        k.ifThen(k.eq(rest, n), [&] { tile(n, base, input); });
      finish(rest, count, row, panel);
    });
  });
}

} // namespace llmc::kernels
