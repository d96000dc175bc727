//===- LinearAttentionTest.cpp - decaying states against double precision -===//
#include "SlotBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

enum Kind { queries = 10, keys, values, decays, betas, factorsA, factorsB };
constexpr unsigned qOperand = 0, kOperand = 1, vOperand = 2, decayOperand = 3, betaOperand = 4,
                   stateOperand = 5, outOperand = 6, rankOneAOperand = 7, rankOneBOperand = 8;

LinearAttentionSpec makeSpec(int64_t heads, int64_t keyHeads, int64_t keyWidth, int64_t valueWidth,
                             bool delta, bool beta, bool channels) {
  LinearAttentionSpec spec;
  spec.heads = heads;
  spec.keyHeads = keyHeads;
  spec.keyWidth = keyWidth;
  spec.valueWidth = valueWidth;
  spec.q = {qOperand, keyHeads * keyWidth + 3, 2};
  spec.k = {kOperand, keyHeads * keyWidth + 1, 1};
  spec.v = {vOperand, heads * valueWidth + 5, 4};
  spec.decay = {decayOperand, (channels ? heads * keyWidth : heads) + 2, 1};
  if (beta)
    spec.beta = StepRows{betaOperand, heads + 1, 0};
  spec.out = {outOperand, heads * valueWidth, 0};
  spec.state = stateOperand;
  spec.channelDecay = channels;
  spec.delta = delta;
  spec.scale = 0.37f;
  spec.slotBytes = (spec.stateBytes() + 63) / 64 * 64;
  return spec;
}

LinearAttentionSpec withRankOne(LinearAttentionSpec spec) {
  spec.delta = false;
  spec.rankOneA = StepRows{rankOneAOperand, spec.keyHeads * spec.keyWidth + 2, 1};
  spec.rankOneB = StepRows{rankOneBOperand, spec.keyHeads * spec.keyWidth, 0};
  return spec;
}

LinearAttentionSpec readBefore(LinearAttentionSpec spec) {
  spec.before = true;
  return spec;
}

Buffer<float> pool(const LinearAttentionSpec &spec) {
  return Buffer<float>(size_t(spec.slotBytes / 4 * 5), NAN);
}

struct Step {
  Step(const LinearAttentionSpec &spec, const std::vector<Piece> &pieces)
      : spec(spec), step(pieces),
        q(rowsOf(step, spec.q, spec.keyHeads * spec.keyWidth, queries)),
        k(rowsOf(step, spec.k, spec.keyHeads * spec.keyWidth, keys)),
        v(rowsOf(step, spec.v, spec.heads * spec.valueWidth, values)),
        decay(rowsOf(step, spec.decay, spec.channelDecay ? spec.heads * spec.keyWidth : spec.heads,
                     decays)),
        beta(rowsOf(step, spec.beta.value_or(StepRows{0, 1, 0}), spec.beta ? spec.heads : 0, betas)),
        rankOneA(factor(spec.rankOneA, factorsA)), rankOneB(factor(spec.rankOneB, factorsB)) {
    // Keys short enough that the delta rule keeps the state bounded, decays negative.
    for (Buffer<float> *buffer : {&k, &rankOneA, &rankOneB})
      for (float &x : llvm::MutableArrayRef(buffer->data(), buffer->size()))
        x /= std::sqrt(float(spec.keyWidth));
    for (float &x : llvm::MutableArrayRef(decay.data(), decay.size()))
      x -= 1;
  }

  Buffer<float> factor(const std::optional<StepRows> &rows, int kind) const {
    return rowsOf(step, rows.value_or(StepRows{0, 1, 0}),
                  rows ? spec.keyHeads * spec.keyWidth : 0, kind);
  }

  Buffer<float> run(llmc_kernel_fn kernel, Buffer<float> &state, int64_t split = 1 << 30) {
    Buffer<float> out(size_t(step.batch.tokens * spec.out.stride), NAN);
    Buffer<char> scratch(size_t(linearAttentionKernelScratch(spec)), char(0xff));
    void *args[] = {&step.batch, q.data(),     k.data(),   v.data(),        decay.data(),
                    beta.data(), state.data(), out.data(), rankOneA.data(), rankOneB.data()};
    int64_t items = step.batch.sequences * linearAttentionItemsPerSequence(spec);
    for (int64_t i = 0; i < items; i += split)
      kernel(args, i, std::min(items, i + split), scratch.data());
    EXPECT_TRUE(out.intact() && state.intact() && scratch.intact() && v.intact());
    return out;
  }

  /// The result of one sequence that starts in this step at row `first`.
  void expectNear(const Buffer<float> &out, int64_t first, int64_t rows) const {
    int64_t n = spec.keyWidth, m = spec.valueWidth, shared = spec.heads / spec.keyHeads;
    for (int64_t h = 0; h < spec.heads; ++h) {
      std::vector<double> state(size_t(n * m), 0);
      for (int64_t t = first; t < first + rows; ++t) {
        auto at = [&](const Buffer<float> &buffer, const StepRows &where, int64_t i) {
          return double(buffer[size_t(t * where.stride + where.offset + i)]);
        };
        std::vector<double> taken(size_t(m), 0), read(size_t(m), 0);
        for (int64_t d = 0; d < n; ++d)
          for (int64_t j = 0; j < m; ++j) {
            double old = state[size_t(d * m + j)];
            if (spec.rankOneA)
              taken[size_t(j)] += old * at(rankOneA, *spec.rankOneA, h / shared * n + d);
            read[size_t(j)] += old * at(q, spec.q, h / shared * n + d);
          }
        for (int64_t d = 0; d < n; ++d)
          for (int64_t j = 0; j < m; ++j)
            state[size_t(d * m + j)] *=
                std::exp(at(decay, spec.decay, spec.channelDecay ? h * n + d : h));
        for (int64_t j = 0; j < m; ++j) {
          double u = at(v, spec.v, h * m + j), y = 0;
          for (int64_t d = 0; spec.delta && d < n; ++d)
            u -= state[size_t(d * m + j)] * at(k, spec.k, h / shared * n + d);
          if (spec.beta)
            u *= at(beta, *spec.beta, h);
          for (int64_t d = 0; d < n; ++d) {
            if (spec.rankOneB)
              state[size_t(d * m + j)] +=
                  at(rankOneB, *spec.rankOneB, h / shared * n + d) * taken[size_t(j)];
            state[size_t(d * m + j)] += at(k, spec.k, h / shared * n + d) * u;
            y += state[size_t(d * m + j)] * at(q, spec.q, h / shared * n + d);
          }
          ASSERT_NEAR(out[size_t(t * spec.out.stride + spec.out.offset + h * m + j)],
                      (spec.before ? read[size_t(j)] : y) * double(spec.scale), 3e-6)
              << "row " << t << " head " << h << " column " << j;
        }
      }
    }
  }

  const LinearAttentionSpec &spec;
  SlotBatch step;
  Buffer<float> q, k, v, decay, beta, rankOneA, rankOneB;
};

void add(Kernels &kernels, const LinearAttentionSpec &spec) {
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) {
    buildLinearAttentionKernel(module, spec, v);
  });
}

TEST(LinearAttentionTest, WidthsAndForms) {
  std::vector<LinearAttentionSpec> specs;
  for (bool delta : {false, true})
    for (bool beta : {false, true})
      for (bool channels : {false, true})
        specs.push_back(makeSpec(4, 2, 10, 14, delta, beta, channels));
  // Widths around the vectors of both variants.
  for (int64_t width : {1, 16, 17, 48, 64, 80, 112, 128, 130})
    specs.push_back(makeSpec(2, 1, 12, width, true, true, width % 2 == 0));
  specs.push_back(makeSpec(3, 3, 128, 128, true, true, true));
  specs.push_back(makeSpec(6, 2, 33, 8, false, false, true));
  specs.push_back(makeSpec(2, 2, 8, 8, false, false, false));
  specs.back().scale = 1;
  // Transitions with a part of rank one, and states read before they change.
  for (int64_t width : {8, 17, 64, 130}) {
    specs.push_back(withRankOne(makeSpec(4, 2, 10, width, false, width == 17, width != 64)));
    specs.push_back(readBefore(specs.back()));
    specs.push_back(readBefore(makeSpec(2, 2, 12, width, width == 8, false, width != 64)));
  }
  Kernels kernels;
  for (const LinearAttentionSpec &spec : specs)
    add(kernels, spec);
  kernels.compile();
  for (const LinearAttentionSpec &spec : specs) {
    SCOPED_TRACE(linearAttentionKernelName(spec));
    // Slots out of order, one for nobody, a sequence with no rows in the step.
    Step step(spec, {{0, 9, 5, 4}, {0, 1, 6, 0}, {0, 0, 7, 2}, {0, 3, 8, 3}});
    std::vector<Buffer<float>> bits, states;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 3}) {
        states.push_back(pool(spec));
        bits.push_back(step.run(kernels.find(linearAttentionKernelName(spec), *variant),
                                states.back(), split));
        if (bits.size() == 1) {
          step.expectNear(bits[0], 0, 9);
          step.expectNear(bits[0], 9, 1);
          step.expectNear(bits[0], 10, 3);
        }
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << split;
        EXPECT_TRUE(sameBits(states.front(), states.back())) << variant->name.str() << split;
      }
    for (int64_t other : {1, 2})
      for (int64_t i = 0; i < spec.slotBytes / 4; ++i)
        ASSERT_TRUE(std::isnan(states[0][size_t(other * spec.slotBytes / 4 + i)]));
  }
}

TEST(LinearAttentionTest, BitsDoNotDependOnTheBatch) {
  for (bool channels : {false, true}) {
    LinearAttentionSpec spec = makeSpec(4, 2, 20, 72, true, true, channels);
    if (channels)
      spec = withRankOne(spec);
    Kernels kernels;
    add(kernels, spec);
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      llmc_kernel_fn kernel = kernels.find(linearAttentionKernelName(spec), *variant);
      int64_t length = 40;
      Step whole(spec, {{0, length, 7, 1}});
      Buffer<float> wholeState = pool(spec), want = whole.run(kernel, wholeState);
      whole.expectNear(want, 0, length);
      for (int64_t chunk : {1, 3, 16}) {
        Buffer<float> state = pool(spec);
        for (int64_t at = 0; at < length; at += chunk) {
          int64_t rows = std::min(chunk, length - at);
          Step part(spec, {{0, 9, 3, 2}, {at, rows, 7, 1}, {0, 1, 9, 0}});
          Buffer<float> got = part.run(kernel, state, 5);
          ASSERT_EQ(std::memcmp(want.data() + at * spec.out.stride,
                                got.data() + 9 * spec.out.stride,
                                size_t(rows * spec.out.stride * 4)),
                    0)
              << "chunk " << chunk << " at " << at;
        }
        EXPECT_EQ(std::memcmp(state.data() + spec.slotBytes / 4,
                              wholeState.data() + spec.slotBytes / 4, size_t(spec.stateBytes())),
                  0);
      }
    }
  }
}

/// q, k and v as columns of one buffer, the result over the values.
TEST(LinearAttentionTest, ColumnsOfOneBuffer) {
  LinearAttentionSpec apart = makeSpec(4, 2, 8, 24, true, true, false), spec = apart;
  int64_t key = 2 * 8, value = 4 * 24, stride = 2 * key + value;
  spec.q = {qOperand, stride, 0};
  spec.k = {qOperand, stride, key};
  spec.v = spec.out = {qOperand, stride, 2 * key};
  Kernels kernels;
  add(kernels, spec);
  add(kernels, apart);
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Step want(apart, {{0, 12, 5, 1}}), got(spec, {{0, 12, 5, 1}});
    Buffer<float> a = pool(spec), b = pool(spec);
    Buffer<float> out = want.run(kernels.find(linearAttentionKernelName(apart), *variant), a);
    for (int64_t t = 0; t < 12; ++t) {
      auto copy = [&](const Buffer<float> &from, const StepRows &source, const StepRows &target,
                      int64_t width) {
        for (int64_t i = 0; i < width; ++i)
          got.q[size_t(t * stride + target.offset + i)] =
              from[size_t(t * source.stride + source.offset + i)];
      };
      copy(want.q, apart.q, spec.q, key);
      copy(want.k, apart.k, spec.k, key);
      copy(want.v, apart.v, spec.v, value);
    }
    got.run(kernels.find(linearAttentionKernelName(spec), *variant), b);
    EXPECT_TRUE(sameBits(a, b));
    for (int64_t t = 0; t < 12; ++t)
      for (int64_t i = 0; i < value; ++i)
        ASSERT_EQ(got.q[size_t(t * stride + spec.v.offset + i)], out[size_t(t * value + i)]);
  }
}

/// A state that has decayed to nothing, and a decay of minus infinity: no NaN.
TEST(LinearAttentionTest, StrongDecay) {
  LinearAttentionSpec spec = makeSpec(2, 1, 8, 8, true, true, false);
  Kernels kernels;
  add(kernels, spec);
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Step step(spec, {{0, 6, 5, 1}});
    for (int64_t t = 2; t < 5; ++t)
      for (int64_t h = 0; h < 2; ++h)
        step.decay[size_t(t * spec.decay.stride + spec.decay.offset + h)] =
            t == 4 ? -INFINITY : -1000.0f;
    Buffer<float> state = pool(spec);
    Buffer<float> out = step.run(kernels.find(linearAttentionKernelName(spec), *variant), state);
    step.expectNear(out, 0, 6);
  }
}

TEST(LinearAttentionTest, ChecksSpecs) {
  LinearAttentionSpec good = makeSpec(4, 2, 8, 8, true, true, false), bad = good;
  EXPECT_EQ(checkLinearAttention(good), "");
  bad.keyHeads = 3;
  EXPECT_EQ(checkLinearAttention(bad), "heads (4) are not a multiple of key heads (3)");
  bad = good;
  bad.valueWidth = 0;
  EXPECT_EQ(checkLinearAttention(bad), "heads of linear attention have no channels");
  bad = good;
  bad.channelDecay = true;
  EXPECT_EQ(checkLinearAttention(bad),
            "rows of linear attention are at least as far apart as their heads are wide");
  bad = good;
  bad.slotBytes = 960;
  EXPECT_EQ(checkLinearAttention(bad), "a slot of 960 bytes does not hold a state of 1024");
  bad = good;
  bad.scale = 1;
  EXPECT_NE(linearAttentionKernelName(good), linearAttentionKernelName(bad));
  bad = withRankOne(good);
  EXPECT_EQ(checkLinearAttention(bad), "");
  EXPECT_NE(linearAttentionKernelName(bad), linearAttentionKernelName(readBefore(bad)));
  bad.rankOneB->stride = 4;
  EXPECT_EQ(checkLinearAttention(bad),
            "rows of linear attention are at least as far apart as their heads are wide");
  bad.rankOneB.reset();
  EXPECT_EQ(checkLinearAttention(bad), "a rank one part has two factors, and does not go with delta");
  bad = withRankOne(good);
  bad.delta = true;
  EXPECT_EQ(checkLinearAttention(bad), "a rank one part has two factors, and does not go with delta");
  bad = good;
  bad.beta.reset();
  EXPECT_NE(linearAttentionKernelName(good), linearAttentionKernelName(bad));
}

} // namespace
