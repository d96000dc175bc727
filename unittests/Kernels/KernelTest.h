//===- KernelTest.h - kernels compiled and called by tests ------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_KERNELTEST_H
#define LLMC_UNITTESTS_KERNELS_KERNELTEST_H

#include "llmc/Kernels/CPU/KernelBuilder.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <vector>

namespace llmc::kernels::test {

/// Memory of n elements on a 64-byte boundary, with guard bytes behind that
/// `intact` checks.
template <typename T> class Buffer {
public:
  explicit Buffer(size_t n = 0, T value = T()) : count(n) {
    size_t bytes = (n * sizeof(T) + guard + 63) / 64 * 64;
    memory.reset(static_cast<char *>(std::aligned_alloc(64, bytes)));
    std::fill_n(data(), n, value);
    std::fill_n(memory.get() + n * sizeof(T), guard, char(0x5a));
  }
  T *data() const { return reinterpret_cast<T *>(memory.get()); }
  size_t size() const { return count; }
  T &operator[](size_t i) const { return data()[i]; }
  bool intact() const {
    const char *end = memory.get() + count * sizeof(T);
    return std::all_of(end, end + guard, [](char c) { return c == 0x5a; });
  }

private:
  static constexpr size_t guard = 128;
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  size_t count;
  std::unique_ptr<char[], Free> memory;
};

/// A module of kernels, compiled for every variant of this machine and loaded.
class Kernels {
public:
  Kernels() {
    mlir::DialectRegistry registry;
    registerKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  }
  ~Kernels() {
    if (handle)
      dlclose(handle);
  }

  static std::vector<const CPUVariant *> variants() {
    std::vector<const CPUVariant *> result;
    for (const CPUVariant &variant : cpuVariants())
      if (hostSupports(variant))
        result.push_back(&variant);
    return result;
  }

  /// Calls `generate` once for each variant.
  void add(std::function<void(mlir::ModuleOp, const CPUVariant &)> generate) {
    for (const CPUVariant *variant : variants())
      generate(*module, *variant);
  }

  void compile() {
    llvm::SmallString<128> folder;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("llmc-test", folder));
    std::string path = (folder + "/kernels.so").str();
    ASSERT_TRUE(mlir::succeeded(compileKernels(*module, path)));
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_TRUE(handle) << dlerror();
    llvm::sys::fs::remove_directories(folder);
  }

  llmc_kernel_fn find(std::string name, const CPUVariant &variant) {
    void *symbol = dlsym(handle, (name + variant.suffix.str()).c_str());
    EXPECT_TRUE(symbol) << name;
    return reinterpret_cast<llmc_kernel_fn>(symbol);
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;

private:
  void *handle = nullptr;
};

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_KERNELTEST_H
