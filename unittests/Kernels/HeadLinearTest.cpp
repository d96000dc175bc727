//===- HeadLinearTest.cpp - products of heads against scalar chains -------===//
#include "KernelTest.h"
#include "RandomBlocks.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Kernels/CPU/HeadKernels.h"
#include "llmc/Kernels/CPU/Packing.h"
#include <cmath>
#include <cstring>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

HeadLinearSpec makeSpec(Storage storage, int64_t heads, int64_t rows, int64_t cols, int64_t tile) {
  HeadLinearSpec spec;
  spec.heads = heads;
  spec.product.storage = storage;
  spec.product.rows = rows;
  spec.product.cols = cols;
  spec.product.tile = tile;
  spec.product.inputStride = heads * cols + 5;
  spec.product.outputStride = heads * rows + 1;
  spec.inputOffset = 3;
  return spec;
}

TEST(HeadLinearTest, BitsOfTheChains) {
  std::vector<HeadLinearSpec> specs = {
      makeSpec(Storage::F32, 6, 20, 14, 2),    makeSpec(Storage::F32, 1, 7, 3, 1),
      makeSpec(Storage::BF16, 16, 64, 40, 4),  makeSpec(Storage::F16, 3, 33, 18, 2),
      makeSpec(Storage::Q4_1, 5, 48, 64, 2),   makeSpec(Storage::Q8_0, 2, 130, 32, 4)};
  Kernels kernels;
  for (const HeadLinearSpec &spec : specs) {
    ASSERT_EQ(checkHeadLinear(spec), "");
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      buildHeadLinearKernel(module, spec, variant);
    });
  }
  kernels.compile();
  for (const HeadLinearSpec &spec : specs) {
    SCOPED_TRACE(headLinearKernelName(spec));
    const LinearSpec &product = spec.product;
    int64_t rows = product.rows, cols = product.cols;
    StorageInfo info = storageInfo(product.storage);
    std::vector<std::byte> bytes =
        randomBlocks(product.storage, spec.heads * rows * cols / info.block, 11);
    std::vector<float> values(size_t(spec.heads * rows * cols));
    llmc::frontend::dequantize(*llmc::frontend::findStorageFormat(info.name), bytes, values);
    Buffer<std::byte> packed(size_t(spec.headBytes() * spec.heads));
    int64_t each = int64_t(bytes.size()) / spec.heads;
    for (int64_t h = 0; h < spec.heads; ++h)
      packPanels({product.storage, cols, product.tile, 0},
                 std::vector<PackSource>{{rows, std::span(bytes).subspan(h * each, each)}},
                 std::span(packed.data() + h * spec.headBytes(), size_t(spec.headBytes())));
    for (int64_t tokens : {1, 3, 4, 5, 40, 200}) {
      Buffer<float> x(tokens * product.inputStride, NAN);
      for (int64_t t = 0; t < tokens; ++t)
        for (int64_t i = 0; i < spec.heads * cols; ++i)
          x[t * product.inputStride + spec.inputOffset + i] =
              float((t * 7919 + i * 104729) % 2003) / 1001 - 1;
      llmc_batch batch{};
      batch.tokens = tokens;
      int64_t items = headLinearKernelItems(spec, batch);
      EXPECT_EQ(items, headLinearKernelFactor(spec) * ((tokens + 95) / 96));
      for (const CPUVariant *variant : Kernels::variants())
        for (int64_t step : {int64_t(1) << 30, int64_t(3)}) {
          Buffer<float> out(tokens * product.outputStride, 99);
          Buffer<char> scratch(headLinearKernelScratch(spec), char(0xff));
          void *args[] = {&batch, x.data(), packed.data(), out.data()};
          llmc_kernel_fn kernel = kernels.find(headLinearKernelName(spec), *variant);
          for (int64_t i = 0; i < items; i += step)
            kernel(args, i, std::min(items, i + step), scratch.data());
          ASSERT_TRUE(out.intact() && scratch.intact());
          for (int64_t t = 0; t < tokens; ++t) {
            for (int64_t h = 0; h < spec.heads; ++h)
              for (int64_t n = 0; n < rows; ++n) {
                float want = 0;
                for (int64_t c = 0; c < cols; ++c)
                  want = std::fma(values[(h * rows + n) * cols + c],
                                  x[t * product.inputStride + spec.inputOffset + h * cols + c],
                                  want);
                float got = out[t * product.outputStride + h * rows + n];
                ASSERT_EQ(std::memcmp(&want, &got, 4), 0)
                    << variant->name.str() << " row " << t << " head " << h << " feature " << n;
              }
            ASSERT_EQ(out[t * product.outputStride + spec.heads * rows], 99);
          }
        }
    }
  }
}

TEST(HeadLinearTest, ChecksSpecs) {
  HeadLinearSpec bad = makeSpec(Storage::F32, 4, 8, 8, 2);
  EXPECT_EQ(checkHeadLinear(bad), "");
  bad.heads = 0;
  EXPECT_EQ(checkHeadLinear(bad), "a product of heads needs heads");
  bad = makeSpec(Storage::F32, 4, 8, 8, 2);
  bad.product.bias = true;
  EXPECT_EQ(checkHeadLinear(bad), "a product of heads has rows of tokens and nothing at its end");
  bad = makeSpec(Storage::F32, 4, 8, 8, 2);
  bad.product.inputStride = 31;
  EXPECT_EQ(checkHeadLinear(bad), "rows of a product of heads are at least as far apart as their "
                                  "4 heads are wide");
}

} // namespace
