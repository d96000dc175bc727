//===- PolynomialsTest.cpp - errors of the vector functions ---------------===//
#include "KernelTest.h"
#include "llmc/Kernels/CPU/Polynomials.h"
#include <cmath>
#include <cstring>

using namespace llmc::kernels;
using namespace llmc::kernels::test;
using mlir::Value;

namespace {

/// out[i] = f(in[i]) for items of 16 values.
void mapKernel(mlir::ModuleOp module, const CPUVariant &variant, const char *name,
               llvm::function_ref<Value(KernelBuilder &, Value)> f) {
  KernelBuilder k(module, name, variant);
  Value in = k.operand(0), out = k.operand(1);
  k.loop(k.begin(), k.end(), 1, [&](Value i) {
    Value offset = k.mul(i, 64);
    k.store(f(k, k.load(k.vecF(), k.at(in, offset), 64)), k.at(out, offset), 64);
  });
  k.finish();
}

struct Function {
  const char *name;
  Value (*build)(KernelBuilder &, Value);
  long double (*exact)(long double);
  float low, high;
  /// Bounds of the header: in units of the last place, or absolute.
  double ulps, absolute;
};

Value sine(KernelBuilder &k, Value x) { return polySinCos(k, x).first; }
Value cosine(KernelBuilder &k, Value x) { return polySinCos(k, x).second; }
long double exactSilu(long double x) { return x / (1 + expl(-x)); }
long double exactGeluErf(long double x) { return 0.5L * x * (1 + erfl(x / sqrtl(2))); }
long double exactGeluTanh(long double x) {
  return 0.5L * x * (1 + tanhl(sqrtl(2 / acosl(-1)) * (x + 0.044715L * x * x * x)));
}

const Function functions[] = {
    {"exp", polyExp, expl, -87.3f, 88.72f, 1.1, 0},
    {"tanh", polyTanh, tanhl, -12, 12, 1.5, 0},
    {"erf", polyErf, erfl, -6, 6, 1.1, 0},
    {"sin", sine, sinl, -1e6f, 1e6f, 0, 1e-7},
    {"cos", cosine, cosl, -1e6f, 1e6f, 0, 1e-7},
    {"sin_small", sine, sinl, -100, 100, 0, 1e-7},
    {"cos_small", cosine, cosl, -100, 100, 0, 1e-7},
    {"log", polyLog, logl, 1e-6f, 1e9f, 1, 0},
    {"log_near_1", polyLog, logl, 0.5f, 2, 1, 0},
    {"log1p", polyLog1p, log1pl, 0, 1, 2, 0},
    {"silu", silu, exactSilu, -80, 80, 4, 0},
    {"gelu_erf", geluErf, exactGeluErf, -20, 20, 0, 6e-7},
    {"gelu_tanh", geluTanh, exactGeluTanh, -20, 20, 0, 6e-7},
};

float ulp(float value) {
  int exponent;
  std::frexp(std::max(std::fabs(value), 1.17549435e-38f), &exponent);
  return std::ldexp(1.0f, exponent - 24);
}

class PolynomialsTest : public testing::Test {
protected:
  void SetUp() override {
    for (const Function &f : functions)
      kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        mapKernel(module, variant, f.name, f.build);
      });
    kernels.compile();
  }
  Buffer<float> run(const Function &f, const CPUVariant &variant, const Buffer<float> &in) {
    Buffer<float> out(in.size());
    void *args[] = {nullptr, in.data(), out.data()};
    kernels.find(f.name, variant)(args, 0, int64_t(in.size() / 16), nullptr);
    return out;
  }
  Kernels kernels;
};

TEST_F(PolynomialsTest, ErrorsAndEqualBits) {
  const size_t n = 1 << 18;
  for (const Function &f : functions) {
    Buffer<float> in(n);
    for (size_t i = 0; i < n; ++i)
      in[i] = float(f.low + (double(f.high) - f.low) * (double(i) + 0.37) / n);
    // A part of the samples near zero.
    for (size_t i = 0; i < n; i += 4)
      in[i] = std::ldexp(in[i], -int(i / 4 % 24));
    Buffer<float> first;
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<float> out = run(f, *variant, in);
      double worst = 0, worstUlps = 0;
      for (size_t i = 0; i < n; ++i) {
        long double exact = f.exact(in[i]);
        double error = double(fabsl(exact - out[i]));
        worst = std::max(worst, error);
        if (std::fabs(double(exact)) > 1.2e-38)
          worstUlps = std::max(worstUlps, error / ulp(float(exact)));
      }
      if (f.absolute)
        EXPECT_LE(worst, f.absolute) << f.name;
      else
        EXPECT_LE(worstUlps, f.ulps) << f.name;
      RecordProperty(std::string(f.name) + "_ulps", std::to_string(worstUlps));
      RecordProperty(std::string(f.name) + "_absolute", std::to_string(worst * 1e9));
      if (getenv("LLMC_TEST_VERBOSE"))
        printf("%-10s %-8s max %.3f ulp, %.3g absolute\n", f.name, variant->name.data(),
               worstUlps, worst);
      if (first.size())
        EXPECT_EQ(0, memcmp(first.data(), out.data(), n * sizeof(float))) << f.name;
      else
        first = std::move(out);
    }
  }
}

TEST_F(PolynomialsTest, SpecialValues) {
  const float inf = INFINITY;
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<float> in(16, 0.0f);
    float values[] = {-inf, -1e30f, -88, -0.0f, 0, 1, 88.8f, 1e30f, inf, NAN};
    std::copy(std::begin(values), std::end(values), in.data());
    Buffer<float> e = run(functions[0], *variant, in);
    EXPECT_EQ(e[0], 0);
    EXPECT_EQ(e[1], 0);
    EXPECT_EQ(e[2], 0);
    EXPECT_EQ(e[3], 1);
    EXPECT_EQ(e[4], 1);
    EXPECT_EQ(e[6], inf);
    EXPECT_EQ(e[7], inf);
    EXPECT_EQ(e[8], inf);
    EXPECT_TRUE(std::isnan(e[9]));
    Buffer<float> t = run(functions[1], *variant, in);
    EXPECT_EQ(t[0], -1);
    EXPECT_TRUE(std::signbit(t[3]));
    EXPECT_EQ(t[8], 1);
    EXPECT_TRUE(std::isnan(t[9]));
    Buffer<float> erf = run(functions[2], *variant, in);
    EXPECT_EQ(erf[0], -1);
    EXPECT_EQ(erf[7], 1);
    EXPECT_EQ(erf[8], 1);
    EXPECT_TRUE(std::isnan(erf[9]));
    Buffer<float> s = run(functions[3], *variant, in);
    EXPECT_EQ(s[4], 0);
    EXPECT_TRUE(std::isnan(s[8]));
    EXPECT_TRUE(std::isnan(s[9]));
    const Function *log = nullptr;
    for (const Function &f : functions)
      if (f.build == polyLog && !log)
        log = &f;
    Buffer<float> l = run(*log, *variant, in);
    EXPECT_TRUE(std::isnan(l[0]));
    EXPECT_TRUE(std::isnan(l[2]));
    EXPECT_EQ(l[3], -inf);
    EXPECT_EQ(l[4], -inf);
    EXPECT_EQ(l[5], 0);
    EXPECT_EQ(l[8], inf);
    EXPECT_TRUE(std::isnan(l[9]));
    in[0] = 1e-40f;
    EXPECT_NEAR(run(*log, *variant, in)[0], -92.1034, 1e-3);
    Buffer<float> c = run(functions[4], *variant, in);
    EXPECT_EQ(c[4], 1);
  }
}

} // namespace
