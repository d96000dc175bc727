//===- SelectTest.cpp - an indexer against scalar chains, exactly ---------===//
#include "PagedBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

/// Few different numbers, so that scores tie.
float number(int kind, int64_t sequence, int64_t position, int64_t head, int64_t d) {
  uint64_t x = uint64_t(kind + 1) * 0x9e3779b97f4a7c15 + uint64_t(sequence) * 0xbf58476d1ce4e5b9 +
               uint64_t(position) * 0x94d049bb133111eb + uint64_t(head) * 1000003 + uint64_t(d);
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 32;
  return float(int64_t(x % 5) - 2) * (kind == 2 ? 0.37f : 0.5f);
}

SelectSpec makeSpec(int64_t heads, int64_t width, int64_t top, int64_t blockTokens = 32) {
  SelectSpec spec;
  spec.heads = heads;
  spec.state = {1, width, 0, blockTokens};
  spec.top = top;
  spec.context = 250;
  spec.qStride = heads * width + 3;
  spec.qOffset = 2;
  spec.weightStride = heads + 1;
  spec.weightOffset = 1;
  return spec;
}

struct Step {
  Step(const SelectSpec &spec, const std::vector<Piece> &pieces, std::vector<int64_t> names)
      : spec(spec), paged(spec.state, pieces), names(std::move(names)) {
    const PagedState &layout = spec.state;
    state = Buffer<float>(paged.batch.blocks * layout.blockBytes() / 4, NAN);
    for (int64_t s = 0; s < paged.batch.sequences; ++s)
      for (int64_t p = 0; p < paged.lengths[s]; ++p)
        for (int64_t d = 0; d < layout.keyWidth; ++d)
          PagedBatch::key(layout, state.data(), paged.blockOf(s, p, layout), 0,
                          p % layout.blockTokens, d) = number(1, this->names[s], p, 0, d);
    queries = Buffer<float>(paged.batch.tokens * spec.qStride, NAN);
    weights = Buffer<float>(paged.batch.tokens * spec.weightStride, NAN);
    for (int64_t t = 0; t < paged.batch.tokens; ++t)
      for (int64_t h = 0; h < spec.heads; ++h) {
        int64_t sequence = this->names[paged.sequenceOf[t]], p = paged.positions[t];
        weights[t * spec.weightStride + spec.weightOffset + h] = number(2, sequence, p, h, 0);
        for (int64_t d = 0; d < layout.keyWidth; ++d)
          queries[t * spec.qStride + spec.qOffset + h * layout.keyWidth + d] =
              number(0, sequence, p, h, d);
      }
  }

  Buffer<int32_t> run(llmc_kernel_fn kernel, int64_t step) {
    Buffer<int32_t> out(paged.batch.tokens * spec.top, 12345);
    Buffer<char> scratch(selectKernelScratch(spec), char(0xff));
    void *args[] = {&paged.batch, queries.data(), weights.data(), state.data(), out.data()};
    int64_t items = selectKernelItems(spec, paged.batch);
    for (int64_t i = 0; i < items; i += step)
      kernel(args, i, std::min(items, i + step), scratch.data());
    EXPECT_TRUE(out.intact() && scratch.intact());
    return out;
  }

  /// By the formula, in the documented order.
  std::vector<int32_t> reference(int64_t t) const {
    int64_t sequence = names[paged.sequenceOf[t]], p = paged.positions[t];
    std::vector<float> scores;
    for (int64_t j = 0; j <= p; ++j) {
      float score = 0;
      for (int64_t h = 0; h < spec.heads; ++h) {
        float dot = 0;
        for (int64_t d = 0; d < spec.state.keyWidth; ++d)
          dot = std::fma(number(0, sequence, p, h, d), number(1, sequence, j, 0, d), dot);
        score = std::fma(number(2, sequence, p, h, 0), std::max(dot, 0.0f), score);
      }
      scores.push_back(score);
    }
    return bestPlaces(scores, spec.top);
  }

  const SelectSpec &spec;
  PagedBatch paged;
  std::vector<int64_t> names;
  Buffer<float> state, queries, weights;
};

TEST(SelectTest, PositionsOfTheFormula) {
  std::vector<SelectSpec> specs = {makeSpec(12, 16, 11),     makeSpec(1, 5, 1),
                                   makeSpec(64, 8, 100),     makeSpec(3, 128, 37),
                                   makeSpec(7, 12, 20, 16),  makeSpec(9, 12, 20, 64)};
  Kernels kernels;
  for (const SelectSpec &spec : specs) {
    ASSERT_EQ(checkSelect(spec), "");
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildSelectKernel(module, spec, v); });
  }
  kernels.compile();
  for (const SelectSpec &spec : specs) {
    SCOPED_TRACE(selectKernelName(spec));
    Step step(spec, {{0, 70}, {45, 1}, {31, 33}, {0, 1}, {200, 50}}, {4, 1, 9, 2, 6});
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t items : {1 << 30, 1, 7}) {
        Buffer<int32_t> out = step.run(kernels.find(selectKernelName(spec), *variant), items);
        for (int64_t t = 0; t < step.paged.batch.tokens; ++t)
          ASSERT_EQ(std::vector<int32_t>(out.data() + t * spec.top,
                                         out.data() + (t + 1) * spec.top),
                    step.reference(t))
              << variant->name.str() << " row " << t;
      }
  }
}

TEST(SelectTest, Nothing) {
  SelectSpec spec;
  spec.top = 5;
  ASSERT_EQ(checkSelect(spec), "");
  Kernels kernels;
  kernels.add(
      [&](mlir::ModuleOp module, const CPUVariant &v) { buildSelectKernel(module, spec, v); });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<int32_t> out(15, 7);
    llmc_batch batch{};
    batch.tokens = 3;
    void *args[] = {&batch, out.data()};
    kernels.find(selectKernelName(spec), *variant)(args, 0, 3, nullptr);
    for (size_t i = 0; i < out.size(); ++i)
      EXPECT_EQ(out[i], -1);
    EXPECT_TRUE(out.intact());
  }
}

TEST(SelectTest, ChecksSpecs) {
  SelectSpec bad = makeSpec(4, 8, 3);
  bad.state.heads = 2;
  EXPECT_EQ(checkSelect(bad), "positions are selected from a state of one head without values, "
                              "this one has 2 heads and values of 0");
  bad = makeSpec(4, 8, 0);
  EXPECT_EQ(checkSelect(bad), "so many positions of a context are selected, they are 0 of 250");
  bad = makeSpec(4, 8, 3, 24);
  EXPECT_EQ(checkSelect(bad), "a state block of 24 positions is not a multiple of 16");
  bad = makeSpec(4, 8, 3);
  bad.qStride = 31;
  EXPECT_NE(checkSelect(bad), "");
}

} // namespace
