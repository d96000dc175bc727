//===- GenerateKernels.cpp - the code of a plan's kernels -----------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Kernels/KernelConfig.h"
#include "llmc/Kernels/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace llmc::kernels {

#define GEN_PASS_DEF_GENERATEKERNELSPASS
#define GEN_PASS_DEF_LOWERKERNELSPASS
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "llmc/Kernels/Passes.h.inc"

ModuleOp findKernelsModule(ModuleOp module) {
  for (ModuleOp nested : module.getOps<ModuleOp>())
    if (nested.getSymName() == kernelsModuleName)
      return nested;
  return nullptr;
}

namespace {

struct GenerateKernels : impl::GenerateKernelsPassBase<GenerateKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto programs = llvm::to_vector(module.getOps<plan::ProgramOp>());
    if (programs.size() != 1) {
      module.emitError() << "expected one plan.program, found " << programs.size()
                         << "; run the plan phase first";
      return signalPassFailure();
    }
    if (ModuleOp old = findKernelsModule(module))
      old.erase();
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    auto kernels = ModuleOp::create(b, module.getLoc(), kernelsModuleName);
    bool any = false;
    for (plan::KernelOp kernel : programs.front().getOps<plan::KernelOp>()) {
      if (kernel.getDevice())
        continue;
      any = true;
      auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
      const KernelGenerator *generator = findGenerator(kernel.getGenerator());
      if (!generator || !config) {
        kernel.emitError() << "kernel has "
                           << (generator ? "no plan.config" : "an unknown generator") << " ('"
                           << kernel.getGenerator() << "'); no code can be generated for it";
        return signalPassFailure();
      }
      for (const CPUVariant &variant : cpuVariants())
        if (std::string problem = generator->build(kernels, config, variant); !problem.empty()) {
          kernel.emitError() << "generator '" << generator->name << "': " << problem;
          return signalPassFailure();
        }
    }
    if (any)
      addVariants(programs.front());
  }

  static void addVariants(plan::ProgramOp program) {
    if (!program.getOps<plan::VariantOp>().empty())
      return;
    OpBuilder b = OpBuilder::atBlockBegin(&program.getBody().front());
    for (const CPUVariant &variant : cpuVariants()) {
      SmallVector<StringRef> features(variant.required.begin(), variant.required.end());
      plan::VariantOp::create(b, program.getLoc(), b.getStringAttr(variant.name),
                              b.getStringAttr(variant.suffix), b.getStrArrayAttr(features));
    }
  }
};

struct LowerKernels : impl::LowerKernelsPassBase<LowerKernels> {
  void runOnOperation() override {
    ModuleOp kernels = findKernelsModule(getOperation());
    if (kernels && failed(lowerKernels(kernels)))
      signalPassFailure();
  }
};

struct VerifyKernels : impl::VerifyKernelsPassBase<VerifyKernels> {
  void runOnOperation() override {
    ModuleOp kernels = findKernelsModule(getOperation());
    if (kernels && failed(verifyKernels(kernels)))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::kernels
