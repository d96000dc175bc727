//===- Backend.cpp - from gpu.modules to PTX ------------------------------===//
#include "llmc/Kernels/NVPTX/Backend.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace mlir;

namespace llmc::kernels::nvptx {

void registerDeviceDialects(DialectRegistry &registry) {
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect, memref::MemRefDialect>();
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

LogicalResult lowerDeviceKernels(ModuleOp kernels) {
  PassManager pm(kernels->getName());
  OpPassManager &module = pm.nest<gpu::GPUModuleOp>();
  module.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  module.addPass(createConvertGpuOpsToNVVMOps(options));
  module.addPass(createReconcileUnrealizedCastsPass());
  module.addPass(createCanonicalizerPass());
  module.addPass(createCSEPass());
  if (failed(pm.run(kernels)))
    return failure();
  for (auto device : kernels.getOps<gpu::GPUModuleOp>()) {
    // What the launch gives has no size here; a symbol of the kernel's own would get one byte.
    for (auto global : device.getOps<LLVM::GlobalOp>())
      if (auto array = dyn_cast<LLVM::LLVMArrayType>(global.getType());
          array && array.getNumElements() == 0)
        global.setLinkage(LLVM::Linkage::External);
    WalkResult result = device.getBody()->walk([](Operation *op) -> WalkResult {
      if (isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
        return WalkResult::advance();
      return op->emitError("is left in a device kernel after lowering to NVVM");
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}

/// Where gpu-module-to-binary looks for it too.
static bool hasPtxas() {
  if (llvm::sys::findProgramByName("ptxas"))
    return true;
  for (const char *variable : {"CUDA_ROOT", "CUDA_HOME", "CUDA_PATH"})
    if (auto root = llvm::sys::Process::GetEnv(variable)) {
      llvm::SmallString<128> path(*root);
      llvm::sys::path::append(path, "bin", "ptxas");
      if (llvm::sys::fs::can_execute(path))
        return true;
    }
  return false;
}

std::vector<std::string> findExternalFunctions(StringRef ptx) {
  std::vector<std::string> names;
  SmallVector<StringRef> lines;
  ptx.split(lines, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    StringRef line = lines[i].trim();
    if (!line.consume_front(".extern") || !(line = line.ltrim()).consume_front(".func"))
      continue;
    // ".extern .func  (.param .b32 func_retval0) NAME", the name perhaps on the next line.
    line = line.ltrim();
    if (line.starts_with("("))
      line = line.split(')').second.ltrim();
    if (line.empty() && i + 1 < lines.size())
      line = lines[++i].trim();
    names.push_back(line.take_until([](char c) { return c == '(' || c == ' ' || c == ';'; }).str());
  }
  return names;
}

/// One text (or image) for every module, in order.
static LogicalResult serialise(ModuleOp kernels, StringRef format,
                               SmallVectorImpl<std::pair<StringAttr, StringAttr>> &objects) {
  OwningOpRef<ModuleOp> copy = kernels.clone();
  PassManager pm((*copy)->getName());
  GpuModuleToBinaryPassOptions options;
  options.compilationTarget = format.str();
  pm.addPass(createGpuModuleToBinaryPass(options));
  if (failed(pm.run(*copy)))
    return failure();
  for (auto binary : copy->getOps<gpu::BinaryOp>()) {
    auto object = cast<gpu::ObjectAttr>(binary.getObjects()[0]);
    objects.push_back({binary.getSymNameAttr(), object.getObject()});
  }
  return success();
}

LogicalResult emitDeviceCode(ModuleOp kernels, std::vector<DeviceCode> &code) {
  SmallVector<std::pair<StringAttr, StringAttr>> texts, images;
  if (failed(serialise(kernels, "isa", texts)))
    return failure();
  for (auto [name, text] : texts)
    for (const std::string &function : findExternalFunctions(text.getValue()))
      return kernels.emitError("device kernel '")
             << name.getValue() << "' calls '" << function
             << "', which nothing defines: an artifact holds all of its code";
  if (hasPtxas() && failed(serialise(kernels, "bin", images)))
    return failure();
  for (auto [i, text] : llvm::enumerate(texts)) {
    // Text ends at its terminator, where the serialiser wrote one.
    DeviceCode &one = code.emplace_back();
    one.name = text.first.str();
    one.ptx = text.second.getValue().rtrim('\0').str();
    if (!images.empty())
      one.cubin = images[i].second.str();
  }
  return success();
}

} // namespace llmc::kernels::nvptx
