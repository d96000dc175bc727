//===- SinkhornTest.cpp - matrices of tokens, exactly ---------------------===//
#include "KernelTest.h"
#include "llmc/Kernels/CPU/HeadKernels.h"

#include <cmath>
#include <cstring>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

SinkhornSpec makeSpec(int64_t n, int64_t steps, bool inPlace = false) {
  SinkhornSpec spec;
  spec.n = n;
  spec.steps = steps;
  spec.epsilon = 1e-6f;
  spec.x = {0, n * n + 3, 2};
  spec.out = inPlace ? spec.x : StepRows{1, n * n + 1, 1};
  return spec;
}

/// By the formula, in the documented order.
std::vector<float> reference(const SinkhornSpec &spec, const float *x) {
  std::vector<float> c(x, x + spec.n * spec.n);
  auto divide = [&](int64_t outer, int64_t inner) {
    for (int64_t a = 0; a < spec.n; ++a) {
      float sum = 0;
      for (int64_t b = 0; b < spec.n; ++b)
        sum += c[size_t(a * outer + b * inner)];
      sum += spec.epsilon;
      for (int64_t b = 0; b < spec.n; ++b)
        c[size_t(a * outer + b * inner)] /= sum;
    }
  };
  for (int64_t step = 0; step < spec.steps; ++step) {
    if (step)
      divide(spec.n, 1);
    divide(1, spec.n);
  }
  return c;
}

TEST(SinkhornTest, MatricesOfTheFormula) {
  std::vector<SinkhornSpec> specs = {makeSpec(4, 20),       makeSpec(1, 3),  makeSpec(3, 1),
                                     makeSpec(16, 2),       makeSpec(17, 5), makeSpec(64, 3),
                                     makeSpec(4, 20, true), makeSpec(5, 7, true)};
  Kernels kernels;
  for (const SinkhornSpec &spec : specs) {
    ASSERT_EQ(checkSinkhorn(spec), "");
    kernels.add(
        [&](mlir::ModuleOp module, const CPUVariant &v) { buildSinkhornKernel(module, spec, v); });
  }
  kernels.compile();
  constexpr int64_t rows = 7;
  for (const SinkhornSpec &spec : specs) {
    SCOPED_TRACE(sinkhornKernelName(spec));
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<float> x(size_t(rows * spec.x.stride), NAN);
      for (int64_t t = 0; t < rows; ++t)
        for (int64_t i = 0; i < spec.n * spec.n; ++i)
          x[size_t(t * spec.x.stride + spec.x.offset + i)] = float((t * 31 + i * 17) % 23 + 1) / 23;
      Buffer<float> given(x.size());
      std::memcpy(given.data(), x.data(), x.size() * 4);
      Buffer<float> out(size_t(rows * spec.out.stride), NAN);
      bool inPlace = spec.out.operand == spec.x.operand;
      llmc_batch batch{};
      void *args[] = {&batch, x.data(), out.data()};
      // Rows 2 to 5 alone.
      kernels.find(sinkhornKernelName(spec), *variant)(args, 2, 6, nullptr);
      EXPECT_TRUE(x.intact() && out.intact());
      const Buffer<float> &got = inPlace ? x : out;
      for (int64_t t = 0; t < rows; ++t) {
        const float *row = given.data() + t * spec.x.stride + spec.x.offset;
        std::vector<float> want = reference(spec, row);
        const float *result = got.data() + t * spec.out.stride + spec.out.offset;
        if (t >= 2 && t < 6)
          EXPECT_EQ(std::memcmp(want.data(), result, want.size() * 4), 0) << t;
        else if (inPlace)
          EXPECT_EQ(std::memcmp(row, result, want.size() * 4), 0) << t;
        else
          EXPECT_TRUE(std::isnan(result[0])) << t;
      }
    }
  }
}

TEST(SinkhornTest, ChecksSpecs) {
  SinkhornSpec good = makeSpec(4, 20), bad = good;
  EXPECT_EQ(checkSinkhorn(good), "");
  bad.n = 65;
  EXPECT_EQ(checkSinkhorn(bad), "a matrix of 65 rows; the kernel has 1 to 64");
  bad = good;
  bad.steps = 0;
  EXPECT_EQ(checkSinkhorn(bad), "a matrix is divided at least once, not 0 times");
  bad = good;
  bad.out.stride = 15;
  EXPECT_EQ(checkSinkhorn(bad), "rows of 16 elements would overlap");
  bad = makeSpec(4, 20, true);
  bad.out.offset = 3;
  EXPECT_EQ(checkSinkhorn(bad), "a matrix is divided where it lies, or elsewhere");
  bad = good;
  bad.epsilon = 0;
  EXPECT_NE(sinkhornKernelName(bad), sinkhornKernelName(good));
}

} // namespace
