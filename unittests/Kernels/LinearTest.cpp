//===- LinearTest.cpp - products against scalar chains, bit for bit -------===//
#include "KernelTest.h"
#include "RandomBlocks.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Kernels/CPU/LinearKernels.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llvm/ADT/StringSet.h"
#include <cmath>
#include <cstring>
#include <random>

using namespace llmc::kernels;
using namespace llmc::kernels::test;

namespace {

using Bytes = std::vector<std::byte>;

/// A weight in the checkpoint's form and the value of each element.
struct Weight {
  Storage storage;
  int64_t rows, cols;
  Bytes bytes;
  std::vector<float> values;
};

/// Random bytes whose scales are ordinary numbers, with an edge block now and then. The
/// values are those of the front end.
Weight makeWeight(Storage storage, int64_t rows, int64_t cols, uint32_t seed) {
  StorageInfo info = storageInfo(storage);
  Weight weight{storage, rows, cols, randomBlocks(storage, rows * cols / info.block, seed), {}};
  weight.values.resize(size_t(rows * cols));
  const auto *format = llmc::frontend::findStorageFormat(info.name);
  llmc::frontend::dequantize(*format, weight.bytes, weight.values);
  return weight;
}

Buffer<std::byte> packWeight(const LinearSpec &spec, const Weight &weight) {
  PackSpec pack{spec.storage, spec.cols, spec.tile, 0};
  Buffer<std::byte> packed(
      size_t(packedBytes(spec.storage, spec.rows, spec.cols, spec.tile)));
  packPanels(pack, std::vector<PackSource>{{weight.rows, weight.bytes}},
             std::span(packed.data(), packed.size()));
  return packed;
}

LinearSpec make(Storage storage, int64_t rows, int64_t cols, int64_t tile) {
  LinearSpec spec;
  spec.storage = storage;
  spec.rows = rows;
  spec.cols = cols;
  spec.tile = tile;
  return spec;
}

std::vector<LinearSpec> specs() {
  std::vector<LinearSpec> list;
  for (Storage storage : everyStorage())
    for (int64_t tile : {1, 2, 4}) {
      int64_t block = storageInfo(storage).block;
      int64_t cols = block == 256 ? 256 * tile : tile == 2 ? 160 : 32;
      list.push_back(make(storage, tile == 1 ? 16 : 64 * tile - 23, cols, tile));
    }
  // Depths that are no multiple of a step.
  for (int64_t cols : {1, 7, 13, 45})
    list.push_back(make(Storage::F16, 50, cols, 2));
  list.push_back(make(Storage::F32, 50, 3, 4));
  auto with = [&](LinearSpec spec, auto change) {
    change(spec);
    list.push_back(spec);
  };
  LinearSpec q4 = make(Storage::Q4_1, 96, 64, 2), q8 = make(Storage::Q8_0, 128, 32, 4);
  with(q4, [](LinearSpec &s) { s.bias = true; });
  with(q4, [](LinearSpec &s) { s.residual = true; });
  with(q4, [](LinearSpec &s) { s.bias = s.residual = true, s.rows = 75; });
  with(q4, [](LinearSpec &s) { s.activation = Activation::GeluErf; });
  with(q4, [](LinearSpec &s) { s.activation = Activation::SiLU, s.gated = true; });
  with(q4, [](LinearSpec &s) {
    s.activation = Activation::GeluTanh, s.gated = s.bias = true, s.outputWidth = 45;
  });
  with(q8, [](LinearSpec &s) {
    s.activation = Activation::SiLU, s.gated = s.residual = true, s.outputWidth = 64;
  });
  with(q8, [](LinearSpec &s) { s.activation = Activation::SiLU, s.gated = true, s.rows = 96; });
  with(q8, [](LinearSpec &s) {
    s.outputWidth = 100, s.outputStride = 111, s.inputStride = 37, s.count = RowCount::Outputs;
  });
  return list;
}

const Activation activations[] = {Activation::SiLU, Activation::GeluTanh, Activation::GeluErf};

class LinearTest : public testing::Test {
protected:
  static void SetUpTestSuite() {
    kernels = new Kernels;
    for (const LinearSpec &spec : specs()) {
      ASSERT_EQ(checkLinear(spec), "");
      kernels->add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        buildLinearKernel(module, spec, variant);
      });
    }
    for (Activation activation : activations)
      kernels->add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        KernelBuilder k(module, activationName(activation), variant);
        mlir::Value data = k.operand(0);
        k.loop(k.begin(), k.end(), 1, [&](mlir::Value i) {
          mlir::Value at = k.at(data, k.mul(i, 64));
          k.store(emitActivation(k, activation, k.load(k.vecF(), at, 64)), at, 64);
        });
        k.finish();
      });
    kernels->compile();
  }
  static void TearDownTestSuite() { delete kernels; }

  /// The function by itself; its errors are another test's subject.
  static float activate(Activation activation, float value) {
    Buffer<float> data(16, value);
    void *args[] = {nullptr, data.data()};
    kernels->find(activationName(activation).str(), *Kernels::variants().front())(args, 0, 1,
                                                                                  nullptr);
    return data[0];
  }

  static Kernels *kernels;
};
Kernels *LinearTest::kernels;

/// Operands of one launch.
struct Launch {
  const LinearSpec &spec;
  int64_t tokens;
  llmc_batch batch = {};
  Weight weight;
  Buffer<std::byte> packed;
  Buffer<float> x, bias, before;

  Launch(const LinearSpec &spec, int64_t tokens, const Weight &source)
      : spec(spec), tokens(tokens), weight(source), packed(packWeight(spec, weight)),
        x(size_t(tokens * spec.inputDistance())), bias(size_t((spec.rows + 15) / 16 * 16)),
        before(size_t(tokens * spec.outputDistance())) {
    // The other count is larger: a kernel that reads it goes out of bounds.
    batch.tokens = spec.count == RowCount::Tokens ? tokens : tokens + 100;
    batch.outputs = spec.count == RowCount::Outputs ? tokens : tokens + 100;
    std::mt19937 random{uint32_t(tokens)};
    std::normal_distribution<float> normal;
    for (Buffer<float> *buffer : {&x, &bias, &before})
      for (size_t i = 0; i < buffer->size(); ++i)
        (*buffer)[i] = normal(random);
  }

  Buffer<float> run(llmc_kernel_fn kernel, const std::vector<int64_t> &cuts) const {
    Buffer<float> out(before.size());
    std::copy_n(before.data(), before.size(), out.data());
    Buffer<char> scratch(size_t(linearKernelScratch(spec)));
    std::vector<void *> args = {const_cast<llmc_batch *>(&batch), x.data(), packed.data()};
    if (spec.bias)
      args.push_back(bias.data());
    if (spec.residual)
      args.push_back(out.data());
    args.push_back(out.data());
    // From the last range to the first: nothing may depend on the order.
    for (size_t i = cuts.size() - 1; i > 0; --i)
      kernel(args.data(), cuts[i - 1], cuts[i], scratch.data());
    EXPECT_TRUE(out.intact() && scratch.intact()) << linearKernelName(spec);
    return out;
  }

  template <typename Activate>
  Buffer<float> reference(Activate activate) const {
    Buffer<float> out(before.size());
    std::copy_n(before.data(), before.size(), out.data());
    for (int64_t t = 0; t < tokens; ++t) {
      auto sum = [&](int64_t row) {
        float acc = 0;
        for (int64_t i = 0; i < spec.cols; ++i)
          acc = std::fma(weight.values[size_t(row * spec.cols + i)],
                         x[size_t(t * spec.inputDistance() + i)], acc);
        return spec.bias ? acc + bias[size_t(row)] : acc;
      };
      for (int64_t f = 0; f < spec.width(); ++f) {
        int64_t row = spec.gated ? f / 16 * 32 + f % 16 : f;
        float value = sum(row);
        if (spec.activation)
          value = activate(*spec.activation, value);
        if (spec.gated)
          value *= sum(row + 16);
        float &place = out[size_t(t * spec.outputDistance() + f)];
        place = spec.residual ? place + value : value;
      }
    }
    return out;
  }
};

bool sameBits(const Buffer<float> &a, const Buffer<float> &b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::vector<int64_t> randomCuts(int64_t items, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> cuts = {0, items};
  for (int i = 0; i < 3; ++i)
    cuts.push_back(int64_t(random() % uint32_t(items + 1)));
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

TEST_F(LinearTest, EqualsScalarChains) {
  for (const LinearSpec &spec : specs()) {
    std::string name = linearKernelName(spec);
    Weight weight = makeWeight(spec.storage, spec.rows, spec.cols, 17);
    for (int64_t tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 96, 97, 203}) {
      if (tokens > (spec.rows * spec.cols > 100000 ? 7 : 14) && spec.rows * spec.cols > 10000)
        continue;
      Launch launch(spec, tokens, weight);
      Buffer<float> expected = launch.reference(activate);
      int64_t items = linearKernelItems(spec, launch.batch);
      for (const CPUVariant *variant : Kernels::variants()) {
        llmc_kernel_fn kernel = kernels->find(name, *variant);
        EXPECT_TRUE(sameBits(expected, launch.run(kernel, {0, items})))
            << name << variant->suffix.str() << " tokens " << tokens;
        EXPECT_TRUE(sameBits(expected, launch.run(kernel, randomCuts(items, uint32_t(tokens)))))
            << name << variant->suffix.str() << " tokens " << tokens << ", split";
      }
    }
  }
}

TEST_F(LinearTest, NoItemsDoNothing) {
  LinearSpec spec = specs().front();
  Launch launch(spec, 1, makeWeight(spec.storage, spec.rows, spec.cols, 1));
  launch.batch.tokens = 0;
  EXPECT_EQ(linearKernelItems(spec, launch.batch), 0);
  for (const CPUVariant *variant : Kernels::variants())
    EXPECT_TRUE(sameBits(launch.before,
                         launch.run(kernels->find(linearKernelName(spec), *variant), {0, 0})));
}

TEST(LinearSpecTest, NamesDiffer) {
  llvm::StringSet<> names;
  for (const LinearSpec &spec : specs())
    EXPECT_TRUE(names.insert(linearKernelName(spec)).second) << linearKernelName(spec);
}

TEST(LinearSpecTest, ChecksSayWhy) {
  LinearSpec spec = make(Storage::Q4_1, 64, 48, 2);
  EXPECT_NE(checkLinear(spec).find("48"), std::string::npos);
  spec.cols = 64;
  EXPECT_EQ(checkLinear(spec), "");
  spec.tile = 3;
  EXPECT_NE(checkLinear(spec), "");
  spec.tile = 2;
  spec.gated = true;
  EXPECT_NE(checkLinear(spec).find("activation"), std::string::npos);
  spec.activation = Activation::SiLU;
  EXPECT_EQ(checkLinear(spec), "");
  spec.rows = 48;
  EXPECT_NE(checkLinear(spec), "");
}

TEST(EmbeddingTest, RowsOfEveryLayout) {
  std::vector<EmbeddingSpec> list;
  for (Storage storage : everyStorage())
    for (int64_t tile : {0, 1, 2, 4})
      if (StorageInfo info = storageInfo(storage); tile || info.isFloat())
        list.push_back({.storage = storage,
                        .rows = 100,
                        .cols = !tile ? 53 : std::max<int64_t>(64, 2 * info.block),
                        .tile = tile,
                        .scale = tile == 2 ? 22.6f : 1.0f});
  Kernels kernels;
  for (const EmbeddingSpec &spec : list) {
    ASSERT_EQ(checkEmbedding(spec), "");
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      buildEmbeddingKernel(module, spec, variant);
    });
  }
  kernels.compile();
  std::vector<int32_t> ids = {99, 0, 16, 15, 47, 0, 98};
  llmc_batch batch = {};
  batch.tokens = int64_t(ids.size());
  batch.token_ids = ids.data();
  for (const EmbeddingSpec &spec : list) {
    Weight weight = makeWeight(spec.storage, spec.rows, spec.cols, 5);
    Buffer<std::byte> table(weight.bytes.size());
    std::copy(weight.bytes.begin(), weight.bytes.end(), table.data());
    if (spec.tile)
      table = packWeight(make(spec.storage, spec.rows, spec.cols, spec.tile), weight);
    for (const CPUVariant *variant : Kernels::variants()) {
      Buffer<float> out(ids.size() * size_t(spec.cols));
      void *args[] = {&batch, table.data(), out.data()};
      llmc_kernel_fn kernel = kernels.find(embeddingKernelName(spec), *variant);
      kernel(args, 4, embeddingKernelItems(spec, batch), nullptr);
      kernel(args, 0, 4, nullptr);
      EXPECT_TRUE(out.intact());
      for (size_t i = 0; i < out.size(); ++i) {
        size_t row = size_t(ids[i / size_t(spec.cols)]), col = i % size_t(spec.cols);
        ASSERT_EQ(out[i], weight.values[row * size_t(spec.cols) + col] * spec.scale)
            << embeddingKernelName(spec) << " at " << i;
      }
    }
  }
}

TEST(SelectRowsTest, CopiesOutputRows) {
  SelectRowsSpec spec{37};
  Kernels kernels;
  kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
    buildSelectRowsKernel(module, spec, variant);
  });
  kernels.compile();
  Buffer<float> x(size_t(10 * spec.cols));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = float(i);
  int32_t rows[] = {0, 3, 9};
  llmc_batch batch = {};
  batch.outputs = 3;
  batch.output_rows = rows;
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<float> out(size_t(3 * spec.cols));
    void *args[] = {&batch, x.data(), out.data()};
    kernels.find(selectRowsKernelName(spec), *variant)(args, 0,
                                                       selectRowsKernelItems(spec, batch), nullptr);
    EXPECT_TRUE(out.intact());
    for (int64_t i = 0; i < 3 * spec.cols; ++i)
      EXPECT_EQ(out[size_t(i)], float(rows[i / spec.cols] * spec.cols + i % spec.cols));
  }
}

} // namespace
