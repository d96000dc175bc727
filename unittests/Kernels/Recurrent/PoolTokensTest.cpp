//===- PoolTokensTest.cpp - weighted means of groups of tokens ------------===//
#include "SlotBatch.h"

#include <algorithm>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr unsigned valuesOperand = 0, gatesOperand = 1, biasOperand = 2, stateOperand = 3,
                   outOperand = 4;
constexpr int values = 0, gates = 1, biases = 2;

PoolSpec makeSpec(int64_t group, int64_t width, bool overlap) {
  PoolSpec spec;
  spec.group = group;
  spec.width = width;
  spec.overlap = overlap;
  spec.values = {valuesOperand, width + 7, 3};
  spec.gates = {gatesOperand, width + 1, 0};
  spec.out = {outOperand, spec.pooled() + 2, 1};
  spec.bias = biasOperand;
  spec.state = stateOperand;
  spec.slotBytes = (spec.stateBytes() + 63) / 64 * 64;
  return spec;
}

/// The states of all slots.
Buffer<float> pool(const PoolSpec &spec) {
  return Buffer<float>(size_t(spec.slotBytes / 4 * 5), NAN);
}

struct Step {
  Step(const PoolSpec &spec, const std::vector<Piece> &pieces)
      : spec(spec), step(pieces), v(rowsOf(step, spec.values, spec.width, values)),
        g(rowsOf(step, spec.gates, spec.width, gates)), b(size_t(spec.group * spec.width)) {
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = number(biases, 0, 0, int64_t(i));
  }

  Buffer<float> run(llmc_kernel_fn kernel, Buffer<float> &state, int64_t split = 1 << 30) {
    Buffer<float> out(size_t(step.batch.tokens * spec.out.stride), NAN);
    void *args[] = {&step.batch, v.data(), g.data(), b.data(), state.data(), out.data()};
    int64_t items = step.batch.sequences * poolItemsPerSequence(spec);
    for (int64_t i = 0; i < items; i += split)
      kernel(args, i, std::min(items, i + split), nullptr);
    EXPECT_TRUE(out.intact() && state.intact() && v.intact() && g.intact());
    return out;
  }

  /// By the formula, from numbers that no state was asked for.
  double reference(int64_t t, int64_t d) const {
    int64_t p = step.positions[size_t(t)], name = step.names[size_t(t)], own = p / spec.group;
    int64_t first = spec.overlap && own ? (own - 1) * spec.group : own * spec.group;
    std::vector<double> logits, summands;
    for (int64_t j = first; j <= p; ++j) {
      int64_t c = spec.overlap && j / spec.group == own ? spec.pooled() + d : d;
      logits.push_back(double(number(gates, name, j, c)) +
                       double(b[size_t(j % spec.group * spec.width + c)]));
      summands.push_back(number(values, name, j, c));
    }
    double most = *std::max_element(logits.begin(), logits.end()), sum = 0, mean = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      double e = std::exp(logits[i] - most);
      sum += e;
      mean += e * summands[i];
    }
    return mean / sum;
  }

  void expectNear(const Buffer<float> &out) const {
    for (int64_t t = 0; t < step.batch.tokens; ++t)
      for (int64_t d = 0; d < spec.pooled(); ++d)
        ASSERT_NEAR(out[size_t(t * spec.out.stride + spec.out.offset + d)], reference(t, d), 2e-6)
            << "row " << t << " channel " << d;
  }

  const PoolSpec &spec;
  SlotBatch step;
  Buffer<float> v, g, b;
};

void add(Kernels &kernels, const PoolSpec &spec) {
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) { buildPoolKernel(module, spec, v); });
}

/// Slots out of order, one for nobody, sequences with no rows in the step.
const std::vector<Piece> ragged = {{0, 17, 5, 4}, {0, 1, 6, 0}, {0, 0, 7, 2}, {0, 4, 8, 3}};

TEST(PoolTokensTest, GroupsAndChannels) {
  std::vector<PoolSpec> specs = {makeSpec(2, 1, false),  makeSpec(4, 16, false),
                                 makeSpec(3, 70, false), makeSpec(20, 130, false),
                                 makeSpec(2, 2, true),   makeSpec(4, 32, true),
                                 makeSpec(3, 140, true), makeSpec(5, 26, true)};
  Kernels kernels;
  for (const PoolSpec &spec : specs) {
    ASSERT_EQ(checkPool(spec), "");
    add(kernels, spec);
  }
  kernels.compile();
  for (const PoolSpec &spec : specs) {
    SCOPED_TRACE(poolKernelName(spec));
    Step step(spec, ragged);
    std::vector<Buffer<float>> bits, states;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 3}) {
        states.push_back(pool(spec));
        bits.push_back(step.run(kernels.find(poolKernelName(spec), *variant), states.back(), split));
        if (bits.size() == 1)
          step.expectNear(bits[0]);
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << split;
        EXPECT_TRUE(sameBits(states.front(), states.back())) << variant->name.str() << split;
      }
    // The last rows, oldest first, zeros before the sequence; other slots are untouched.
    const float *slot = states[0].data() + 4 * spec.slotBytes / 4;
    for (int64_t k = 0; k < spec.kept(); ++k)
      for (int64_t c = 0; c < 2 * spec.width; ++c) {
        int64_t p = 17 - spec.kept() + k;
        float row = number(c < spec.width ? values : gates, 5, p, c % spec.width);
        ASSERT_EQ(slot[k * 2 * spec.width + c], p < 0 ? 0 : row) << k << ' ' << c;
      }
    for (int64_t other : {1, 2})
      for (int64_t i = 0; i < spec.slotBytes / 4; ++i)
        ASSERT_TRUE(std::isnan(states[0][size_t(other * spec.slotBytes / 4 + i)]));
  }
}

/// Token by token, in chunks that end within a group, and at once.
TEST(PoolTokensTest, BitsDoNotDependOnTheBatch) {
  for (PoolSpec spec : {makeSpec(4, 36, true), makeSpec(6, 36, false), makeSpec(20, 70, true)}) {
    Kernels kernels;
    add(kernels, spec);
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      llmc_kernel_fn kernel = kernels.find(poolKernelName(spec), *variant);
      expectSameBitsInChunks<Step>(spec, kernel, [&] { return pool(spec); }, 61, {1, 2, 3, 5, 16, 40});
    }
  }
}

TEST(PoolTokensTest, ChecksSpecs) {
  PoolSpec good = makeSpec(4, 8, true), bad = good;
  EXPECT_EQ(checkPool(good), "");
  bad.group = 1;
  EXPECT_EQ(checkPool(bad), "groups of tokens are of at least 2, not of 1");
  bad = good;
  bad.width = 7;
  EXPECT_EQ(checkPool(bad), "rows of 7 channels are not two halves");
  bad = good;
  bad.gates.stride = 7;
  EXPECT_EQ(checkPool(bad), "rows of 8 channels would overlap");
  bad = good;
  bad.out.operand = bad.values.operand;
  EXPECT_EQ(checkPool(bad), "means lie where rows do that are read later");
  bad = good;
  bad.slotBytes = 64;
  EXPECT_EQ(checkPool(bad), "a slot of 64 bytes does not hold a state of 448");
  EXPECT_EQ(poolKernelName(good), poolKernelName(makeSpec(4, 8, true)));
  EXPECT_NE(poolKernelName(good), poolKernelName(makeSpec(4, 8, false)));
}

} // namespace
