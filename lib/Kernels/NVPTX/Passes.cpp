//===- Passes.cpp - the code of a plan's device kernels -------------------===//
#include "llmc/Kernels/Passes.h"

#include "llmc/Dialect/Plan/IR/PlanOps.h"
#include "llmc/Kernels/KernelConfig.h"
#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Kernels/NVPTX/RowKernels.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace llmc::kernels {

#define GEN_PASS_DEF_GENERATEDEVICEKERNELSPASS
#define GEN_PASS_DEF_LOWERDEVICEKERNELSPASS
#include "llmc/Kernels/Passes.h.inc"

namespace {

struct GenerateDeviceKernels : impl::GenerateDeviceKernelsPassBase<GenerateDeviceKernels> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      for (auto kernel : program.getOps<plan::KernelOp>())
        if (kernel.getDevice() && !kernel->hasAttr("plan.code") && failed(generate(program, kernel)))
          return signalPassFailure();
  }

  LogicalResult generate(plan::ProgramOp program, plan::KernelOp kernel) {
    StringRef device = program.getTarget().getDevice();
    const TargetInfo *target = findTarget(device);
    if (!target || !target->isGPU())
      return kernel.emitError("runs on a device, but target '") << device << "' has none";
    if (kernel.getGenerator() != nvptx::rowGenerator)
      return kernel.emitError("has generator '")
             << kernel.getGenerator() << "', known for " << device << ": " << nvptx::rowGenerator;
    auto config = kernel->getAttrOfType<DictionaryAttr>("plan.config");
    if (!config)
      return kernel.emitError("has no plan.config; no code can be generated for it");
    std::optional<RowProgram> rows;
    std::string problem = readRowProgram(config, rows);
    if (problem.empty())
      problem = nvptx::checkRowKernel(*rows, *target);
    if (problem.empty() && rowKernelName(*rows) != kernel.getSymbol())
      problem = "its parameters belong to symbol '" + rowKernelName(*rows) + "'";
    if (!problem.empty())
      return kernel.emitError("generator '") << kernel.getGenerator() << "': " << problem;
    nvptx::buildRowKernel(kernelsModule(), kernel.getLoc(), *rows, *target);
    return success();
  }

  ModuleOp kernelsModule() {
    if (ModuleOp found = findKernelsModule(getOperation()))
      return found;
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    return ModuleOp::create(b, getOperation().getLoc(), kernelsModuleName);
  }
};

struct LowerDeviceKernels : impl::LowerDeviceKernelsPassBase<LowerDeviceKernels> {
  void runOnOperation() override {
    ModuleOp kernels = findKernelsModule(getOperation());
    if (kernels && failed(nvptx::lowerDeviceKernels(kernels)))
      signalPassFailure();
  }
};

} // namespace
} // namespace llmc::kernels
