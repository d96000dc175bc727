//===- CausalConvTest.cpp - convolution of channels along sequences -------===//
#include "SlotBatch.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr unsigned xOperand = 0, weightOperand = 1, biasOperand = 2, stateOperand = 3,
                   outOperand = 4;
constexpr int inputs = 0, weights = 1, biases = 2;

ConvSpec makeSpec(int64_t channels, int64_t taps, bool bias = true) {
  ConvSpec spec;
  spec.channels = channels;
  spec.taps = taps;
  spec.x = {xOperand, channels + 7, 3};
  spec.out = {outOperand, channels + 2, 1};
  spec.weight = weightOperand;
  spec.state = stateOperand;
  if (bias)
    spec.bias = biasOperand;
  spec.slotBytes = (spec.stateBytes() + 63) / 64 * 64;
  return spec;
}

ConvSpec makeShift(int64_t channels) {
  ConvSpec spec = makeSpec(channels, 2, false);
  spec.shift = true;
  return spec;
}

/// The states of all slots.
Buffer<float> pool(const ConvSpec &spec) { return Buffer<float>(size_t(spec.slotBytes / 4 * 5), NAN); }

struct Step {
  Step(const ConvSpec &spec, const std::vector<Piece> &pieces)
      : spec(spec), step(pieces), x(rowsOf(step, spec.x, spec.channels, inputs)),
        w(size_t(spec.channels * spec.taps)), b(size_t(spec.channels)) {
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = number(weights, 0, 0, int64_t(i));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = number(biases, 0, 0, int64_t(i));
  }

  Buffer<float> run(llmc_kernel_fn kernel, Buffer<float> &state, int64_t split = 1 << 30) {
    Buffer<float> out(size_t(step.batch.tokens * spec.out.stride), NAN);
    void *args[] = {&step.batch, x.data(), w.data(), b.data(), state.data(), out.data()};
    int64_t items = step.batch.sequences * convItemsPerSequence(spec);
    for (int64_t i = 0; i < items; i += split)
      kernel(args, i, std::min(items, i + split), nullptr);
    EXPECT_TRUE(out.intact() && state.intact() && x.intact());
    return out;
  }

  double reference(int64_t t, int64_t c) const {
    if (int64_t p = step.positions[size_t(t)] - 1; spec.shift)
      return p < 0 ? 0 : double(number(inputs, step.names[size_t(t)], p, c));
    double sum = spec.bias ? double(b[size_t(c)]) : 0;
    for (int64_t k = 0; k < spec.taps; ++k) {
      int64_t p = step.positions[size_t(t)] - spec.taps + 1 + k;
      if (p >= 0)
        sum += double(w[size_t(c * spec.taps + k)]) *
               double(number(inputs, step.names[size_t(t)], p, c));
    }
    if (spec.activation)
      sum = sum / (1 + std::exp(-sum));
    return sum;
  }

  void expectNear(const Buffer<float> &out) const {
    for (int64_t t = 0; t < step.batch.tokens; ++t)
      for (int64_t c = 0; c < spec.channels; ++c)
        ASSERT_NEAR(out[size_t(t * spec.out.stride + spec.out.offset + c)], reference(t, c), 1e-6)
            << "row " << t << " channel " << c;
  }

  const ConvSpec &spec;
  SlotBatch step;
  Buffer<float> x, w, b;
};

void add(Kernels &kernels, const ConvSpec &spec) {
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &v) { buildConvKernel(module, spec, v); });
}

/// Slots out of order, one for nobody, sequences with no rows in the step.
const std::vector<Piece> ragged = {{0, 17, 5, 4}, {0, 1, 6, 0}, {0, 0, 7, 2}, {0, 3, 8, 3}};

TEST(CausalConvTest, ChannelsAndTaps) {
  std::vector<ConvSpec> specs = {makeSpec(1, 4),        makeSpec(16, 4),    makeSpec(64, 4),
                                 makeSpec(96, 4, false), makeSpec(130, 4),  makeSpec(200, 2),
                                 makeSpec(33, 3),        makeSpec(70, 16), makeSpec(48, 7)};
  specs.push_back(makeSpec(100, 4));
  specs.back().activation = Activation::SiLU;
  for (int64_t channels : {1, 64, 130})
    specs.push_back(makeShift(channels));
  Kernels kernels;
  for (const ConvSpec &spec : specs)
    add(kernels, spec);
  kernels.compile();
  for (const ConvSpec &spec : specs) {
    SCOPED_TRACE(convKernelName(spec));
    Step step(spec, ragged);
    std::vector<Buffer<float>> bits, states;
    for (const CPUVariant *variant : Kernels::variants())
      for (int64_t split : {1 << 30, 1, 3}) {
        states.push_back(pool(spec));
        bits.push_back(step.run(kernels.find(convKernelName(spec), *variant), states.back(), split));
        if (bits.size() == 1)
          step.expectNear(bits[0]);
        EXPECT_TRUE(sameBits(bits.front(), bits.back())) << variant->name.str() << split;
        EXPECT_TRUE(sameBits(states.front(), states.back())) << variant->name.str() << split;
      }
    // The last inputs, oldest first; the slots of nobody and of no rows are untouched.
    const float *slot = states[0].data() + 4 * spec.slotBytes / 4;
    for (int64_t k = 0; k < spec.taps - 1; ++k)
      for (int64_t c = 0; c < spec.channels; ++c) {
        int64_t p = 17 - (spec.taps - 1) + k;
        ASSERT_EQ(slot[k * spec.channels + c], number(inputs, 5, p, c)) << k << ' ' << c;
      }
    for (int64_t other : {1, 2})
      for (int64_t i = 0; i < spec.slotBytes / 4; ++i)
        ASSERT_TRUE(std::isnan(states[0][size_t(other * spec.slotBytes / 4 + i)]));
  }
}

TEST(CausalConvTest, BitsDoNotDependOnTheBatch) {
  for (ConvSpec spec : {makeSpec(100, 4), makeShift(100)}) {
    Kernels kernels;
    add(kernels, spec);
    kernels.compile();
    for (const CPUVariant *variant : Kernels::variants()) {
      llmc_kernel_fn kernel = kernels.find(convKernelName(spec), *variant);
      expectSameBitsInChunks<Step>(spec, kernel, [&] { return pool(spec); }, 40, {1, 2, 3, 5, 16});
    }
  }
}

/// The result over the input's own rows.
TEST(CausalConvTest, InPlace) {
  ConvSpec spec = makeSpec(72, 4), other = spec;
  spec.out = spec.x;
  Kernels kernels;
  add(kernels, spec);
  add(kernels, other);
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Step apart(other, ragged), over(spec, ragged);
    Buffer<float> a = pool(spec), b = pool(spec);
    Buffer<float> want = apart.run(kernels.find(convKernelName(other), *variant), a);
    over.run(kernels.find(convKernelName(spec), *variant), b);
    EXPECT_TRUE(sameBits(a, b));
    for (int64_t t = 0; t < over.step.batch.tokens; ++t)
      for (int64_t c = 0; c < spec.channels; ++c)
        ASSERT_EQ(over.x[size_t(t * spec.x.stride + spec.x.offset + c)],
                  want[size_t(t * other.out.stride + other.out.offset + c)]);
  }
}

TEST(CausalConvTest, ChecksSpecs) {
  EXPECT_EQ(checkConv(makeSpec(8, 4)), "");
  EXPECT_EQ(checkConv(makeSpec(8, 17)), "a convolution of 17 taps; kernels have 2 to 16");
  EXPECT_EQ(checkConv(makeSpec(8, 1)), "a convolution of 1 taps; kernels have 2 to 16");
  ConvSpec narrow = makeSpec(8, 4);
  narrow.out.stride = 7;
  EXPECT_EQ(checkConv(narrow), "rows of 8 channels would overlap");
  ConvSpec small = makeSpec(8, 4);
  small.slotBytes = 64;
  EXPECT_EQ(checkConv(small), "a slot of 64 bytes does not hold a state of 96");
  ConvSpec shift = makeShift(8);
  EXPECT_EQ(checkConv(shift), "");
  EXPECT_NE(convKernelName(shift), convKernelName(makeSpec(8, 2, false)));
  shift.bias = biasOperand;
  EXPECT_EQ(checkConv(shift), "a token shift has two taps and no bias");
  ConvSpec same = makeSpec(8, 4), moved = same;
  EXPECT_EQ(convKernelName(same), convKernelName(makeSpec(8, 4)));
  moved.x.offset = 0;
  EXPECT_NE(convKernelName(same), convKernelName(moved));
}

} // namespace
