//===- GenericTest.cpp - generic kernels against plain loops --------------===//
#include "KernelTest.h"
#include "llmc/Conversion/LLMToLinalg.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Kernels/CPU/GenericKernels.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include "gmock/gmock.h"
#include <cmath>
#include <random>

using namespace llmc;
using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr int64_t tokens = 3;

/// One kernel, its operands and what they should be.
class GenericKernel : public ::testing::Test {
protected:
  GenericKernel() {
    mlir::DialectRegistry registry;
    registry.insert<llm::LLMDialect, mlir::affine::AffineDialect,
                    mlir::bufferization::BufferizationDialect, mlir::linalg::LinalgDialect,
                    mlir::tensor::TensorDialect>();
    registerLLMToLinalgInterfaces(registry);
    kernels.context.appendDialectRegistry(registry);
    kernels.context.loadAllAvailableDialects();
    batch.tokens = tokens;
    batch.outputs = 2;
    batch.positions = positions;
    batch.token_seq = sequences;
    batch.extents = extents;
    batch.output_rows = outputRows;
  }

  Buffer<float> random(int64_t n) {
    Buffer<float> values(static_cast<size_t>(n));
    std::normal_distribution<float> normal(0, 1.5f);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = normal(engine);
    return values;
  }

  /// Runs all items, each with a call of its own, for every variant; `check` sees the results.
  void run(GenericSpec spec, std::vector<float *> operands, int64_t items,
           std::function<void()> check) {
    ASSERT_EQ(planGeneric(&kernels.context, spec), "");
    kernels.module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&kernels.context));
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      ASSERT_EQ(buildGenericKernel(module, spec, variant), "");
    });
    kernels.compile();
    std::vector<void *> args{&batch};
    for (float *operand : operands)
      args.push_back(operand);
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<char> scratch(size_t(spec.scratch));
      llmc_kernel_fn kernel = kernels.find(genericKernelName(spec), *variant);
      ASSERT_TRUE(kernel);
      for (int64_t item = 0; item < items; ++item)
        kernel(args.data(), item, item + 1, scratch.data());
      EXPECT_TRUE(scratch.intact());
      check();
    }
  }

  std::string plan(GenericSpec spec) { return planGeneric(&kernels.context, spec); }

  static RowOperand rows(unsigned operand, int64_t stride, int64_t offset = 0) {
    return {operand, stride, offset};
  }

  Kernels kernels;
  llmc_batch batch{};
  int32_t positions[tokens] = {0, 7, 1000};
  int32_t sequences[tokens] = {0, 1, 2}, extents[3] = {1, 2000, 1001};
  int32_t outputRows[2] = {0, 2};
  std::mt19937 engine{11};
};

TEST_F(GenericKernel, ResidualAndNorm) {
  constexpr int64_t d = 70;
  Buffer<float> x = random(tokens * d), delta = random(tokens * d), scale = random(d);
  Buffer<float> sum(tokens * d), y(tokens * d);
  GenericSpec spec;
  spec.name = "residual-norm";
  spec.function = R"(
    func.func @row(%x: tensor<1x70xf32>, %d: tensor<1x70xf32>,
                   %w: !llm.weight<[70], #llm.dense<f32>>) -> (tensor<1x70xf32>, tensor<1x70xf32>) {
      %0 = llm.residual_add %x, %d : tensor<1x70xf32>
      %1 = llm.rms_norm %0, %w eps 1.0e-5 offset 1.0 : tensor<1x70xf32>,
          !llm.weight<[70], #llm.dense<f32>>
      return %0, %1 : tensor<1x70xf32>, tensor<1x70xf32>
    })";
  spec.inputs = {rows(0, d), rows(1, d), rows(2, 0)};
  spec.outputs = {rows(3, d), rows(4, d)};
  run(spec, {x.data(), delta.data(), scale.data(), sum.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t) {
      float squares = 0;
      for (int64_t i = 0; i < d; ++i) {
        float s = x[t * d + i] + delta[t * d + i];
        ASSERT_EQ(sum[t * d + i], s);
        squares = std::fma(s, s, squares);
      }
      float root = std::sqrt(squares / float(d) + 1e-5f);
      for (int64_t i = 0; i < d; ++i)
        ASSERT_EQ(y[t * d + i], sum[t * d + i] / root * (scale[i] + 1.0f)) << t << ' ' << i;
    }
    EXPECT_TRUE(sum.intact() && y.intact());
  });
}

TEST_F(GenericKernel, LayerNorm) {
  constexpr int64_t d = 33;
  Buffer<float> x = random(tokens * d), scale = random(d), bias = random(d), y(tokens * d);
  GenericSpec spec;
  spec.name = "layer_norm";
  spec.function = R"(
    func.func @row(%x: tensor<1x33xf32>, %w: !llm.weight<[33], #llm.dense<f32>>,
                   %b: !llm.weight<[33], #llm.dense<f32>>) -> tensor<1x33xf32> {
      %0 = llm.layer_norm %x, %w bias %b eps 1.0e-6 : tensor<1x33xf32>,
          !llm.weight<[33], #llm.dense<f32>>, !llm.weight<[33], #llm.dense<f32>>
      return %0 : tensor<1x33xf32>
    })";
  spec.inputs = {rows(0, d), rows(1, 0), rows(2, 0)};
  spec.outputs = {rows(3, d)};
  run(spec, {x.data(), scale.data(), bias.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t) {
      float total = 0, squares = 0;
      for (int64_t i = 0; i < d; ++i)
        total = total + x[t * d + i];
      float mean = total / float(d);
      for (int64_t i = 0; i < d; ++i)
        squares = std::fma(x[t * d + i] - mean, x[t * d + i] - mean, squares);
      float root = std::sqrt(squares / float(d) + 1e-6f);
      for (int64_t i = 0; i < d; ++i) {
        float scaled = (x[t * d + i] - mean) / root * scale[i];
        ASSERT_EQ(y[t * d + i], scaled + bias[i]) << t << ' ' << i;
      }
    }
  });
}

/// Sums that run side by side keep the order of each.
TEST_F(GenericKernel, LinearOfManyFeatures) {
  constexpr int64_t k = 19, n = 24;
  Buffer<float> x = random(tokens * k), w = random(n * k), y(tokens * n);
  GenericSpec spec;
  spec.name = "linear";
  spec.function = R"(
    func.func @row(%x: tensor<1x19xf32>, %w: !llm.weight<[24, 19], #llm.dense<f32>>)
        -> tensor<1x24xf32> {
      %0 = llm.linear %x, %w : tensor<1x19xf32>, !llm.weight<[24, 19], #llm.dense<f32>>
          -> tensor<1x24xf32>
      return %0 : tensor<1x24xf32>
    })";
  spec.inputs = {rows(0, k), rows(1, 0)};
  spec.outputs = {rows(2, n)};
  run(spec, {x.data(), w.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t f = 0; f < n; ++f) {
        float sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum = std::fma(x[t * k + i], w[f * k + i], sum);
        ASSERT_EQ(y[t * n + f], sum) << t << ' ' << f;
      }
    EXPECT_TRUE(y.intact());
  });
}

/// Parts of wider rows in, a whole slice out; the products exact.
TEST_F(GenericKernel, LinearOfAPart) {
  constexpr int64_t k = 37, n = 5, stride = 64, offset = 16;
  Buffer<float> x = random(tokens * stride), w = random(n * k), b = random(n), y(tokens * n);
  GenericSpec spec;
  spec.name = "linear";
  spec.function = R"(
    func.func @row(%x: tensor<1x37xf32>, %w: !llm.weight<[5, 37], #llm.dense<f32>>,
                   %b: !llm.weight<[5], #llm.dense<f32>>) -> tensor<1x5xf32> {
      %0 = llm.linear %x, %w bias %b : tensor<1x37xf32>, !llm.weight<[5, 37], #llm.dense<f32>>,
          !llm.weight<[5], #llm.dense<f32>> -> tensor<1x5xf32>
      return %0 : tensor<1x5xf32>
    })";
  spec.inputs = {rows(0, stride, offset), rows(1, 0), rows(2, 0)};
  spec.outputs = {rows(3, n)};
  run(spec, {x.data(), w.data(), b.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t f = 0; f < n; ++f) {
        float sum = 0;
        for (int64_t i = 0; i < k; ++i)
          sum = std::fma(x[t * stride + offset + i], w[f * k + i], sum);
        ASSERT_EQ(y[t * n + f], sum + b[f]) << t << ' ' << f;
      }
    EXPECT_TRUE(y.intact());
  });
}

TEST_F(GenericKernel, Activations) {
  struct {
    const char *name;
    double (*function)(double);
  } cases[] = {{"silu", [](double x) { return x / (1 + std::exp(-x)); }},
               {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
               {"gelu_tanh",
                [](double x) {
                  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
                }},
               {"relu", [](double x) { return x > 0 ? x : 0; }},
               {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
               {"tanh", [](double x) { return std::tanh(x); }}};
  constexpr int64_t d = 40, count = std::size(cases);
  Buffer<float> g = random(tokens * d), u = random(tokens * d), y(tokens * d * count);
  // One function with all of them; every gate is a result of its own.
  GenericSpec spec;
  spec.name = "gates";
  std::string body, names, types;
  for (int64_t i = 0; i < count; ++i) {
    std::string value = "%" + std::to_string(i);
    body += value + " = llm.gate " + cases[i].name + " %g, %u : tensor<1x40xf32>\n";
    names += (i ? ", " : "") + value;
    types += i ? ", tensor<1x40xf32>" : "tensor<1x40xf32>";
    spec.outputs.push_back(rows(2, d * count, d * i));
  }
  spec.function = "func.func @row(%g: tensor<1x40xf32>, %u: tensor<1x40xf32>) -> (" + types +
                  ") {\n" + body + "return " + names + " : " + types + "\n}";
  spec.inputs = {rows(0, d), rows(1, d)};
  run(spec, {g.data(), u.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t c = 0; c < count; ++c)
        for (int64_t i = 0; i < d; ++i) {
          double expected = cases[c].function(g[t * d + i]) * double(u[t * d + i]);
          ASSERT_NEAR(y[(t * count + c) * d + i], expected, 1e-6 * (1 + std::abs(expected)))
              << cases[c].name << " of " << g[t * d + i];
        }
  });
}

/// Norm of every head, then rotary of its first channels, on rows seen as heads.
TEST_F(GenericKernel, HeadsAndRotary) {
  constexpr int64_t heads = 3, width = 10, turned = 6, d = heads * width;
  const float frequencies[] = {1.0f, 0.25f, 0.0625f};
  for (bool halves : {true, false}) {
    SCOPED_TRACE(halves ? "halves" : "interleaved");
    Buffer<float> x = random(tokens * d), scale = random(width), y(tokens * d);
    GenericSpec spec;
    spec.name = halves ? "halves" : "interleaved";
    spec.function = std::string(R"(
      func.func @row(%x: tensor<1x30xf32>, %batch: !llm.batch,
                     %w: !llm.weight<[10], #llm.dense<f32>>) -> tensor<1x30xf32> {
        %0 = llm.split_heads %x : tensor<1x30xf32> -> tensor<1x3x10xf32>
        %1 = llm.rms_norm %0, %w eps 1.0e-5 : tensor<1x3x10xf32>, !llm.weight<[10], #llm.dense<f32>>
        %2 = llm.rotary %1, %batch rope(#llm.rope<"default", base = 256.0, width = 6, )") +
                    (halves ? "halves" : "interleaved") +
                    R"(, magnitude = 1.25, [1.0, 0.25, 0.0625]>) : tensor<1x3x10xf32>
        %3 = llm.merge_heads %2 : tensor<1x3x10xf32> -> tensor<1x30xf32>
        return %3 : tensor<1x30xf32>
      })";
    spec.inputs = {rows(0, d), rows(1, 0)};
    spec.outputs = {rows(2, d)};
    run(spec, {x.data(), scale.data(), y.data()}, tokens, [&] {
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t h = 0; h < heads; ++h) {
          const float *in = x.data() + t * d + h * width, *out = y.data() + t * d + h * width;
          double squares = 0, normed[width];
          for (int64_t i = 0; i < width; ++i)
            squares += double(in[i]) * in[i];
          for (int64_t i = 0; i < width; ++i)
            normed[i] = in[i] / std::sqrt(squares / width + 1e-5) * scale[i];
          for (int64_t j = 0; j < turned / 2; ++j) {
            int64_t a = halves ? j : 2 * j, b = halves ? j + turned / 2 : 2 * j + 1;
            double angle = double(float(positions[t]) * frequencies[j]);
            double c = 1.25 * std::cos(angle), s = 1.25 * std::sin(angle);
            EXPECT_NEAR(out[a], normed[a] * c - normed[b] * s, 4e-6);
            EXPECT_NEAR(out[b], normed[b] * c + normed[a] * s, 4e-6);
          }
          for (int64_t i = turned; i < width; ++i)
            EXPECT_NEAR(out[i], normed[i], 1e-6);
        }
    });
  }
}

TEST_F(GenericKernel, ChosenRows) {
  constexpr int64_t d = 8;
  Buffer<float> x = random(tokens * d), y(2 * d);
  GenericSpec spec;
  spec.name = "scale";
  spec.function = R"(func.func @row(%x: tensor<1x8xf32>) -> tensor<1x8xf32> {
      %0 = llm.scale %x by 3.0 : tensor<1x8xf32>
      return %0 : tensor<1x8xf32>
    })";
  spec.inputs = {rows(0, d)};
  spec.inputs.front().index = RowIndex::OutputRow;
  spec.outputs = {rows(1, d)};
  run(spec, {x.data(), y.data()}, 2, [&] {
    for (int64_t r = 0; r < 2; ++r)
      for (int64_t i = 0; i < d; ++i)
        EXPECT_EQ(y[r * d + i], x[outputRows[r] * d + i] * 3.0f);
    EXPECT_TRUE(y.intact());
  });
}

/// A result that is an argument, and one value returned twice, are copied.
TEST_F(GenericKernel, CopiedResults) {
  constexpr int64_t d = 8;
  Buffer<float> x = random(tokens * d), y(tokens * 3 * d);
  GenericSpec spec;
  spec.name = "copies";
  spec.function = R"(func.func @row(%x: tensor<1x8xf32>)
        -> (tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>) {
      %0 = llm.scale %x by 3.0 : tensor<1x8xf32>
      return %x, %0, %0 : tensor<1x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>
    })";
  spec.inputs = {rows(0, d)};
  spec.outputs = {rows(1, 3 * d), rows(1, 3 * d, d), rows(1, 3 * d, 2 * d)};
  run(spec, {x.data(), y.data()}, tokens, [&] {
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t i = 0; i < d; ++i) {
        float in = x[t * d + i];
        EXPECT_EQ(y[t * 3 * d + i], in);
        EXPECT_EQ(y[t * 3 * d + d + i], in * 3.0f);
        EXPECT_EQ(y[t * 3 * d + 2 * d + i], in * 3.0f);
      }
  });
}

TEST_F(GenericKernel, Refusals) {
  GenericSpec spec;
  spec.function = "func.func @row(";
  EXPECT_THAT(plan(spec), ::testing::StartsWith("the function cannot be parsed: "));
  spec.function = "func.func @row(%x: tensor<?x8xf32>) { return }";
  EXPECT_EQ(plan(spec), "argument 0 is neither a row nor a weight of f32 nor a batch");
  spec.function = R"(func.func @row(%x: tensor<1x8xf32>, %w: !llm.weight<[8], #llm.dense<f16>>)
      -> tensor<1x8xf32> {
      %0 = llm.rms_norm %x, %w eps 1.0e-5 : tensor<1x8xf32>, !llm.weight<[8], #llm.dense<f16>>
      return %0 : tensor<1x8xf32>
    })";
  EXPECT_EQ(plan(spec), "argument 1 is neither a row nor a weight of f32 nor a batch");
  spec.function = "func.func @row(%x: tensor<1x8xf32>) -> index "
                  "{ %c = arith.constant 0 : index return %c : index }";
  EXPECT_EQ(plan(spec), "result 0 is no row of f32");
  spec.function = R"(func.func @row(%x: tensor<1x8xf32>, %b: !llm.batch) -> tensor<1x8xf32> {
      %0 = llm.select_rows %x, %b : tensor<1x8xf32>
      return %0 : tensor<1x8xf32>
    })";
  EXPECT_EQ(plan(spec), "the function has no form in linalg: 'llm.select_rows' op has no form in "
                        "linalg");
  spec.function = "func.func @row(%x: tensor<1x8xf32>) -> tensor<1x8xf32> "
                  "{ return %x : tensor<1x8xf32> }";
  EXPECT_EQ(plan(spec), "the function has 1 arguments and 1 results, the operands are 0 and 0");
}

TEST_F(GenericKernel, NamesTellSpecsApart) {
  GenericSpec a;
  a.name = "linear+bias";
  a.function = "f";
  a.inputs = {rows(0, 8)};
  GenericSpec b = a;
  EXPECT_EQ(genericKernelName(a), genericKernelName(b));
  EXPECT_TRUE(llvm::StringRef(genericKernelName(a)).starts_with("generic_linear_bias_"));
  b.inputs = {rows(0, 9)};
  EXPECT_NE(genericKernelName(a), genericKernelName(b));
  b = a;
  b.function = "g";
  EXPECT_NE(genericKernelName(a), genericKernelName(b));
}

} // namespace
