//===- DeviceKernels.cpp - kernels that run on a GPU ----------------------===//
#include "Converter.h"

#include "llmc/Kernels/NVPTX/RowKernels.h"

using namespace mlir;

namespace llmc {

void Converter::declareDeviceKernel(Location loc, const kernels::KernelChoice &kernel,
                                    plan::ItemsAttr items) {
  std::optional<kernels::RowProgram> rows;
  std::string problem;
  if (kernel.generator != "rows")
    problem = "generator '" + kernel.generator.str() + "' writes code for CPUs only";
  else
    problem = kernels::readRowProgram(kernel.config, rows);
  if (problem.empty())
    problem = kernels::nvptx::checkRowKernel(*rows, *target);
  if (!problem.empty()) {
    refusal = problem;
    return;
  }
  kernels::nvptx::RowLaunch start = kernels::nvptx::rowLaunch(*rows, *target);
  auto op = plan::KernelOp::create(declare, loc, kernel.symbol, kernel.symbol,
                                   kernels::nvptx::rowGenerator, /*scratch=*/0);
  op->setAttr("plan.config", kernel.config);
  op.setDeviceAttr(plan::DeviceAttr::get(module.getContext(), "ptx/" + kernel.symbol + ".ptx",
                                         {items}, {start.threads}, start.sharedBytes));
}

} // namespace llmc
