//===- ExpertTest.cpp - routers and experts against scalar code -----------===//
#include "KernelTest.h"
#include "RandomBlocks.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float notANumber = std::numeric_limits<float>::quiet_NaN();

template <typename T>
bool sameBits(const Buffer<T> &a, const Buffer<T> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename T>
Buffer<T> copyOf(const Buffer<T> &other) {
  Buffer<T> result(other.size());
  std::copy_n(other.data(), other.size(), result.data());
  return result;
}

void fillNormal(Buffer<float> &buffer, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < buffer.size(); ++i)
    buffer[i] = normal(random);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

ExpertLinearSpec make(Storage storage, int64_t experts, int64_t chosen, int64_t rows, int64_t cols,
                      int64_t tile) {
  ExpertLinearSpec spec;
  spec.experts = experts;
  spec.chosen = chosen;
  spec.product.storage = storage;
  spec.product.rows = rows;
  spec.product.cols = cols;
  spec.product.tile = tile;
  return spec;
}

std::vector<ExpertLinearSpec> products() {
  std::vector<ExpertLinearSpec> list;
  for (Storage storage : everyStorage())
    list.push_back(make(storage, 5, 2, 50, storageInfo(storage).block == 256 ? 256 : 64, 2));
  list.push_back(make(Storage::F32, 3, 1, 16, 7, 1));
  list.push_back(make(Storage::BF16, 64, 8, 33, 21, 4));
  auto with = [&](ExpertLinearSpec spec, auto change) {
    change(spec);
    list.push_back(spec);
  };
  ExpertLinearSpec q4 = make(Storage::Q4_1, 4, 3, 75, 64, 4);
  with(q4, [](ExpertLinearSpec &s) { s.product.bias = true; });
  with(q4, [](ExpertLinearSpec &s) { s.rowsOfChoices = true; });
  with(q4, [](ExpertLinearSpec &s) {
    s.rowsOfChoices = s.product.bias = true;
    s.product.activation = Activation::Relu;
  });
  with(q4, [](ExpertLinearSpec &s) {
    s.product.rows = 96, s.product.gated = s.product.bias = true, s.product.outputWidth = 41;
    s.product.activation = Activation::Relu;
  });
  return list;
}

/// Operands of a launch over random weights, and what has to come out.
struct Product {
  const ExpertLinearSpec &spec;
  int64_t tokens;
  llmc_batch batch = {};
  std::vector<std::vector<float>> values; ///< Of each expert.
  Buffer<std::byte> packed;
  Buffer<float> x, bias, expected;
  Buffer<int32_t> choice;

  Product(const ExpertLinearSpec &spec, int64_t tokens)
      : spec(spec), tokens(tokens), packed(size_t(spec.experts * spec.expertBytes())),
        x(size_t(tokens * (spec.rowsOfChoices ? spec.chosen : 1) * spec.product.cols)),
        bias(size_t(spec.experts * spec.biasBytes() / 4)),
        expected(size_t(tokens * spec.chosen * spec.product.width())),
        choice(size_t(tokens * spec.chosen)) {
    batch.tokens = tokens;
    batch.outputs = tokens + 100;
    const LinearSpec &product = spec.product;
    StorageInfo info = storageInfo(product.storage);
    const auto *format = llmc::frontend::findStorageFormat(info.name);
    for (int64_t e = 0; e < spec.experts; ++e) {
      auto bytes = randomBlocks(product.storage, product.rows * product.cols / info.block,
                                uint32_t(17 + e));
      values.emplace_back(size_t(product.rows * product.cols));
      llmc::frontend::dequantize(*format, bytes, values.back());
      PackSpec pack{product.storage, product.cols, product.tile, 0};
      packPanels(pack, std::vector<PackSource>{{product.rows, bytes}},
                 std::span(packed.data() + e * spec.expertBytes(), size_t(spec.expertBytes())));
    }
    fillNormal(x, uint32_t(tokens));
    fillNormal(bias, uint32_t(tokens) + 1);
    fillNormal(expected, uint32_t(tokens) + 2);
    // Many rows for the first experts, none for the last where there are more.
    std::mt19937 random{uint32_t(tokens)};
    for (int64_t t = 0; t < tokens; ++t) {
      std::vector<int32_t> order(size_t(std::max(spec.experts - 1, spec.chosen)));
      std::iota(order.begin(), order.end(), 0);
      if (t % 3)
        std::shuffle(order.begin(), order.end(), random);
      std::copy_n(order.begin(), spec.chosen, choice.data() + t * spec.chosen);
    }
  }

  void compute() {
    const LinearSpec &product = spec.product;
    for (int64_t pair = 0; pair < tokens * spec.chosen; ++pair) {
      int64_t expert = choice[size_t(pair)];
      if (expert < 0 || expert >= spec.experts)
        continue;
      const float *row =
          x.data() + (spec.rowsOfChoices ? pair : pair / spec.chosen) * product.cols;
      auto sum = [&](int64_t feature) {
        float acc = 0;
        for (int64_t i = 0; i < product.cols; ++i)
          acc = std::fma(values[size_t(expert)][size_t(feature * product.cols + i)], row[i], acc);
        return product.bias ? acc + bias[size_t(expert * spec.biasBytes() / 4 + feature)] : acc;
      };
      for (int64_t f = 0; f < product.width(); ++f) {
        int64_t feature = product.gated ? f / 16 * 32 + f % 16 : f;
        float value = sum(feature);
        if (product.activation) // Relu alone is used here.
          value = 0 > value ? 0 : value;
        if (product.gated)
          value *= sum(feature + 16);
        expected[size_t(pair * product.width() + f)] = value;
      }
    }
  }

  Buffer<float> run(llmc_kernel_fn kernel, const Buffer<float> &before,
                    const std::vector<int64_t> &cuts) const {
    Buffer<float> out = copyOf(before);
    Buffer<char> scratch(size_t(expertLinearKernelScratch(spec)));
    std::vector<void *> args = {const_cast<llmc_batch *>(&batch), x.data(), choice.data(),
                                packed.data()};
    if (spec.product.bias)
      args.push_back(bias.data());
    args.push_back(out.data());
    // From the last range to the first: nothing may depend on the order.
    for (size_t i = cuts.size() - 1; i > 0; --i)
      kernel(args.data(), cuts[i - 1], cuts[i], scratch.data());
    EXPECT_TRUE(out.intact() && scratch.intact()) << expertLinearKernelName(spec);
    return out;
  }
};

class ExpertProducts : public testing::Test {
protected:
  static void SetUpTestSuite() {
    kernels = new Kernels;
    for (const ExpertLinearSpec &spec : products()) {
      ASSERT_EQ(checkExpertLinear(spec), "");
      kernels->add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        buildExpertLinearKernel(module, spec, variant);
      });
    }
    kernels->compile();
  }
  static void TearDownTestSuite() { delete kernels; }
  static Kernels *kernels;
};
Kernels *ExpertProducts::kernels;

TEST_F(ExpertProducts, EqualScalarChains) {
  llvm::StringSet<> names;
  for (const ExpertLinearSpec &spec : products()) {
    std::string name = expertLinearKernelName(spec);
    EXPECT_TRUE(names.insert(name).second) << name;
    for (int64_t tokens : {1, 2, 3, 5, 9, 16, 40, 120}) {
      if (tokens > 16 && storageInfo(spec.product.storage).block == 256)
        continue;
      Product launch(spec, tokens);
      Buffer<float> before = copyOf(launch.expected);
      launch.compute();
      int64_t items = expertLinearKernelItems(spec);
      std::mt19937 random{uint32_t(tokens)};
      std::vector<int64_t> cuts = {0, items, int64_t(random() % uint32_t(items)),
                                   int64_t(random() % uint32_t(items))};
      std::sort(cuts.begin(), cuts.end());
      for (const CPUVariant *variant : Kernels::variants()) {
        llmc_kernel_fn kernel = kernels->find(name, *variant);
        EXPECT_TRUE(sameBits(launch.expected, launch.run(kernel, before, {0, items})))
            << name << variant->suffix.str() << " tokens " << tokens;
        EXPECT_TRUE(sameBits(launch.expected, launch.run(kernel, before, cuts)))
            << name << variant->suffix.str() << " tokens " << tokens << ", split";
      }
    }
  }
}

/// Whatever a choice holds, no memory but that of its rows is touched.
TEST_F(ExpertProducts, ChoicesThatNameNoExpert) {
  for (int64_t tokens : {1, 7, 30})
    for (const ExpertLinearSpec &spec : {products().front(), products().back()}) {
      Product launch(spec, tokens);
      int32_t wrong[] = {-1, int32_t(spec.experts), INT32_MAX, INT32_MIN};
      for (size_t i = 0; i < launch.choice.size(); i += 2)
        launch.choice[i] = wrong[i / 2 % 4];
      Buffer<float> before = copyOf(launch.expected);
      launch.compute();
      for (const CPUVariant *variant : Kernels::variants()) {
        llmc_kernel_fn kernel = kernels->find(expertLinearKernelName(spec), *variant);
        EXPECT_TRUE(sameBits(launch.expected,
                             launch.run(kernel, before, {0, expertLinearKernelItems(spec)})));
      }
    }
}

TEST(ExpertSpecs, ChecksSayWhy) {
  ExpertLinearSpec spec = make(Storage::Q4_1, 4, 5, 64, 64, 2);
  EXPECT_NE(checkExpertLinear(spec).find("5 of 4"), std::string::npos);
  spec.chosen = 2;
  EXPECT_EQ(checkExpertLinear(spec), "");
  spec.product.residual = true;
  EXPECT_NE(checkExpertLinear(spec).find("residual"), std::string::npos);
  spec.product.residual = false;
  spec.product.cols = 48;
  EXPECT_NE(checkExpertLinear(spec).find("48"), std::string::npos);

  RouteSpec route{.experts = 8, .chosen = 9};
  EXPECT_NE(checkRoute(route).find("9 of 8"), std::string::npos);
  route = {.experts = 8, .chosen = 5, .groups = 4, .keep = 2};
  EXPECT_NE(checkRoute(route).find("5 of 4"), std::string::npos);
  route.groups = 3;
  EXPECT_NE(checkRoute(route).find("3 equal groups"), std::string::npos);
  route = {.experts = 8, .chosen = 2, .normalise = RouterNormalise::Margin, .bias = true};
  EXPECT_NE(checkRoute(route).find("without bias"), std::string::npos);
  route = {.experts = 8, .chosen = 2, .bias = true, .table = 5};
  EXPECT_EQ(checkRoute(route), "a table goes without bias, groups and a margin");
  EXPECT_NE(checkExpertCombine({.chosen = 2, .width = 4, .spread = true, .residual = true}), "");
}

//===----------------------------------------------------------------------===//
// Routers
//===----------------------------------------------------------------------===//

std::vector<RouteSpec> routers() {
  std::vector<RouteSpec> list;
  for (RouterScore score : {RouterScore::Softmax, RouterScore::Sigmoid, RouterScore::SqrtSoftplus,
                            RouterScore::Identity})
    for (RouterNormalise normalise :
         {RouterNormalise::None, RouterNormalise::Sum, RouterNormalise::Softmax})
      list.push_back({.experts = 20, .chosen = 4, .score = score, .normalise = normalise});
  list.push_back({.experts = 1, .chosen = 1});
  list.push_back({.experts = 7, .chosen = 7, .score = RouterScore::Sigmoid});
  list.push_back({.experts = 300, .chosen = 8, .scale = 2.5f});
  list.push_back({.experts = 64, .chosen = 6, .score = RouterScore::Sigmoid, .bias = true});
  list.push_back({.experts = 64, .chosen = 8, .expertScale = true, .groups = 8, .keep = 3});
  // Margins that hold few of the others, and most.
  for (float margin : {0.02f, 0.8f})
    for (RouterScore score : {RouterScore::Identity, RouterScore::Softmax})
      list.push_back({.experts = 37,
                      .chosen = 3,
                      .score = score,
                      .normalise = RouterNormalise::Margin,
                      .margin = margin});
  list.push_back({.experts = 120,
                  .chosen = 8,
                  .score = RouterScore::Sigmoid,
                  .normalise = RouterNormalise::Sum,
                  .scale = 1.5f,
                  .bias = true,
                  .expertScale = true,
                  .groups = 10,
                  .keep = 2,
                  .groupScore = RouterGroupScore::Top2});
  return list;
}

/// The numbers of the `count` greatest, of equal ones the lower first; NaN is the least.
std::vector<int32_t> greatest(const std::vector<float> &values, std::vector<int32_t> among,
                              int64_t count) {
  std::stable_sort(among.begin(), among.end(), [&](int32_t a, int32_t b) {
    float x = values[size_t(a)], y = values[size_t(b)];
    return x > y || (std::isnan(y) && !std::isnan(x));
  });
  among.resize(size_t(count));
  return among;
}

std::vector<int32_t> upTo(int64_t count) {
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

class Routers : public testing::Test {
protected:
  static void SetUpTestSuite() {
    kernels = new Kernels;
    for (const RouteSpec &spec : routers()) {
      ASSERT_EQ(checkRoute(spec), "");
      kernels->add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        buildRouteKernel(module, spec, variant);
      });
    }
    kernels->compile();
  }
  static void TearDownTestSuite() { delete kernels; }

  struct Result {
    Buffer<int32_t> choice;
    Buffer<float> weights;
  };
  static Result run(const RouteSpec &spec, const Buffer<float> &logits, const Buffer<float> &bias,
                    const Buffer<float> &scale, const CPUVariant &variant) {
    size_t tokens = logits.size() / size_t(spec.experts), chosen = size_t(spec.chosen);
    Result result{Buffer<int32_t>(tokens * chosen, -1), Buffer<float>(tokens * chosen)};
    Buffer<char> scratch(size_t(routeKernelScratch(spec)));
    std::vector<void *> args = {nullptr, logits.data()};
    if (spec.bias)
      args.push_back(bias.data());
    if (spec.expertScale)
      args.push_back(scale.data());
    args.push_back(result.choice.data());
    args.push_back(result.weights.data());
    llmc_kernel_fn kernel = kernels->find(routeKernelName(spec), variant);
    kernel(args.data(), 1, int64_t(tokens), scratch.data());
    kernel(args.data(), 0, 1, scratch.data());
    EXPECT_TRUE(result.choice.intact() && result.weights.intact() && scratch.intact());
    return result;
  }
  static Kernels *kernels;
};
Kernels *Routers::kernels;

/// The table's row of a token, in its order, weighed by the token's scores; numbers that name no
/// expert become one that does.
TEST(RouteTables, NameExperts) {
  constexpr int64_t tokens = 7, experts = 20;
  RouteSpec spec{.experts = experts,
                 .chosen = 3,
                 .score = RouterScore::SqrtSoftplus,
                 .normalise = RouterNormalise::Sum,
                 .scale = 1.5f,
                 .table = 5};
  ASSERT_EQ(checkRoute(spec), "");
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
    buildRouteKernel(module, spec, variant);
  });
  kernels.compile();
  Buffer<float> logits(tokens * experts), table(5 * 3);
  fillNormal(logits, 3);
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = float(i * 7 % experts);
  table[12] = -4;
  table[13] = 1e30f;
  table[14] = notANumber;
  const std::vector<int32_t> ids = {3, 0, 2, 2, 4, 1, 0};
  llmc_batch batch{};
  batch.tokens = tokens;
  batch.token_ids = ids.data();
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<int32_t> choice(tokens * 3, -1);
    Buffer<float> weights(tokens * 3);
    Buffer<char> scratch(size_t(routeKernelScratch(spec)));
    void *args[] = {&batch, logits.data(), table.data(), choice.data(), weights.data()};
    kernels.find(routeKernelName(spec), *variant)(args, 0, tokens, scratch.data());
    EXPECT_TRUE(choice.intact() && weights.intact() && scratch.intact());
    for (size_t t = 0; t < tokens; ++t) {
      double sum = 0, score[3];
      for (size_t j = 0; j < 3; ++j) {
        int32_t want = ids[t] == 4 ? std::vector<int32_t>{0, experts - 1, experts - 1}[j]
                                   : int32_t(table[size_t(ids[t]) * 3 + j]);
        ASSERT_EQ(choice[t * 3 + j], want) << t << ' ' << j;
        score[j] = std::sqrt(std::log1p(std::exp(double(logits[t * experts + size_t(want)]))));
        sum += score[j];
      }
      for (size_t j = 0; j < 3; ++j)
        EXPECT_NEAR(weights[t * 3 + j], score[j] / sum * 1.5, 1e-6) << t << ' ' << j;
    }
  }
}

TEST_F(Routers, ChooseAndWeigh) {
  constexpr int64_t tokens = 25;
  for (const RouteSpec &spec : routers()) {
    Buffer<float> logits(size_t(tokens * spec.experts)), bias(size_t(spec.experts)),
        scale(size_t(spec.experts));
    fillNormal(logits, 3);
    fillNormal(bias, 4);
    fillNormal(scale, 5);
    std::optional<Result> first;
    for (const CPUVariant *variant : Kernels::variants()) {
      Result result = run(spec, logits, bias, scale, *variant);
      if (first) { // Of the other variant.
        EXPECT_TRUE(sameBits(first->choice, result.choice) &&
                    sameBits(first->weights, result.weights))
            << routeKernelName(spec);
        continue;
      }
      for (int64_t t = 0; t < tokens; ++t) {
        const float *l = logits.data() + t * spec.experts;
        std::vector<double> scores(l, l + spec.experts);
        double sum = 0;
        for (double s : scores)
          sum += std::exp(s);
        for (double &s : scores)
          s = spec.score == RouterScore::Softmax   ? std::exp(s) / sum
              : spec.score == RouterScore::Sigmoid ? 1 / (1 + std::exp(-s))
              : spec.score == RouterScore::SqrtSoftplus ? std::sqrt(std::log1p(std::exp(s)))
                                                        : s;
        std::vector<float> values;
        for (int64_t e = 0; e < spec.experts; ++e)
          values.push_back(float(scores[size_t(e)] + (spec.bias ? bias[size_t(e)] : 0)));
        std::vector<int32_t> open = upTo(spec.experts);
        if (spec.groups) {
          int64_t size = spec.experts / spec.groups;
          std::vector<float> best;
          for (int64_t g = 0; g < spec.groups; ++g) {
            std::vector<float> group(values.begin() + g * size, values.begin() + (g + 1) * size);
            std::sort(group.rbegin(), group.rend());
            best.push_back(spec.groupScore == RouterGroupScore::Max ? group[0]
                                                                    : group[0] + group[1]);
          }
          std::vector<int32_t> kept = greatest(best, upTo(spec.groups), spec.keep);
          std::erase_if(open, [&](int32_t e) {
            return std::find(kept.begin(), kept.end(), e / size) == kept.end();
          });
        }
        std::vector<int32_t> expected = greatest(values, open, spec.chosen);
        double chosenSum = 0;
        for (int32_t e : expected)
          chosenSum += spec.normalise == RouterNormalise::Softmax ? std::exp(scores[size_t(e)])
                                                                  : scores[size_t(e)];
        for (int64_t j = 0; j < spec.chosen; ++j) {
          size_t at = size_t(t * spec.chosen + j), e = size_t(expected[size_t(j)]);
          ASSERT_EQ(result.choice[at], expected[size_t(j)])
              << routeKernelName(spec) << " token " << t << " choice " << j;
          double weight = scores[e];
          if (spec.normalise == RouterNormalise::Sum)
            weight /= chosenSum;
          if (spec.normalise == RouterNormalise::Softmax)
            weight = std::exp(weight) / chosenSum;
          if (spec.normalise == RouterNormalise::Margin) {
            double near = 0;
            for (int64_t other = 0; other < spec.experts; ++other) {
              double s = scores[size_t(other)];
              auto end = expected.begin() + j;
              bool isEarlier = std::find(expected.begin(), end, int32_t(other)) != end;
              if (!isEarlier && (weight - s) / std::max(std::abs(s), weight) <= spec.margin)
                near += std::exp(s - weight);
            }
            weight = 1 / near;
          }
          weight *= spec.scale * (spec.expertScale ? scale[e] : 1);
          EXPECT_NEAR(result.weights[at], weight, 2e-6 * std::max(1.0, std::abs(weight)) +
                                                      2e-6 * std::abs(weight / chosenSum))
              << routeKernelName(spec);
        }
      }
      first = std::move(result);
    }
  }
}

/// Equal values, zeros of both signs, infinities and NaN: always different experts that exist,
/// the lower number first, NaN last.
TEST_F(Routers, OrderOfAnyNumbers) {
  RouteSpec spec = {.experts = 20, .chosen = 4, .score = RouterScore::Identity};
  std::vector<std::pair<std::vector<float>, std::vector<int32_t>>> cases = {
      {std::vector<float>(20, 1.5f), {0, 1, 2, 3}},
      {std::vector<float>(20, notANumber), {0, 1, 2, 3}},
      {std::vector<float>(20, -infinity), {0, 1, 2, 3}},
      {{-1, -0.0f, -1, 0.0f, -1, -0.0f}, {1, 3, 5, 6}},
      {{notANumber, -infinity, infinity, notANumber, -2, infinity}, {2, 5, 4, 1}},
  };
  cases[3].first.resize(20, 0.0f);
  cases[4].first.resize(20, notANumber);
  for (const auto &[row, expected] : cases) {
    Buffer<float> logits(40, 0);
    std::copy(row.begin(), row.end(), logits.data());
    for (const CPUVariant *variant : Kernels::variants()) {
      Result result = run(spec, logits, Buffer<float>(), Buffer<float>(), *variant);
      for (size_t j = 0; j < 4; ++j)
        EXPECT_EQ(result.choice[j], expected[j]);
    }
  }
  // Every router copes, with groups or without.
  for (const RouteSpec &each : routers())
    for (float value : {notANumber, infinity, -infinity, 3e38f, -0.0f}) {
      Buffer<float> logits(size_t(3 * each.experts), value), ones(size_t(each.experts), value);
      logits[0] = 1;
      for (const CPUVariant *variant : Kernels::variants()) {
        Result result = run(each, logits, ones, ones, *variant);
        for (size_t t = 0; t < 3; ++t) {
          std::vector<int32_t> chosen(result.choice.data() + t * size_t(each.chosen),
                                      result.choice.data() + (t + 1) * size_t(each.chosen));
          std::sort(chosen.begin(), chosen.end());
          EXPECT_TRUE(chosen.front() >= 0 && chosen.back() < each.experts &&
                      std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end())
              << routeKernelName(each) << " of " << value;
        }
      }
    }
}

//===----------------------------------------------------------------------===//
// Sums and spreads
//===----------------------------------------------------------------------===//

TEST(ExpertCombine, EqualsScalarCode) {
  std::vector<ExpertCombineSpec> list;
  for (int64_t width : {1, 16, 37, 64}) {
    list.push_back({.chosen = 3, .width = width});
    list.push_back({.chosen = 3, .width = width, .weights = false});
    list.push_back({.chosen = 1, .width = width, .residual = true});
    list.push_back({.chosen = 3, .width = width, .residual = true, .inPlace = true});
    list.push_back({.chosen = 2, .width = width, .spread = true});
  }
  Kernels kernels;
  llvm::StringSet<> names;
  for (const ExpertCombineSpec &spec : list) {
    ASSERT_EQ(checkExpertCombine(spec), "");
    EXPECT_TRUE(names.insert(expertCombineKernelName(spec)).second);
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      buildExpertCombineKernel(module, spec, variant);
    });
  }
  kernels.compile();
  constexpr int64_t tokens = 5;
  for (const ExpertCombineSpec &spec : list) {
    int64_t many = spec.chosen * spec.width;
    Buffer<float> x(size_t(tokens * (spec.spread ? spec.width : many))),
        weights(size_t(tokens * spec.chosen)), residual(size_t(tokens * spec.width)),
        expected(size_t(tokens * (spec.spread ? many : spec.width)));
    fillNormal(x, 1);
    fillNormal(weights, 2);
    fillNormal(residual, 3);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t d = 0; d < spec.width; ++d) {
        float sum = 0;
        for (int64_t j = 0; j < spec.chosen; ++j) {
          float w = weights[size_t(t * spec.chosen + j)];
          if (spec.spread)
            expected[size_t(t * many + j * spec.width + d)] = w * x[size_t(t * spec.width + d)];
          else if (float v = x[size_t(t * many + j * spec.width + d)]; spec.weights)
            sum = std::fma(w, v, sum);
          else
            sum += v;
        }
        size_t at = size_t(t * spec.width + d);
        if (!spec.spread)
          expected[at] = spec.residual ? residual[at] + sum : sum;
      }
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<float> out = spec.inPlace ? copyOf(residual) : Buffer<float>(expected.size());
      std::vector<void *> args = {nullptr, x.data()};
      if (spec.weights)
        args.push_back(weights.data());
      if (spec.residual && !spec.inPlace)
        args.push_back(residual.data());
      args.push_back(out.data());
      llmc_kernel_fn kernel = kernels.find(expertCombineKernelName(spec), *variant);
      kernel(args.data(), 2, tokens, nullptr);
      kernel(args.data(), 0, 2, nullptr);
      EXPECT_TRUE(out.intact() && sameBits(expected, out)) << expertCombineKernelName(spec);
    }
  }
}

} // namespace
