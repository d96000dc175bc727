//===- AttentionBench.cpp - speed of paged attention ----------------------===//
//
// One thread, every variant of this machine, next to two probes that say what the
// machine gives at this moment: register FMA chains and a plain read.
//
//   prefill   rows 0 .. T-1 of one sequence; GMAC/s
//   decode    one row behind a context; GB/s of keys and values
//
//===----------------------------------------------------------------------===//
#include "llmc/Kernels/CPU/AttentionKernels.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <random>

using namespace llmc::kernels;
using mlir::Value;

namespace {

struct Shape {
  const char *name;
  int64_t heads, kvHeads, width, window;
};
constexpr Shape shapes[] = {{"9x3x64", 9, 3, 64, 0},      {"14x2x64", 14, 2, 64, 0},
                            {"32x8x128", 32, 8, 128, 0},  {"16x16x80", 16, 16, 80, 0},
                            {"8x4x256", 8, 4, 256, 1024}, {"32x32x128", 32, 32, 128, 0}};

AttentionSpec specOf(const Shape &shape) {
  AttentionSpec spec;
  spec.heads = shape.heads;
  spec.state = {shape.kvHeads, shape.width, shape.width, 32};
  spec.scale = 0.1f;
  spec.window = shape.window;
  spec.qStride = spec.outStride = shape.heads * shape.width;
  return spec;
}

/// Independent chains, as many as hide the latency; items are rounds of 1024.
void buildFmaProbe(mlir::ModuleOp module, const CPUVariant &variant) {
  KernelBuilder k(module, "probe_fma", variant);
  int64_t count = variant.isAVX512() ? 24 : 6;
  Value out = k.operand(0);
  k.loop(k.begin(), k.end(), 1, [&](Value) {
    KernelBuilder::Values accs(count, k.splat(0));
    Value x = k.load(k.vecF(), out, 64);
    accs = k.loop(k.c(0), k.c(1024), 1, accs, [&](Value, mlir::ValueRange carried) {
      KernelBuilder::Values next(carried);
      for (Value &acc : next)
        acc = k.fma(x, x, acc);
      return next;
    });
    for (int64_t i = 0; i < count; ++i)
      k.store(accs[i], out, 64, (i + 1) * 64);
  });
  k.finish();
}

/// Items are 256 bytes each.
void buildReadProbe(mlir::ModuleOp module, const CPUVariant &variant) {
  KernelBuilder k(module, "probe_read", variant);
  Value in = k.operand(0), out = k.operand(1);
  KernelBuilder::Values accs(4, k.splatI(0));
  accs = k.loop(k.begin(), k.end(), 1, accs, [&](Value i, mlir::ValueRange carried) {
    KernelBuilder::Values next(carried);
    for (int64_t j = 0; j < 4; ++j)
      next[j] = k.xori(next[j], k.load(k.vecI(), k.at(in, k.mul(i, 256)), 64, j * 64));
    return next;
  });
  for (int64_t j = 0; j < 4; ++j)
    k.store(accs[j], out, 64, j * 64);
  k.finish();
}

class Library {
public:
  Library() {
    mlir::DialectRegistry registry;
    registerKernelDialects(registry);
    mlir::MLIRContext context(registry);
    context.loadAllAvailableDialects();
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    for (const CPUVariant &variant : cpuVariants()) {
      buildFmaProbe(*module, variant);
      buildReadProbe(*module, variant);
      for (const Shape &shape : shapes)
        buildAttentionKernel(*module, specOf(shape), variant);
    }
    llvm::SmallString<128> folder;
    if (llvm::sys::fs::createUniqueDirectory("llmc-bench", folder))
      std::abort();
    std::string path = (folder + "/kernels.so").str();
    if (mlir::failed(compileKernels(*module, path)))
      std::abort();
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    llvm::sys::fs::remove_directories(folder);
    if (!handle)
      std::abort();
  }
  llmc_kernel_fn find(const std::string &name, const CPUVariant &variant) const {
    return reinterpret_cast<llmc_kernel_fn>(dlsym(handle, (name + variant.suffix.str()).c_str()));
  }

private:
  void *handle;
};

struct Free {
  void operator()(float *p) const { std::free(p); }
};
using Floats = std::unique_ptr<float, Free>;

Floats floats(int64_t count) {
  Floats memory(static_cast<float *>(std::aligned_alloc(64, (count * 4 + 63) / 64 * 64)));
  uint32_t x = 1;
  for (int64_t i = 0; i < count; ++i) {
    x = x * 1664525 + 1013904223;
    memory.get()[i] = float(x >> 8) / float(1 << 23) - 1;
  }
  return memory;
}

/// `rows` rows that end a sequence of `length` positions.
void attention(benchmark::State &state, const Library &library, const CPUVariant &variant,
               const Shape &shape, int64_t rows, int64_t length) {
  AttentionSpec spec = specOf(shape);
  int64_t blocks = (length + 31) / 32;
  std::vector<int32_t> positions(rows), sequences(rows, 0), table(blocks);
  for (int64_t i = 0; i < rows; ++i)
    positions[i] = int32_t(length - rows + i);
  for (int64_t i = 0; i < blocks; ++i)
    table[i] = int32_t(i);
  std::shuffle(table.begin(), table.end(), std::mt19937(1));
  llmc_batch batch{};
  batch.tokens = rows;
  batch.sequences = 1;
  batch.blocks = batch.table_stride = blocks;
  batch.positions = positions.data();
  batch.token_seq = sequences.data();
  batch.block_table = table.data();

  Floats q = floats(rows * spec.qStride), kv = floats(blocks * spec.state.blockBytes() / 4),
         out = floats(rows * spec.outStride), scratch = floats(attentionKernelScratch(spec) / 4);
  void *args[] = {&batch, q.get(), kv.get(), out.get()};
  llmc_kernel_fn kernel = library.find(attentionKernelName(spec), variant);
  int64_t items = attentionKernelItems(spec, batch);
  for (auto _ : state)
    kernel(args, 0, items, scratch.get());

  double seen = 0;
  for (int32_t p : positions)
    seen += double(shape.window ? std::min<int64_t>(shape.window, p + 1) : p + 1);
  double iterations = double(state.iterations());
  state.counters["GMAC/s"] =
      benchmark::Counter(iterations * seen * double(2 * shape.heads * shape.width) / 1e9,
                         benchmark::Counter::kIsRate);
  if (rows == 1)
    state.counters["GB/s"] =
        benchmark::Counter(iterations * seen * double(8 * shape.kvHeads * shape.width) / 1e9,
                           benchmark::Counter::kIsRate);
}

void fmaProbe(benchmark::State &state, const Library &library, const CPUVariant &variant) {
  Floats out = floats(32 * 16);
  void *args[] = {nullptr, out.get()};
  llmc_kernel_fn kernel = library.find("probe_fma", variant);
  for (auto _ : state)
    kernel(args, 0, 16, nullptr);
  double perRound = 1024.0 * 16 * (variant.isAVX512() ? 24 : 6);
  state.counters["GMAC/s"] = benchmark::Counter(
      double(state.iterations()) * 16 * perRound / 1e9, benchmark::Counter::kIsRate);
}

void readProbe(benchmark::State &state, const Library &library, const CPUVariant &variant,
               int64_t bytes) {
  Floats in = floats(bytes / 4), out = floats(64);
  void *args[] = {nullptr, in.get(), out.get()};
  llmc_kernel_fn kernel = library.find("probe_read", variant);
  for (auto _ : state)
    kernel(args, 0, bytes / 256, nullptr);
  state.counters["GB/s"] = benchmark::Counter(double(state.iterations()) * double(bytes) / 1e9,
                                              benchmark::Counter::kIsRate);
}

} // namespace

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  Library library;
  for (const CPUVariant &variant : cpuVariants()) {
    if (!hostSupports(variant))
      continue;
    std::string name = variant.name.str();
    auto add = [](const std::string &name, auto run) {
      benchmark::RegisterBenchmark(name.c_str(), run);
    };
    add("fma/" + name, [&](benchmark::State &s) { fmaProbe(s, library, variant); });
    for (int64_t mib : {4, 256})
      add("read/" + std::to_string(mib) + "MiB/" + name,
          [&, mib](benchmark::State &s) { readProbe(s, library, variant, mib << 20); });
    for (const Shape &shape : shapes) {
      std::string suffix = std::string(shape.name) + "/" + name;
      for (int64_t rows : {128, 512, 2048})
        add("prefill/" + std::to_string(rows) + "/" + suffix, [&, rows](benchmark::State &s) {
          attention(s, library, variant, shape, rows, rows);
        });
      for (int64_t length : {512, 8192})
        add("decode/" + std::to_string(length) + "/" + suffix, [&, length](benchmark::State &s) {
          attention(s, library, variant, shape, 1, length);
        });
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
