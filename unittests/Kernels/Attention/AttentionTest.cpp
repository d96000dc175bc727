//===- AttentionTest.cpp - paged attention against double precision -------===//
#include "PagedBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

/// Keys, values and queries are functions of sequence, position, head and channel
/// only, so that any batch holds the same numbers.
float number(int kind, int64_t sequence, int64_t position, int64_t head, int64_t d) {
  uint64_t x = uint64_t(kind) * 0x9e3779b97f4a7c15 + uint64_t(sequence) * 0xbf58476d1ce4e5b9 +
               uint64_t(position) * 0x94d049bb133111eb + uint64_t(head) * 1000003 + uint64_t(d);
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return float(double(x >> 40) / double(1 << 23) - 1) * (kind == 0 ? 4 : 1);
}

AttentionSpec makeSpec(int64_t heads, int64_t kvHeads, int64_t keyWidth, int64_t valueWidth,
                       int64_t window = 0) {
  AttentionSpec spec;
  spec.heads = heads;
  spec.state = {kvHeads, keyWidth, valueWidth, 32};
  spec.scale = 1 / std::sqrt(float(keyWidth));
  spec.window = window;
  spec.qStride = heads * keyWidth + 5;
  spec.qOffset = 3;
  spec.outStride = heads * valueWidth;
  return spec;
}

/// A step over pieces: state with NaN in every slot that no position owns.
struct Step {
  Step(const AttentionSpec &spec, const std::vector<Piece> &pieces,
       std::vector<int64_t> names = {}, unsigned seed = 1)
      : spec(spec), paged(spec.state, pieces, seed), names(std::move(names)) {
    if (this->names.empty())
      for (size_t i = 0; i < pieces.size(); ++i)
        this->names.push_back(int64_t(i));
    const PagedState &layout = spec.state;
    state = Buffer<float>(paged.batch.blocks * layout.blockBytes() / 4, NAN);
    for (int64_t s = 0; s < paged.batch.sequences; ++s)
      for (int64_t p = 0; p < paged.lengths[s]; ++p)
        for (int64_t h = 0; h < layout.heads; ++h) {
          int32_t block = paged.blockOf(s, p, layout);
          for (int64_t d = 0; d < layout.keyWidth; ++d)
            PagedBatch::key(layout, state.data(), block, h, p % 32, d) =
                number(1, this->names[s], p, h, d);
          for (int64_t d = 0; d < layout.valueWidth; ++d)
            PagedBatch::value(layout, state.data(), block, h, p % 32, d) =
                number(2, this->names[s], p, h, d);
        }
    queries = Buffer<float>(paged.batch.tokens * spec.qStride, NAN);
    for (int64_t t = 0; t < paged.batch.tokens; ++t)
      for (int64_t h = 0; h < spec.heads; ++h)
        for (int64_t d = 0; d < layout.keyWidth; ++d)
          queries[t * spec.qStride + spec.qOffset + h * layout.keyWidth + d] =
              number(0, this->names[paged.sequenceOf[t]], paged.positions[t], h, d);
    sinks = Buffer<float>(spec.heads);
    slopes = Buffer<float>(spec.heads);
    for (int64_t h = 0; h < spec.heads; ++h) {
      sinks[h] = number(3, 0, 0, h, 0);
      slopes[h] = number(4, 0, 0, h, 0) / 8;
    }
    selection = Buffer<int32_t>(paged.batch.tokens * spec.selected, -1);
    for (int64_t t = 0; t < paged.batch.tokens && spec.selected; ++t) {
      std::vector<int64_t> seen = selected(this->names[paged.sequenceOf[t]], paged.positions[t]);
      std::copy(seen.begin(), seen.end(), selection.data() + t * spec.selected);
    }
  }

  /// Some of the positions that a row may see, ascending; rows at every seventh see none.
  std::vector<int64_t> selected(int64_t sequence, int64_t position) const {
    std::vector<int64_t> seen;
    for (int64_t j = 0; j <= position && position % 7 != 3; ++j)
      if (int64_t(seen.size()) < spec.selected && number(5, sequence, position, j, 0) > -0.2f)
        seen.push_back(j);
    return seen;
  }
  std::vector<int64_t> visible(int64_t sequence, int64_t p) const {
    if (spec.selected)
      return selected(sequence, p);
    int64_t first = spec.window ? std::max<int64_t>(0, p - spec.window + 1) : 0;
    if (spec.chunk)
      first = std::max(first, p / spec.chunk * spec.chunk);
    std::vector<int64_t> seen(size_t(p + 1 - first));
    std::iota(seen.begin(), seen.end(), first);
    return seen;
  }

  Buffer<float> run(llmc_kernel_fn kernel, int64_t step = 1 << 30) {
    Buffer<float> out(paged.batch.tokens * spec.outStride, NAN);
    Buffer<char> scratch(attentionKernelScratch(spec), char(0xff));
    std::vector<void *> list = {&paged.batch, queries.data(), state.data(), out.data()};
    if (spec.sinks)
      list.push_back(sinks.data());
    if (spec.slopes)
      list.push_back(slopes.data());
    if (spec.selected)
      list.push_back(selection.data());
    void **args = list.data();
    int64_t items = attentionKernelItems(spec, paged.batch);
    for (int64_t i = 0; i < items; i += step)
      kernel(args, i, std::min(items, i + step), scratch.data());
    EXPECT_TRUE(out.intact() && scratch.intact());
    return out;
  }

  double reference(int64_t t, int64_t h, int64_t channel) const {
    int64_t sequence = names[paged.sequenceOf[t]], p = paged.positions[t];
    int64_t kv = h / (spec.heads / spec.state.heads);
    std::vector<int64_t> seen = visible(sequence, p);
    std::vector<double> scores;
    for (int64_t j : seen) {
      double s = 0;
      for (int64_t d = 0; d < spec.state.keyWidth; ++d)
        s += double(number(0, sequence, p, h, d)) * double(number(1, sequence, j, kv, d));
      s *= spec.scale;
      scores.push_back(spec.softcap != 0 ? spec.softcap * std::tanh(s / spec.softcap) : s);
      if (spec.slopes)
        scores.back() += double(slopes[h]) * double(j - p);
    }
    if (seen.empty())
      return 0;
    double most = *std::max_element(scores.begin(), scores.end());
    double sum = spec.sinks ? std::exp(double(sinks[h]) - most) : 0, result = 0;
    for (size_t i = 0; i < seen.size(); ++i) {
      double w = std::exp(scores[i] - most);
      sum += w;
      result += w * double(number(spec.latentValues ? 1 : 2, sequence, seen[i], kv, channel));
    }
    return result / sum;
  }

  void expectNear(const Buffer<float> &out, int64_t channelStep, int64_t rowStep,
                  double bound = 3e-6) const {
    for (int64_t t = 0; t < paged.batch.tokens; t += rowStep)
      for (int64_t h = 0; h < spec.heads; ++h)
        for (int64_t d = 0; d < spec.valueWidth(); d += channelStep)
          ASSERT_NEAR(out[t * spec.outStride + spec.outOffset + h * spec.valueWidth() + d],
                      reference(t, h, d), bound)
              << "row " << t << " head " << h << " channel " << d;
    for (size_t i = 0; i < out.size(); ++i)
      ASSERT_FALSE(std::isnan(out[i])) << i;
  }

  const AttentionSpec &spec;
  PagedBatch paged;
  std::vector<int64_t> names;
  Buffer<float> state, queries, sinks, slopes;
  Buffer<int32_t> selection;
};

void add(Kernels &kernels, const AttentionSpec &spec) {
  kernels.add(
      [&](mlir::ModuleOp module, const CPUVariant &v) { buildAttentionKernel(module, spec, v); });
}

/// Ragged batches: prefill, chunks behind a past, single rows.
const std::vector<Piece> ragged = {{0, 70}, {45, 1}, {31, 33}, {0, 1}, {96, 40}, {200, 1}};

void checkShapes(const std::vector<AttentionSpec> &specs, double bound = 3e-6) {
  Kernels kernels;
  for (const AttentionSpec &spec : specs)
    add(kernels, spec);
  kernels.compile();
  for (const AttentionSpec &spec : specs) {
    SCOPED_TRACE(attentionKernelName(spec));
    Step step(spec, ragged);
    std::vector<Buffer<float>> bits;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t items : {1 << 30, 1, 5, 37}) {
        bits.push_back(step.run(kernels.find(attentionKernelName(spec), *variant), items));
        if (bits.size() == 1)
          step.expectNear(bits[0], spec.valueWidth() > 16 ? 7 : 1, 3, bound);
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << items;
      }
  }
}

TEST(AttentionTest, HeadWidths) {
  checkShapes({makeSpec(4, 2, 12, 12), makeSpec(4, 1, 8, 8), makeSpec(9, 3, 64, 64),
               makeSpec(2, 2, 80, 80), makeSpec(5, 1, 96, 96), makeSpec(2, 1, 128, 128)});
}

TEST(AttentionTest, UnequalAndWideHeads) {
  checkShapes({makeSpec(2, 1, 256, 256), makeSpec(2, 2, 24, 16), makeSpec(3, 1, 72, 40),
               makeSpec(16, 1, 20, 36), makeSpec(14, 2, 64, 64), makeSpec(11, 1, 20, 20),
               makeSpec(1, 1, 5, 3)});
}

TEST(AttentionTest, Windows) {
  checkShapes({makeSpec(4, 2, 16, 16, 1), makeSpec(4, 2, 16, 16, 7), makeSpec(4, 2, 16, 16, 32),
               makeSpec(4, 2, 16, 16, 33), makeSpec(6, 2, 16, 16, 64), makeSpec(4, 4, 16, 16, 100),
               makeSpec(4, 2, 16, 16, 1000)});
}

TEST(AttentionTest, HeadsOfAnItem) {
  std::vector<AttentionSpec> specs;
  for (int64_t itemHeads : {1, 2, 3, 6}) {
    specs.push_back(makeSpec(12, 2, 24, 24));
    specs.back().itemHeads = itemHeads;
  }
  checkShapes(specs);
  EXPECT_EQ(attentionItemHeads(9, 3), 3);
  EXPECT_EQ(attentionItemHeads(4, 1), 2);
  EXPECT_EQ(attentionItemHeads(9, 1), 3);
  EXPECT_EQ(attentionItemHeads(7, 1), 1);
  EXPECT_EQ(attentionItemHeads(1, 1), 1);
}

TEST(AttentionTest, Chunks) {
  std::vector<AttentionSpec> specs;
  for (int64_t chunk : {1, 5, 16, 32, 33, 64, 1000}) {
    specs.push_back(makeSpec(4, 2, 16, 16));
    specs.back().chunk = chunk;
  }
  specs.push_back(makeSpec(6, 2, 16, 16, 20));
  specs.back().chunk = 48;
  checkShapes(specs);
}

TEST(AttentionTest, SoftcapAndSinks) {
  AttentionSpec capped = makeSpec(4, 2, 32, 32), sinks = makeSpec(6, 2, 32, 32),
                both = makeSpec(4, 2, 32, 32, 20);
  capped.softcap = 0.5f;
  sinks.sinks = true;
  both.softcap = 1.5f;
  both.sinks = true;
  checkShapes({capped, sinks, both});
}

TEST(AttentionTest, Slopes) {
  AttentionSpec plain = makeSpec(4, 2, 16, 16), all = makeSpec(6, 2, 24, 24, 40);
  plain.slopes = true;
  all.slopes = all.sinks = true;
  all.softcap = 2;
  checkShapes({plain, all});
}

AttentionSpec makeLatent(int64_t heads, int64_t keyWidth, int64_t values) {
  AttentionSpec spec = makeSpec(heads, 1, keyWidth, 0);
  spec.latentValues = values;
  spec.outStride = heads * values;
  spec.itemHeads = attentionItemHeads(heads, 1);
  return spec;
}

/// Values are the first channels of the keys.
TEST(AttentionTest, LatentState) {
  AttentionSpec windowed = makeLatent(6, 28, 20), grouped = makeLatent(4, 24, 24);
  windowed.window = 33;
  grouped.state.heads = 2;
  grouped.itemHeads = 1;
  checkShapes({makeLatent(6, 28, 20), makeLatent(1, 5, 3), makeLatent(16, 80, 64),
               makeLatent(128, 40, 32), windowed, grouped});
}

/// Rows see chosen positions alone, some of them none.
TEST(AttentionTest, Selections) {
  std::vector<AttentionSpec> specs;
  for (int64_t selected : {1, 11, 32, 50, 500}) {
    specs.push_back(makeLatent(6, 28, 20));
    specs.back().selected = selected;
  }
  specs.push_back(makeSpec(4, 2, 24, 20));
  specs.back().selected = 40;
  checkShapes(specs);
  specs = {makeLatent(6, 32, 16)};
  specs.back().selected = 40;
  specs.back().sinks = true;
  specs.back().softcap = 3;
  checkShapes(specs);
}

/// The same sequence in one piece, in pieces, and next to others.
TEST(AttentionTest, BitsDoNotDependOnTheBatch) {
  for (int64_t window : {0, 21, -40, -1000, -1001}) {
    AttentionSpec spec = makeSpec(6, 2, 40, 40, std::max<int64_t>(window, 0));
    if (window > -1000)
      spec.chunk = std::max<int64_t>(-window, 0);
    else
      spec = makeLatent(6, 44, 36);
    spec.selected = window == -1001 ? 37 : 0;
    Kernels kernels;
    add(kernels, spec);
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      llmc_kernel_fn kernel = kernels.find(attentionKernelName(spec), *variant);
      int64_t length = 150;
      Step whole(spec, {{0, length}}, {7});
      Buffer<float> want = whole.run(kernel);
      whole.expectNear(want, 9, 11);
      for (int64_t chunk : {1, 13, 32, 64}) {
        for (int64_t at = 0; at < length; at += chunk) {
          int64_t rows = std::min(chunk, length - at);
          Step part(spec, {{3, 20}, {at, rows}, {77, 1}}, {3, 7, 9}, unsigned(at));
          Buffer<float> got = part.run(kernel, 17);
          ASSERT_EQ(std::memcmp(want.data() + at * spec.outStride,
                                got.data() + 20 * spec.outStride, rows * spec.outStride * 4),
                    0)
              << "chunk " << chunk << " at " << at;
        }
      }
    }
  }
}

/// Infinite values at positions that a row does not see must not reach it.
TEST(AttentionTest, LaterPositionsDoNotReachEarlierRows) {
  AttentionSpec spec = makeSpec(4, 2, 16, 16);
  Kernels kernels;
  add(kernels, spec);
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    llmc_kernel_fn kernel = kernels.find(attentionKernelName(spec), *variant);
    Step step(spec, {{0, 80}});
    Buffer<float> want = step.run(kernel);
    for (int64_t p = 50; p < 80; ++p)
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t d = 0; d < 16; ++d)
          PagedBatch::value(spec.state, step.state.data(), step.paged.blockOf(0, p, spec.state), h,
                            p % 32, d) = p % 2 ? INFINITY : NAN;
    Buffer<float> got = step.run(kernel);
    EXPECT_EQ(std::memcmp(want.data(), got.data(), 50 * spec.outStride * 4), 0);
    EXPECT_TRUE(std::isnan(got[79 * spec.outStride]));
  }
}

/// Scores far apart: weights that vanish, rescaling by zero. The bound is what f32
/// leaves of scores of some thousands.
TEST(AttentionTest, LargeScores) {
  AttentionSpec spec = makeSpec(4, 2, 16, 16);
  spec.scale = 300;
  checkShapes({spec}, 1e-3);
}

TEST(AttentionTest, ChecksSpecs) {
  AttentionSpec good = makeSpec(4, 2, 16, 16), bad = good;
  EXPECT_EQ(checkAttention(good), "");
  bad.heads = 5;
  EXPECT_EQ(checkAttention(bad), "query heads (5) are not a multiple of kv heads (2)");
  bad = good;
  bad.state.blockTokens = 24;
  EXPECT_EQ(checkAttention(bad), "a state block of 24 positions is not a multiple of 16");
  bad = good;
  bad.itemHeads = 3;
  EXPECT_EQ(checkAttention(bad), "the heads of an item (3) do not divide those that share a kv "
                                 "head (2)");
  bad = good;
  bad.chunk = -1;
  EXPECT_EQ(checkAttention(bad), "a window, a chunk and a softcap are positive, or 0 for none");
  bad = good;
  bad.qStride = 63;
  EXPECT_NE(checkAttention(bad), "");
  bad = good;
  bad.selected = 5;
  bad.window = 3;
  EXPECT_EQ(checkAttention(bad), "a selection has no window, chunk or slopes beside it");
  bad = good;
  bad.latentValues = 8;
  EXPECT_EQ(checkAttention(bad),
            "values of 8 channels of keys of 16 are for a state that keeps keys alone, this one "
            "has values of 16");
  bad = makeLatent(4, 16, 17);
  EXPECT_EQ(checkAttention(bad),
            "values of 17 channels of keys of 16 are for a state that keeps keys alone, this one "
            "has values of 0");
}

TEST(AttentionTest, NamesFollowTheSpec) {
  AttentionSpec x = makeSpec(4, 2, 16, 16), y = x;
  EXPECT_EQ(attentionKernelName(x), attentionKernelName(y));
  y.scale = 1;
  EXPECT_NE(attentionKernelName(x), attentionKernelName(y));
  y = x;
  y.chunk = 8;
  EXPECT_NE(attentionKernelName(x), attentionKernelName(y));
  for (auto change : std::vector<std::function<void(AttentionSpec &)>>{
           [](AttentionSpec &s) { s.slopes = true; }, [](AttentionSpec &s) { s.selected = 3; },
           [](AttentionSpec &s) { s.latentValues = 3; }}) {
    y = x;
    change(y);
    EXPECT_NE(attentionKernelName(x), attentionKernelName(y));
  }
  EXPECT_EQ(attentionGroupItems(makeSpec(4, 2, 16, 16)), 24 * 2);
  EXPECT_EQ(attentionGroupItems(makeSpec(7, 1, 16, 16)), 12 * 7);
  EXPECT_EQ(attentionGroupItems(makeSpec(11, 1, 16, 16)), 5 * 11);
  EXPECT_EQ(attentionGroupItems(makeSpec(128, 1, 16, 16)), 1 * 128);
}

} // namespace
