//===- LinearBench.cpp - speed of matrix products and of compiling them ---===//
//
// Weights pass once for each iteration. Counters: GB/s of packed weights and
// GMAC/s, of one thread. The names hold format, shape, tokens and variant. Judge
// by the share of the probes of the same run: probe/fma is the peak of the units,
// probe/read a plain read of as many bytes as the largest weight.
//
//===----------------------------------------------------------------------===//
#include "KernelBench.h"
#include "llmc/Kernels/CPU/LinearKernels.h"
#include <benchmark/benchmark.h>

using namespace llmc::kernels;
using namespace llmc::kernels::bench;

namespace {

LinearSpec makeSpec(Storage storage, int64_t rows, int64_t cols, int64_t tile) {
  LinearSpec spec;
  spec.storage = storage;
  spec.rows = rows;
  spec.cols = cols;
  spec.tile = tile ? tile : linearTile(rows, false);
  return spec;
}

/// The kernels of all specs and variants in one shared object.
void *compile(Compiler &compiler, llvm::ArrayRef<LinearSpec> specs) {
  return compiler.compile([&](mlir::ModuleOp module, const CPUVariant &variant) {
    for (const LinearSpec &spec : specs)
      buildLinearKernel(module, spec, variant);
  });
}

void runLinear(benchmark::State &state, LinearSpec spec, const CPUVariant &variant,
               int64_t tokens) {
  Compiler compiler;
  void *handle = compile(compiler, spec);
  auto kernel = reinterpret_cast<llmc_kernel_fn>(
      dlsym(handle, (linearKernelName(spec) + variant.suffix.str()).c_str()));
  int64_t bytes = packedBytes(spec.storage, spec.rows, spec.cols, spec.tile);
  // 0x1c1c: a small half, 0x1c1c1c1c a small float.
  Memory weights = allocate(bytes, 0x1c), x = allocate(tokens * spec.cols * 4, 0);
  Memory out = allocate(tokens * spec.rows * 4, 0), scratch = allocate(linearKernelScratch(spec), 0);
  for (int64_t i = 0; i < tokens * spec.cols; ++i)
    static_cast<float *>(x.get())[i] = float(i % 13) - 6;
  llmc_batch batch = {};
  batch.tokens = tokens;
  void *args[] = {&batch, x.get(), weights.get(), out.get()};
  for (auto _ : state)
    kernel(args, 0, linearKernelItems(spec, batch), scratch.get());
  state.counters["GB/s"] =
      benchmark::Counter(double(bytes) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["GMAC/s"] = benchmark::Counter(
      double(spec.rows) * double(spec.cols) * double(tokens) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate);
  dlclose(handle);
}

/// Independent multiply-adds, as many as a register tile has.
void buildFma(mlir::ModuleOp module, const CPUVariant &variant) {
  KernelBuilder k(module, "probe_fma", variant);
  int64_t lanes = variant.vectorBits / 32, chains = 12 * variant.vectorRegisters / 16;
  KernelBuilder::Values sums(size_t(chains), k.splat(0, lanes));
  mlir::Value out = k.operand(0);
  mlir::Value w = k.load(k.vecF(lanes), out, 64), x = k.load(k.vecF(lanes), out, 64, 64);
  sums = k.loop(k.begin(), k.end(), 1, sums, [&](mlir::Value, mlir::ValueRange carried) {
    KernelBuilder::Values next;
    for (mlir::Value sum : carried)
      next.push_back(k.fma(w, x, sum));
    return next;
  });
  mlir::Value total = sums[0];
  for (mlir::Value sum : llvm::ArrayRef(sums).drop_front())
    total = k.addf(total, sum);
  k.store(total, out, 64);
  k.finish();
}

/// Lines of 64 bytes, two at a time.
void buildRead(mlir::ModuleOp module, const CPUVariant &variant) {
  KernelBuilder k(module, "probe_read", variant);
  mlir::Value data = k.operand(1), out = k.operand(0);
  KernelBuilder::Values sums(4, k.splatI(0));
  sums = k.loop(k.begin(), k.end(), 4, sums, [&](mlir::Value i, mlir::ValueRange carried) {
    KernelBuilder::Values next;
    mlir::Value line = k.at(data, k.mul(i, 64));
    for (auto [n, sum] : llvm::enumerate(carried))
      next.push_back(k.xori(sum, k.load(k.vecI(), line, 64, int64_t(n) * 64)));
    return next;
  });
  k.store(k.xori(k.xori(sums[0], sums[1]), k.xori(sums[2], sums[3])), out, 64);
  k.finish();
}

void runProbe(benchmark::State &state, const CPUVariant &variant, bool read) {
  Compiler compiler;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&compiler.context));
  read ? buildRead(*module, variant) : buildFma(*module, variant);
  void *handle = load(*module);
  std::string name = (read ? "probe_read" : "probe_fma") + variant.suffix.str();
  auto kernel = reinterpret_cast<llmc_kernel_fn>(dlsym(handle, name.c_str()));
  const int64_t bytes = 16 << 20, steps = 100000;
  Memory data = allocate(read ? bytes : 128, 0), out = allocate(128, 0);
  void *args[] = {nullptr, out.get(), data.get()};
  for (auto _ : state)
    kernel(args, 0, read ? bytes / 64 : steps, nullptr);
  if (read)
    state.counters["GB/s"] =
        benchmark::Counter(double(bytes) * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
  else
    state.counters["GMAC/s"] = benchmark::Counter(
        double(steps * 12 * variant.vectorRegisters / 16 * variant.vectorBits / 32) * 1e-9,
        benchmark::Counter::kIsIterationInvariantRate);
  dlclose(handle);
}

/// The products of a small model, both variants: what the kernels phase pays.
void compileModel(benchmark::State &state) {
  std::vector<LinearSpec> specs;
  for (auto [rows, cols] : {std::pair(960, 576), {576, 576}, {3072, 576}, {576, 1536},
                            {49152, 576}, {960, 960}})
    specs.push_back(makeSpec(Storage::Q4_1, rows, cols, 0));
  specs[2].gated = true;
  specs[2].activation = Activation::SiLU;
  specs[1].residual = specs[3].residual = true;
  for (auto _ : state) {
    Compiler compiler;
    dlclose(compile(compiler, specs));
  }
  state.counters["kernels"] = double(specs.size() * cpuVariants().size());
}

} // namespace

int main(int argc, char **argv) {
  struct Shape {
    int64_t rows, cols, tokens;
  };
  for (const CPUVariant &variant : cpuVariants())
    for (bool read : {false, true})
      if (hostSupports(variant))
        benchmark::RegisterBenchmark(
            ((read ? "probe/read/" : "probe/fma/") + variant.name.str()).c_str(),
            [=, &variant](benchmark::State &state) { runProbe(state, variant, read); });
  // The first stays in cache; blocks of 256 need other depths.
  const Shape shapes[] = {{1536, 576, 1}, {49152, 576, 1},   {1536, 576, 4},
                          {1536, 576, 7}, {1536, 576, 480}, {576, 1536, 480}};
  for (int i = 0; i < storageCount; ++i)
    for (const CPUVariant &variant : cpuVariants())
      for (Shape shape : shapes) {
        StorageInfo info = storageInfo(Storage(i));
        shape.cols -= shape.cols % info.block;
        if (!hostSupports(variant))
          continue;
        std::string name = "linear/" + std::string(info.name) + "/" + std::to_string(shape.rows) +
                           "x" + std::to_string(shape.cols) + "/" + std::to_string(shape.tokens) +
                           "/" + variant.name.str();
        benchmark::RegisterBenchmark(name.c_str(), [=, &variant](benchmark::State &state) {
          runLinear(state, makeSpec(Storage(i), shape.rows, shape.cols, 0), variant,
                    shape.tokens);
        });
      }
  benchmark::RegisterBenchmark("compile/model", compileModel)->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
