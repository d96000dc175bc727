//===- Backend.cpp - CPU variants and the lowering to the LLVM dialect ----===//
#include "llmc/Kernels/CPU/Backend.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace llmc::kernels {

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral avx512Required[] = {
    "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512bw", "avx512dq"};
static constexpr llvm::StringLiteral avx2Required[] = {"avx2", "fma", "f16c"};

ArrayRef<CPUVariant> cpuVariants() {
  static const CPUVariant variants[] = {
      {"avx512", "_avx512", "+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512bw,+avx512dq",
       "x86-64-v4", avx512Required, 512, 32},
      {"avx2", "_avx2", "+avx2,+fma,+f16c", "x86-64-v3", avx2Required, 256, 16},
  };
  return variants;
}

const CPUVariant *findCPUVariant(StringRef name) {
  for (const CPUVariant &variant : cpuVariants())
    if (variant.name == name)
      return &variant;
  return nullptr;
}

bool hostSupports(const CPUVariant &variant) {
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  return llvm::all_of(variant.required, [](StringRef name) { return host.lookup(name); });
}

void registerKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                  index::IndexDialect, LLVM::LLVMDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {

/// Must run before math becomes LLVM intrinsics, which are library calls. Visits
/// only what needs it: most kernels have no such operation and thousands of others.
struct MathToPolynomials : PassWrapper<MathToPolynomials, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MathToPolynomials)
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          !isa<math::FmaOp, math::SqrtOp, math::AbsFOp, math::RoundEvenOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(patterns);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns))))
      signalPassFailure();
  }
};

/// The upstream pass wants a module, which would run on one thread.
struct ControlFlowToLLVM : PassWrapper<ControlFlowToLLVM, OperationPass<LLVM::LLVMFuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ControlFlowToLLVM)
  void runOnOperation() override {
    MLIRContext &context = getContext();
    LLVMTypeConverter converter(&context);
    LLVMConversionTarget target(context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<cf::ControlFlowDialect>();
    RewritePatternSet patterns(&context);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

LogicalResult lowerKernels(ModuleOp module) {
  PassManager pm(module.getContext());
  OpPassManager &func = pm.nest<LLVM::LLVMFuncOp>();
  func.addPass(std::make_unique<MathToPolynomials>());
  func.addPass(createSCFToControlFlowPass());
  func.addPass(createConvertVectorToLLVMPass());
  func.addPass(createConvertMathToLLVMPass());
  func.addPass(createArithToLLVMConversionPass());
  func.addPass(createConvertIndexToLLVMPass());
  func.addPass(createUBToLLVMConversionPass());
  func.addPass(std::make_unique<ControlFlowToLLVM>());
  func.addPass(createReconcileUnrealizedCastsPass());
  func.addPass(createCSEPass());
  if (failed(pm.run(module)))
    return failure();
  return verifyKernels(module);
}

} // namespace llmc::kernels
