//===- InitAll.cpp - dialects and passes of llmc --------------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/Transforms/Passes.h"
#include "llmc/Dialect/Plan/IR/PlanDialect.h"
#include "llmc/Dialect/Plan/Transforms/Passes.h"
#include "llmc/InitAllDialects.h"
#include "llmc/InitAllPasses.h"
#include "llmc/Kernels/CPU/Backend.h"
#include "llmc/Conversion/Passes.h"
#include "llmc/Kernels/NVPTX/Backend.h"
#include "llmc/Kernels/Passes.h"
#include "llmc/Pipelines/Phases.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Transform/IR/TransformDialect.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

void llmc::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<llm::LLMDialect, plan::PlanDialect, mlir::affine::AffineDialect,
                  mlir::arith::ArithDialect, mlir::bufferization::BufferizationDialect,
                  mlir::cf::ControlFlowDialect, mlir::DLTIDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::linalg::LinalgDialect, mlir::LLVM::LLVMDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::nvgpu::NVGPUDialect,
                  mlir::NVVM::NVVMDialect, mlir::scf::SCFDialect, mlir::shard::ShardDialect,
                  mlir::tensor::TensorDialect, mlir::transform::TransformDialect,
                  mlir::vector::VectorDialect>();
  mlir::func::registerInlinerExtension(registry);
  mlir::NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  kernels::registerKernelDialects(registry);
  kernels::nvptx::registerDeviceDialects(registry);
  registerConversionExtensions(registry);
}

void llmc::registerAllPasses() {
  mlir::registerAllPasses();
  llm::registerLLMPasses();
  plan::registerPlanPasses();
  kernels::registerKernelPasses();
  registerConversionPasses();
  registerPhasePipelines();
}
