//===- BackendTest.cpp - what the backend refuses and repeats -------------===//
#include "KernelTest.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"

using namespace llmc::kernels;
using namespace llmc::kernels::test;
using mlir::Value;

namespace {

/// Fills out[begin, end) with a float function of the index.
void fill(mlir::ModuleOp module, const CPUVariant &variant, llvm::StringRef name,
          llvm::function_ref<Value(KernelBuilder &, Value)> f) {
  KernelBuilder k(module, name, variant);
  Value out = k.operand(0);
  k.loop(k.begin(), k.end(), 1, [&](Value i) {
    k.store(f(k, k.sitofp(i, k.f32())), k.at(out, k.mul(i, 4)), 4);
  });
  k.finish();
}

std::string diagnosticOf(Kernels &kernels) {
  std::string text;
  mlir::ScopedDiagnosticHandler handler(&kernels.context, [&](mlir::Diagnostic &diagnostic) {
    text += diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(mlir::failed(lowerKernels(*kernels.module)));
  return text;
}

TEST(BackendTest, RunsEveryVariant) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    fill(module, variant, "twice", [](KernelBuilder &k, Value x) { return k.addf(x, x); });
  });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<float> out(10);
    void *args[] = {nullptr, out.data()};
    kernels.find("twice", *variant)(args, 2, 7, nullptr);
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(out[i], i >= 2 && i < 7 ? 2 * i : 0);
  }
}

TEST(BackendTest, MathBecomesPolynomials) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    fill(module, variant, "log", [](KernelBuilder &k, Value x) -> Value {
      return mlir::math::LogOp::create(k.builder(), k.loc(), x);
    });
  });
  kernels.compile();
}

TEST(BackendTest, RefusesLibraryCalls) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    fill(module, variant, "power", [](KernelBuilder &k, Value x) -> Value {
      return mlir::math::PowFOp::create(k.builder(), k.loc(), x, k.cf(1.7f));
    });
  });
  EXPECT_NE(diagnosticOf(kernels).find("library call"), std::string::npos);
}

TEST(BackendTest, RefusesFunctionsWithoutBody) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    KernelBuilder k(module, "caller", variant);
    mlir::LLVM::CallOp::create(k.builder(), k.loc(), mlir::TypeRange{}, "missing",
                               mlir::ValueRange{});
    k.finish();
  });
  mlir::OpBuilder b(kernels.module->getBodyRegion());
  auto type = mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(&kernels.context), {});
  mlir::LLVM::LLVMFuncOp::create(b, kernels.module->getLoc(), "missing", type);
  EXPECT_NE(diagnosticOf(kernels).find("without a body"), std::string::npos);
}

TEST(BackendTest, SameBytesEachTime) {
  std::vector<ObjectCode> objects[2];
  for (auto &result : objects) {
    Kernels kernels;
    for (int i = 0; i < 20; ++i)
      kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
        fill(module, variant, "scale" + std::to_string(i), [&](KernelBuilder &k, Value x) {
          for (int j = 0; j < 200; ++j)
            x = k.fma(x, k.cf(float(i)), k.cf(float(j)));
          return x;
        });
      });
    ASSERT_TRUE(mlir::succeeded(lowerKernels(*kernels.module)));
    ASSERT_TRUE(mlir::succeeded(emitObjects(*kernels.module, result)));
  }
  EXPECT_GT(objects[0].size(), 1u);
  EXPECT_EQ(objects[0], objects[1]);
}

TEST(BackendTest, TextsNameEveryKernel) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    fill(module, variant, "twice", [](KernelBuilder &k, Value x) { return k.addf(x, x); });
  });
  ASSERT_TRUE(mlir::succeeded(lowerKernels(*kernels.module)));
  mlir::FailureOr<std::string> ir = emitLLVMText(*kernels.module);
  mlir::FailureOr<std::string> assembly = emitAssembly(*kernels.module);
  ASSERT_TRUE(mlir::succeeded(ir) && mlir::succeeded(assembly));
  for (const CPUVariant *variant : Kernels::variants()) {
    std::string symbol = "twice" + variant->suffix.str();
    EXPECT_NE(ir->find("define void @" + symbol + "("), std::string::npos);
    EXPECT_NE(assembly->find(symbol + ":"), std::string::npos);
  }
}

TEST(BackendTest, InternalFunctionsReachEveryChunk) {
  Kernels kernels;
  mlir::OpBuilder b(kernels.module->getBodyRegion());
  mlir::Location loc = kernels.module->getLoc();
  auto type = mlir::LLVM::LLVMFunctionType::get(b.getF32Type(), {b.getF32Type()});
  auto helper = mlir::LLVM::LLVMFuncOp::create(b, loc, "helper", type,
                                               mlir::LLVM::Linkage::Internal);
  mlir::Block *entry = helper.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  Value x = entry->getArgument(0);
  mlir::LLVM::ReturnOp::create(b, loc, mlir::LLVM::FAddOp::create(b, loc, x, x).getResult());
  for (int i = 0; i < 30; ++i)
    kernels.add([&](mlir::ModuleOp module, const CPUVariant &variant) {
      fill(module, variant, "quadruple" + std::to_string(i), [&](KernelBuilder &k, Value x) {
        for (int j = 0; j < 200; ++j)
          x = k.mulf(x, k.cf(1));
        x = k.addf(x, x);
        return mlir::LLVM::CallOp::create(k.builder(), k.loc(), helper, x).getResult();
      });
    });
  kernels.compile();
  for (const CPUVariant *variant : Kernels::variants()) {
    Buffer<float> out(3);
    void *args[] = {nullptr, out.data()};
    kernels.find("quadruple29", *variant)(args, 0, 3, nullptr);
    EXPECT_EQ(out[2], 8);
  }
}

TEST(BackendTest, LinkerReportsUndefinedSymbols) {
  Kernels kernels;
  kernels.add([](mlir::ModuleOp module, const CPUVariant &variant) {
    KernelBuilder k(module, "caller", variant);
    mlir::LLVM::CallOp::create(k.builder(), k.loc(), mlir::TypeRange{}, "missing",
                               mlir::ValueRange{});
    k.finish();
  });
  mlir::OpBuilder b(kernels.module->getBodyRegion());
  auto type = mlir::LLVM::LLVMFunctionType::get(mlir::LLVM::LLVMVoidType::get(&kernels.context), {});
  mlir::LLVM::LLVMFuncOp::create(b, kernels.module->getLoc(), "missing", type);
  mlir::ScopedDiagnosticHandler quiet(&kernels.context,
                                      [](mlir::Diagnostic &) { return mlir::success(); });
  (void)lowerKernels(*kernels.module);
  std::vector<ObjectCode> objects;
  ASSERT_TRUE(mlir::succeeded(emitObjects(*kernels.module, objects)));
  std::string message;
  EXPECT_TRUE(mlir::failed(linkSharedObject(objects, testing::TempDir() + "/no.so", message)));
  EXPECT_NE(message.find("undefined symbol: missing"), std::string::npos) << message;
}

} // namespace
