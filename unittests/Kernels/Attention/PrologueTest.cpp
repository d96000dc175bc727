//===- PrologueTest.cpp - head norms, rotary positions, append ------------===//
#include "PagedBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr unsigned rowsOperand = 0, freqOperand = 1, stateOperand = 2, qScale = 3, kScale = 4,
                   outOperand = 5;

/// q, k and v side by side in one buffer.
PrologueSpec makeSpec(int64_t heads, int64_t kvHeads, int64_t keyWidth, int64_t valueWidth) {
  PrologueSpec spec;
  spec.heads = heads;
  spec.state = {kvHeads, keyWidth, valueWidth, 32};
  int64_t q = heads * keyWidth, k = kvHeads * keyWidth, v = kvHeads * valueWidth;
  int64_t stride = q + k + v + 4;
  spec.q = HeadRows{rowsOperand, stride, 0};
  spec.k = HeadRows{rowsOperand, stride, q + 1};
  spec.v = HeadRows{rowsOperand, stride, q + k + 3};
  return spec;
}

const std::vector<Piece> ragged = {{0, 40}, {1000, 3}, {63, 1}, {130000, 2}};

struct Step {
  explicit Step(const PrologueSpec &spec, const std::vector<Piece> &pieces = ragged)
      : spec(spec), paged(spec.state, pieces, /*seed=*/1, /*hasPast=*/false),
        stride(spec.q ? spec.q->stride : spec.k->stride) {
    std::mt19937 random(5);
    std::uniform_real_distribution<float> values(-3, 3);
    auto fill = [&](int64_t n) {
      Buffer<float> buffer(n);
      for (int64_t i = 0; i < n; ++i)
        buffer[i] = values(random);
      return buffer;
    };
    rows = fill(paged.batch.tokens * stride);
    out = fill(paged.batch.tokens * stride);
    scales[0] = fill(spec.state.keyWidth);
    scales[1] = fill(spec.state.keyWidth);
    for (int64_t i = 0; i < int64_t(rows.size()); ++i)
      before.push_back(rows[i]);
    int64_t half = spec.rotary ? spec.rotary->width / 2 : 0;
    bool hasLong = spec.rotary && spec.rotary->beyond;
    invFreq = Buffer<float>(hasLong ? 2 * half : half);
    for (int64_t i = 0; i < int64_t(invFreq.size()); ++i)
      invFreq[i] = std::pow(10000.0f, -float(i) / float(half));
    // A frequency of zero is legal.
    if (hasLong)
      invFreq[2 * half - 1] = 0;
    state = Buffer<float>(paged.batch.blocks * spec.state.blockBytes() / 4, NAN);
  }

  void run(llmc_kernel_fn kernel, int64_t step = 1 << 30) {
    Buffer<char> scratch(prologueKernelScratch(spec), char(0xff));
    void *args[] = {&paged.batch,     rows.data(),      invFreq.data(), state.data(),
                    scales[0].data(), scales[1].data(), out.data()};
    int64_t items = prologueKernelItems(spec, paged.batch);
    for (int64_t i = 0; i < items; i += step)
      kernel(args, i, std::min(items, i + step), scratch.data());
    EXPECT_TRUE(scratch.intact() && rows.intact() && state.intact() && out.intact());
  }

  /// A head of q or k as it should become.
  std::vector<double> reference(const HeadRows &from, const std::optional<HeadNorm> &norm,
                                const Buffer<float> &scale, int64_t t, int64_t head) const {
    int64_t width = spec.state.keyWidth;
    std::vector<double> x(width);
    for (int64_t d = 0; d < width; ++d)
      x[d] = before[t * from.stride + from.offset + head * width + d];
    auto applyNorm = [&] {
      if (!norm)
        return;
      double squares = 0;
      for (double v : x)
        squares += v * v;
      for (int64_t d = 0; d < width; ++d)
        x[d] *= (scale[d] + norm->offset) / std::sqrt(squares / double(width) + norm->eps);
    };
    if (!spec.normAfterRotary)
      applyNorm();
    if (spec.rotary) {
      const Rotary &rotary = *spec.rotary;
      int64_t half = rotary.width / 2;
      for (int64_t i = 0; i < half; ++i) {
        bool isLong = rotary.beyond && paged.lengths[paged.sequenceOf[t]] > rotary.beyond;
        double angle = float(paged.positions[t]) * invFreq[isLong ? half + i : i];
        bool isHalves = rotary.pairs == RotaryPairs::Halves;
        double &a = x[rotary.first + (isHalves ? i : 2 * i)];
        double &b = x[rotary.first + (isHalves ? i + half : 2 * i + 1)];
        double c = std::cos(angle) * rotary.magnitude, s = std::sin(angle) * rotary.magnitude;
        double turned = a * c - b * s;
        b = b * c + a * s;
        a = turned;
      }
    }
    if (spec.normAfterRotary)
      applyNorm();
    return x;
  }

  void expectHeads(const float *data, const HeadRows &to, const HeadRows &from,
                   const std::optional<HeadNorm> &norm, const Buffer<float> &scale,
                   int64_t heads) const {
    for (int64_t t = 0; t < paged.batch.tokens; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        std::vector<double> want = reference(from, norm, scale, t, h);
        for (int64_t d = 0; d < spec.state.keyWidth; ++d)
          ASSERT_NEAR(data[t * to.stride + to.offset + h * spec.state.keyWidth + d], want[d], 3e-6)
              << "row " << t << " head " << h << " channel " << d;
      }
  }

  /// Appended slots hold k and v; all others are untouched.
  void expectState() const {
    const PagedState &layout = spec.state;
    size_t written = 0, found = 0;
    for (int64_t t = 0; t < paged.batch.tokens; ++t) {
      int64_t p = paged.positions[t];
      int32_t block = paged.blockOf(paged.sequenceOf[t], p, layout);
      for (int64_t h = 0; h < layout.heads; ++h) {
        std::vector<double> want = reference(*spec.k, spec.kNorm, scales[1], t, h);
        for (int64_t d = 0; d < layout.keyWidth; ++d, ++written)
          ASSERT_NEAR(PagedBatch::key(layout, state.data(), block, h, p % 32, d), want[d], 3e-6);
        for (int64_t d = 0; d < layout.valueWidth; ++d, ++written)
          ASSERT_EQ(PagedBatch::value(layout, state.data(), block, h, p % 32, d),
                    before[t * spec.v->stride + spec.v->offset + h * layout.valueWidth + d]);
      }
    }
    for (size_t i = 0; i < state.size(); ++i)
      found += !std::isnan(state[i]);
    EXPECT_EQ(found, written);
  }

  const PrologueSpec &spec;
  PagedBatch paged;
  int64_t stride;
  std::vector<float> before;
  Buffer<float> rows, out, invFreq, state, scales[2];
};

void check(const std::vector<PrologueSpec> &specs) {
  Kernels kernels;
  for (const PrologueSpec &spec : specs)
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildPrologueKernel(module, spec, v); });
  kernels.compile();
  for (const PrologueSpec &spec : specs) {
    SCOPED_TRACE(prologueKernelName(spec));
    EXPECT_EQ(checkPrologue(spec), "");
    std::vector<std::unique_ptr<Step>> bits;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t items : {1 << 30, 7}) {
        bits.push_back(std::make_unique<Step>(spec));
        Step &step = *bits.back(), &first = *bits.front();
        step.run(kernels.find(prologueKernelName(spec), *variant), items);
        if (spec.q && !spec.qOut)
          step.expectHeads(step.rows.data(), *spec.q, *spec.q, spec.qNorm, step.scales[0],
                           spec.heads);
        if (spec.qOut)
          step.expectHeads(step.out.data(), *spec.qOut, *spec.q, spec.qNorm, step.scales[0],
                           spec.heads);
        if (spec.k && !spec.append && !spec.kOut)
          step.expectHeads(step.rows.data(), *spec.k, *spec.k, spec.kNorm, step.scales[1],
                           spec.state.heads);
        if (spec.append)
          step.expectState();
        // What is not q stays: with an append, k as well.
        for (size_t i = 0; i < step.before.size(); ++i)
          if (int64_t column = int64_t(i) % step.stride;
              !spec.q || spec.qOut || column >= spec.heads * spec.state.keyWidth)
            if (spec.append || !spec.k || spec.kOut)
              ASSERT_EQ(step.rows[i], step.before[i]) << i;
        ASSERT_TRUE(sameBits(first.rows, step.rows));
        ASSERT_TRUE(sameBits(first.out, step.out));
        ASSERT_TRUE(sameBits(first.state, step.state));
      }
  }
}

Rotary turn(int64_t width, RotaryPairs pairs = RotaryPairs::Halves, int64_t first = 0,
            float magnitude = 1) {
  return {freqOperand, width, first, pairs, magnitude};
}

TEST(PrologueTest, RotaryInPlace) {
  std::vector<PrologueSpec> specs;
  for (int64_t width : {8, 12, 64, 80, 128})
    for (RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Interleaved}) {
      PrologueSpec spec = makeSpec(3, 1, width, width);
      spec.v.reset();
      spec.rotary = turn(width, pairs);
      specs.push_back(spec);
    }
  check(specs);
}

TEST(PrologueTest, PartOfTheHeadTurns) {
  std::vector<PrologueSpec> specs;
  for (RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Interleaved}) {
    PrologueSpec spec = makeSpec(2, 2, 80, 64);
    spec.rotary = turn(20, pairs, 0, 1.25f);
    spec.append = stateOperand;
    specs.push_back(spec);
    spec.rotary = turn(16, pairs, 64);
    spec.qOut = HeadRows{outOperand, spec.q->stride, 2};
    specs.push_back(spec);
  }
  check(specs);
}

/// Some of the sequences are longer than 40 tokens, some are not.
TEST(PrologueTest, LongSequencesTurnByOtherFrequencies) {
  std::vector<PrologueSpec> specs;
  for (RotaryPairs pairs : {RotaryPairs::Halves, RotaryPairs::Interleaved})
    for (int64_t beyond : {40, 1000}) {
      PrologueSpec spec = makeSpec(2, 1, 24, 24);
      spec.rotary = turn(20, pairs, 0, 1.25f);
      spec.rotary->beyond = beyond;
      spec.append = stateOperand;
      specs.push_back(spec);
    }
  check(specs);
}

TEST(PrologueTest, NormsRotaryAndAppend) {
  std::vector<PrologueSpec> specs;
  for (int64_t width : {12, 64, 100}) {
    PrologueSpec spec = makeSpec(4, 2, width, width);
    spec.qNorm = HeadNorm{qScale, RowElement::F32, 1e-6f, 0};
    spec.kNorm = HeadNorm{kScale, RowElement::F32, 1e-6f, 1};
    spec.rotary = turn(width);
    spec.append = stateOperand;
    specs.push_back(spec);
    spec.normAfterRotary = true;
    specs.push_back(spec);
    spec.normAfterRotary = false;
    spec.qOut = HeadRows{outOperand, spec.q->stride, 0};
    specs.push_back(spec);
    spec.rotary.reset();
    specs.push_back(spec);
  }
  check(specs);
}

TEST(PrologueTest, AppendAlone) {
  PrologueSpec spec = makeSpec(0, 3, 24, 40);
  spec.q.reset();
  spec.append = stateOperand;
  check({spec});
}

TEST(PrologueTest, AppendOfKeysAlone) {
  PrologueSpec spec = makeSpec(2, 1, 28, 0);
  spec.v.reset();
  spec.append = stateOperand;
  PrologueSpec turned = spec;
  turned.rotary = turn(8, RotaryPairs::Interleaved, 20);
  spec.q.reset();
  check({spec, turned});
}

TEST(PrologueTest, CopyAlone) {
  PrologueSpec spec = makeSpec(3, 1, 20, 20);
  spec.k.reset();
  spec.v.reset();
  spec.qOut = HeadRows{outOperand, spec.q->stride, 1};
  check({spec});
}

TEST(PrologueTest, ChecksSpecs) {
  PrologueSpec good = makeSpec(4, 2, 48, 32);
  good.rotary = turn(32);
  good.append = stateOperand;
  EXPECT_EQ(checkPrologue(good), "");
  PrologueSpec bad = good;
  bad.rotary = turn(32, RotaryPairs::Halves, 20);
  EXPECT_EQ(checkPrologue(bad), "rotary positions cover channels 20 to 52 of heads of 48");
  bad.rotary = turn(7);
  EXPECT_EQ(checkPrologue(bad), "rotary positions turn pairs: a width of 7 is not even");
  bad = good;
  bad.v.reset();
  EXPECT_EQ(checkPrologue(bad), "an append needs v exactly where the state keeps values");
  bad = good;
  bad.k.reset();
  EXPECT_EQ(checkPrologue(bad), "an append needs k and the state's layout");
  bad = good;
  bad.q.reset();
  bad.qNorm = HeadNorm{qScale};
  EXPECT_EQ(checkPrologue(bad), "q is normed or placed, but there is no q");
}

/// One kernel for everything gives the bits of three.
TEST(PrologueTest, FusedEqualsUnfused) {
  PrologueSpec all = makeSpec(4, 2, 48, 32);
  all.qNorm = HeadNorm{qScale, RowElement::F32, 1e-6f, 0};
  all.kNorm = HeadNorm{kScale, RowElement::F32, 1e-6f, 0};
  all.rotary = turn(32);
  all.append = stateOperand;
  PrologueSpec append = makeSpec(4, 2, 48, 32), rotary = append;
  append.q.reset();
  append.append = stateOperand;
  rotary.rotary = all.rotary;

  // The norms as row programs over the heads of q and k.
  auto norm = [&](const HeadRows &rows, int64_t heads, unsigned scale) {
    RowProgram p(48, heads);
    RowOperand slice{rows.operand, rows.stride, rows.offset, 48};
    p.output(p.rmsNorm(p.input(slice), p.constant(scale), 1e-6f), slice);
    return p;
  };
  RowProgram qNorm = norm(*all.q, 4, qScale), kNorm = norm(*all.k, 2, kScale);

  Kernels kernels;
  for (const PrologueSpec *spec : {&all, &append, &rotary})
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) {
      buildPrologueKernel(module, *spec, v);
    });
  for (const RowProgram *program : {&qNorm, &kNorm})
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildRowKernel(module, *program, v); });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Step one(all), many(all);
    one.run(kernels.find(prologueKernelName(all), *variant));
    Buffer<char> scratch(1 << 16);
    void *args[] = {&many.paged.batch,     many.rows.data(),      many.invFreq.data(),
                    many.state.data(),     many.scales[0].data(), many.scales[1].data()};
    for (const RowProgram *program : {&qNorm, &kNorm})
      kernels.find(rowKernelName(*program), *variant)(
          args, 0, rowKernelItems(*program, many.paged.batch), scratch.data());
    many.run(kernels.find(prologueKernelName(rotary), *variant));
    many.run(kernels.find(prologueKernelName(append), *variant));
    EXPECT_TRUE(sameBits(one.state, many.state));
    for (int64_t t = 0; t < one.paged.batch.tokens; ++t)
      EXPECT_EQ(std::memcmp(one.rows.data() + t * one.stride, many.rows.data() + t * one.stride,
                            4 * 48 * 4),
                0);
  }
}

} // namespace
