//===- RouterTest.cpp - routers in one kernel against their parts ---------===//
#include "KernelTest.h"
#include "RandomBlocks.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include "llmc/Kernels/CPU/Packing.h"
#include <cstring>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

constexpr unsigned betweenScale = 3; ///< Operand of a norm's scale, behind the bias.

RouterSpec make(Storage storage, int64_t experts, int64_t cols, int64_t chosen, int64_t tile,
                bool bias) {
  RouterSpec spec;
  spec.product.storage = storage;
  spec.product.rows = experts;
  spec.product.cols = cols;
  spec.product.tile = tile;
  spec.product.bias = bias;
  spec.route.experts = experts;
  spec.route.chosen = chosen;
  spec.route.normalise = RouterNormalise::Sum;
  return spec;
}

std::vector<RouterSpec> routers() {
  std::vector<RouterSpec> list = {
      make(Storage::F32, 8, 40, 2, routerTile(8), false),
      make(Storage::BF16, 20, 33, 4, routerTile(20), true),
      make(Storage::Q8_0, 130, 64, 8, routerTile(130), false),
      make(Storage::Q4_K, 48, 256, 6, routerTile(48), true),
      make(Storage::F16, 1, 17, 1, routerTile(1), true),
  };
  list[2].route.score = RouterScore::Sigmoid;
  list[2].route.groups = 10;
  list[2].route.keep = 4;
  list[2].route.groupScore = RouterGroupScore::Top2;
  list[2].route.bias = list[2].route.expertScale = true;
  list[2].route.scale = 2.5f;
  list[3].route.score = RouterScore::Identity;
  list[3].route.normalise = RouterNormalise::Softmax;
  RouterSpec between = list[1];
  RowProgram program(20);
  RowProgram::Node row = program.rmsNorm(program.input(0u), program.constant(betweenScale), 1e-5f);
  program.output(program.softcap(row, 3), 0u);
  between.between = program;
  list.push_back(between);
  return list;
}

void fill(Buffer<float> &buffer, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < buffer.size(); ++i)
    buffer[i] = normal(random);
}

/// Operands of a router and of its parts.
struct Operands {
  explicit Operands(const RouterSpec &spec, int64_t tokens)
      : spec(spec), packed(size_t(packedBytes(spec.product.storage, spec.product.rows,
                                              spec.product.cols, spec.product.tile))),
        x(size_t(tokens * spec.product.cols)), bias(size_t((spec.product.rows + 15) / 16 * 16)),
        scale(size_t(spec.product.rows)), correction(scale.size()), each(scale.size()) {
    StorageInfo info = storageInfo(spec.product.storage);
    auto bytes = randomBlocks(spec.product.storage,
                              spec.product.rows * spec.product.cols / info.block, 7);
    PackSpec pack{spec.product.storage, spec.product.cols, spec.product.tile, 0};
    packPanels(pack, std::vector<PackSource>{{spec.product.rows, bytes}},
               std::span(packed.data(), packed.size()));
    batch.tokens = tokens;
    uint32_t seed = 1;
    for (Buffer<float> *buffer : {&x, &bias, &scale, &correction, &each})
      fill(*buffer, seed++);
  }
  /// Those of the route behind its logits.
  void appendRoute(std::vector<void *> &args, Buffer<int32_t> &choice, Buffer<float> &weights) {
    if (spec.route.bias)
      args.push_back(correction.data());
    if (spec.route.expertScale)
      args.push_back(each.data());
    args.push_back(choice.data());
    args.push_back(weights.data());
  }

  const RouterSpec &spec;
  llmc_batch batch = {};
  Buffer<std::byte> packed;
  Buffer<float> x, bias, scale, correction, each;
};

/// Whatever the split into items, the bits are those of a linear kernel with the same tile, a kernel of
/// rows and a route kernel.
TEST(RouterTest, EqualsItsParts) {
  Kernels kernels;
  std::vector<RowProgram> between;
  for (const RouterSpec &spec : routers()) {
    ASSERT_EQ(checkRouter(spec), "");
    if (spec.between) {
      // The same over a buffer of all rows, whose scale is operand 1.
      RowProgram program(spec.route.experts);
      RowProgram::Node row = program.rmsNorm(program.input(0u), program.constant(1), 1e-5f);
      program.output(program.softcap(row, 3), 0u);
      between.push_back(program);
    }
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      buildRouterKernel(module, spec, variant);
      if (spec.between)
        return buildRowKernel(module, between.back(), variant);
      buildLinearKernel(module, spec.product, variant);
      buildRouteKernel(module, spec.route, variant);
    });
  }
  kernels.compile();
  for (const RouterSpec &spec : routers())
    for (int64_t tokens : {1, 3, 4, 5, 30, 211})
      for (const CPUVariant *variant : Kernels::variants()) {
        SCOPED_TRACE(routerKernelName(spec) + " " + std::to_string(tokens));
        Operands operands(spec, tokens);
        size_t pairs = size_t(tokens * spec.route.chosen);
        Buffer<float> logits(size_t(tokens * spec.route.experts)), wanted(pairs), weights(pairs);
        Buffer<int32_t> wantedChoice(pairs), choice(pairs, -1);
        Buffer<char> scratch(size_t(std::max({linearKernelScratch(spec.product),
                                              routeKernelScratch(spec.route), int64_t(1)})));
        std::vector<void *> args = {&operands.batch, operands.x.data(), operands.packed.data()};
        if (spec.product.bias)
          args.push_back(operands.bias.data());
        args.push_back(logits.data());
        kernels.find(linearKernelName(spec.product), *variant)(
            args.data(), 0, linearKernelItems(spec.product, operands.batch), scratch.data());
        if (spec.between) {
          void *rows[] = {&operands.batch, logits.data(), operands.scale.data()};
          kernels.find(rowKernelName(between[0]), *variant)(rows, 0, tokens, scratch.data());
        }
        args = {&operands.batch, logits.data()};
        operands.appendRoute(args, wantedChoice, wanted);
        kernels.find(routeKernelName(spec.route), *variant)(args.data(), 0, tokens,
                                                            scratch.data());

        args = {&operands.batch, operands.x.data(), operands.packed.data()};
        if (spec.product.bias)
          args.push_back(operands.bias.data());
        if (spec.between)
          args.push_back(operands.scale.data());
        operands.appendRoute(args, choice, weights);
        Buffer<char> own(size_t(routerKernelScratch(spec)), char(0xff));
        llmc_kernel_fn router = kernels.find(routerKernelName(spec), *variant);
        int64_t items = (tokens + routerItemTokens - 1) / routerItemTokens;
        for (int64_t step : {items, int64_t(1), int64_t(5)}) {
          std::fill_n(weights.data(), pairs, -1.0f);
          for (int64_t i = (items - 1) / step * step; i >= 0; i -= step)
            router(args.data(), i, std::min(items, i + step), own.data());
          EXPECT_TRUE(choice.intact() && weights.intact() && own.intact());
          EXPECT_EQ(std::memcmp(choice.data(), wantedChoice.data(), pairs * 4), 0) << step;
          EXPECT_EQ(std::memcmp(weights.data(), wanted.data(), pairs * 4), 0) << step;
        }
      }
}

TEST(RouterTest, RefusesWhatItsPartsAreNot) {
  RouterSpec spec = make(Storage::F32, 8, 40, 2, 1, false), other = spec;
  EXPECT_EQ(checkRouter(spec), "");
  other.route.experts = 7;
  EXPECT_EQ(checkRouter(other), "a product of 8 features is not 7 logits");
  other = spec;
  other.product.residual = true;
  EXPECT_NE(checkRouter(other), "");
  other = spec;
  other.route.table = 5;
  EXPECT_EQ(checkRouter(other), "a router chooses by its logits, not by a table");
  other = spec;
  RowProgram wide(9);
  wide.output(wide.scale(wide.input(0u), 2), 0u);
  other.between = wide;
  EXPECT_EQ(checkRouter(other),
            "a program between product and choice takes a row of logits and constants");
}

} // namespace
