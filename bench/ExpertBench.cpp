//===- ExpertBench.cpp - products of experts beside plain ones ------------===//
//
// experts/... is one launch of the product of a layer's experts, linear/... the same
// multiply-adds by plain products: one launch for each expert that a step chooses, over as
// many dense rows as go there. What one launch costs more is the search for its rows and
// their copies; the share of linear/ of the same run says how much. The choices spread
// evenly. Counters are those of LinearBench, of one thread; GB/s of the weights of the
// experts that are chosen.
//
//===----------------------------------------------------------------------===//
#include "KernelBench.h"
#include "llmc/Kernels/CPU/ExpertKernels.h"
#include <benchmark/benchmark.h>

using namespace llmc::kernels;
using namespace llmc::kernels::bench;

namespace {

ExpertLinearSpec makeSpec(Storage storage, int64_t experts, int64_t chosen, int64_t rows,
                          int64_t cols) {
  ExpertLinearSpec spec;
  spec.experts = experts;
  spec.chosen = chosen;
  spec.product.storage = storage;
  spec.product.rows = rows;
  spec.product.cols = cols;
  spec.product.tile = linearTile(rows, false);
  return spec;
}

void run(benchmark::State &state, ExpertLinearSpec spec, const CPUVariant &variant, int64_t tokens,
         bool plain) {
  Compiler compiler;
  const LinearSpec &product = spec.product;
  void *handle = compiler.compile([&](mlir::ModuleOp module, const CPUVariant &each) {
    plain ? buildLinearKernel(module, product, each) : buildExpertLinearKernel(module, spec, each);
  });
  std::string name = plain ? linearKernelName(product) : expertLinearKernelName(spec);
  auto kernel =
      reinterpret_cast<llmc_kernel_fn>(dlsym(handle, (name + variant.suffix.str()).c_str()));
  int64_t pairs = tokens * spec.chosen, used = std::min(pairs, spec.experts);
  // 0x1c1c: a small half, 0x1c1c1c1c a small float.
  Memory weights = allocate(spec.experts * spec.expertBytes(), 0x1c);
  Memory x = allocate(pairs * product.cols * 4, 0), out = allocate(pairs * product.rows * 4, 0);
  Memory choice = allocate(pairs * 4, 0);
  Memory scratch =
      allocate(std::max(expertLinearKernelScratch(spec), linearKernelScratch(product)), 0);
  for (int64_t i = 0; i < pairs * product.cols; ++i)
    static_cast<float *>(x.get())[i] = float(i % 13) - 6;
  for (int64_t i = 0; i < pairs; ++i)
    static_cast<int32_t *>(choice.get())[i] = int32_t(i * 37 % spec.experts);
  llmc_batch batch = {};
  if (plain) {
    batch.tokens = pairs / used;
    int64_t items = linearKernelItems(product, batch);
    for (auto _ : state)
      for (int64_t e = 0; e < used; ++e) {
        void *args[] = {&batch, x.get(), static_cast<char *>(weights.get()) + e * spec.expertBytes(),
                        out.get()};
        kernel(args, 0, items, scratch.get());
      }
  } else {
    batch.tokens = tokens;
    void *args[] = {&batch, x.get(), choice.get(), weights.get(), out.get()};
    for (auto _ : state)
      kernel(args, 0, expertLinearKernelItems(spec), scratch.get());
  }
  state.counters["GB/s"] = benchmark::Counter(double(used * spec.expertBytes()) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GMAC/s"] =
      benchmark::Counter(double(pairs) * double(product.rows) * double(product.cols) * 1e-9,
                         benchmark::Counter::kIsIterationInvariantRate);
  dlclose(handle);
}

} // namespace

int main(int argc, char **argv) {
  struct Shape {
    int64_t experts, chosen, rows, cols;
  };
  for (Storage storage : {Storage::Q4_1, Storage::Q8_0, Storage::MXFP4, Storage::BF16})
    for (Shape shape : {Shape{8, 2, 1536, 1024}, {128, 8, 768, 1024}})
      for (int64_t tokens : {1, 4, 64, 512})
        for (const CPUVariant &variant : cpuVariants())
          for (bool plain : {false, true}) {
            if (!hostSupports(variant))
              continue;
            std::string name = std::string(plain ? "linear/" : "experts/") +
                               std::string(storageInfo(storage).name) + "/" +
                               std::to_string(shape.chosen) + "of" +
                               std::to_string(shape.experts) + "/" + std::to_string(shape.rows) +
                               "x" + std::to_string(shape.cols) + "/" + std::to_string(tokens) +
                               "/" + variant.name.str();
            benchmark::RegisterBenchmark(name.c_str(), [=, &variant](benchmark::State &state) {
              run(state, makeSpec(storage, shape.experts, shape.chosen, shape.rows, shape.cols),
                  variant, tokens, plain);
            });
          }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
