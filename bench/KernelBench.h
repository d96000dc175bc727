//===- KernelBench.h - kernels compiled and called by benchmarks -*- C++ -*-===//
#ifndef LLMC_BENCH_KERNELBENCH_H
#define LLMC_BENCH_KERNELBENCH_H

#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Runtime/KernelABI.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>

namespace llmc::kernels::bench {

/// Compiles and loads; dies on failure.
inline void *load(mlir::ModuleOp module) {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("llmc-bench", folder))
    std::abort();
  std::string path = (folder + "/kernels.so").str();
  if (mlir::failed(compileKernels(module, path)))
    std::abort();
  void *handle = dlopen(path.c_str(), RTLD_NOW);
  llvm::sys::fs::remove_directories(folder);
  if (!handle)
    std::abort();
  return handle;
}

struct Compiler {
  mlir::MLIRContext context;
  Compiler() {
    mlir::DialectRegistry registry;
    registerKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  /// What `build` adds for each variant, in one shared object.
  template <typename Build> void *compile(Build build) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    for (const CPUVariant &variant : cpuVariants())
      build(*module, variant);
    return load(*module);
  }
};

struct Free {
  void operator()(void *p) const { std::free(p); }
};
using Memory = std::unique_ptr<void, Free>;
inline Memory allocate(int64_t bytes, int fill) {
  size_t size = size_t(bytes + 127) / 64 * 64;
  Memory memory(std::aligned_alloc(64, size));
  std::memset(memory.get(), fill, size);
  return memory;
}

} // namespace llmc::kernels::bench

#endif // LLMC_BENCH_KERNELBENCH_H
