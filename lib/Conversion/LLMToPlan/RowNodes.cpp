//===- RowNodes.cpp - operations on rows as nodes of a row program --------===//
#include "Converter.h"

using namespace mlir;

namespace llmc {

using namespace llm;
using kernels::RowProgram;

kernels::Activation kernelActivation(llm::Activation activation) {
  switch (activation) {
  case llm::Activation::Silu: return kernels::Activation::SiLU;
  case llm::Activation::GeluErf: return kernels::Activation::GeluErf;
  case llm::Activation::GeluTanh: return kernels::Activation::GeluTanh;
  case llm::Activation::Relu: return kernels::Activation::Relu;
  case llm::Activation::Sigmoid: return kernels::Activation::Sigmoid;
  case llm::Activation::Tanh: return kernels::Activation::Tanh;
  case llm::Activation::GeluQuick: return kernels::Activation::GeluQuick;
  case llm::Activation::ReluSquared: return kernels::Activation::ReluSquared;
  case llm::Activation::Softplus: return kernels::Activation::Softplus;
  case llm::Activation::Exp: return kernels::Activation::Exp;
  case llm::Activation::Log: return kernels::Activation::Log;
  case llm::Activation::Sqrt: return kernels::Activation::Sqrt;
  case llm::Activation::Reciprocal: return kernels::Activation::Reciprocal;
  }
  llvm_unreachable("closed enum");
}

std::optional<RowProgram::Node> addRowNode(RowProgram &program, Operation *op,
                                           ArrayRef<RowProgram::Node> in) {
  return llvm::TypeSwitch<Operation *, std::optional<RowProgram::Node>>(op)
      .Case([&](RMSNormOp norm) {
        return program.rmsNorm(in[0], norm.getScale() ? in[1] : RowProgram::none,
                               float(norm.getEpsilon().convertToDouble()),
                               float(norm.getOffset().convertToDouble()));
      })
      .Case([&](LayerNormOp norm) {
        return program.layerNorm(in[0], norm.getScale() ? in[1] : RowProgram::none,
                                 norm.getBias() ? in[2] : RowProgram::none,
                                 float(norm.getEpsilon().convertToDouble()));
      })
      .Case([&](ResidualAddOp) { return program.add(in[0], in[1]); })
      .Case([&](ScaleOp scale) {
        return program.scale(in[0], float(scale.getFactor().convertToDouble()));
      })
      .Case([&](OffsetOp offset) {
        return program.addConstant(in[0], float(offset.getTerm().convertToDouble()));
      })
      .Case([&](ClampOp clamp) {
        constexpr float infinity = std::numeric_limits<float>::infinity();
        return program.clamp(
            in[0], clamp.getLow() ? float(clamp.getLow()->convertToDouble()) : -infinity,
            clamp.getHigh() ? float(clamp.getHigh()->convertToDouble()) : infinity);
      })
      .Case([&](SoftcapOp bound) {
        return program.softcap(in[0], float(bound.getCap().convertToDouble()));
      })
      .Case([&](ActivationOp act) {
        return program.activate(kernelActivation(act.getFunction()), in[0]);
      })
      .Case([&](GateOp gate) {
        return program.gate(kernelActivation(gate.getFunction()), in[0], in[1]);
      })
      .Case([&](BinaryOp binary) {
        switch (binary.getFunction()) {
        case BinaryFunction::Add: return program.add(in[0], in[1]);
        case BinaryFunction::Sub: return program.sub(in[0], in[1]);
        case BinaryFunction::Mul: return program.mul(in[0], in[1]);
        case BinaryFunction::Div: return program.div(in[0], in[1]);
        case BinaryFunction::Min: return program.min(in[0], in[1]);
        case BinaryFunction::Max: return program.max(in[0], in[1]);
        }
        llvm_unreachable("closed enum");
      })
      .Case([&](SoftmaxOp) { return program.softmax(in[0]); })
      .Case([&](RowStatOp statistic) {
        switch (statistic.getStatistic()) {
        case RowStatistic::Mean: return program.mean(in[0]);
        case RowStatistic::Deviation: return program.deviation(in[0]);
        case RowStatistic::Sum: return program.sum(in[0]);
        case RowStatistic::Max: return program.rowMax(in[0]);
        }
        llvm_unreachable("closed enum");
      })
      .Case([&](PositionScaleOp scale) {
        return program.positionScale(float(scale.getScale().convertToDouble()),
                                     int64_t(scale.getPeriod()), int64_t(scale.getShift()));
      })
      .Default([](Operation *) { return std::nullopt; });
}

LogicalResult readRowNodes(ValueRange operands,
                           function_ref<FailureOr<RowProgram::Node>(Value)> read,
                           SmallVectorImpl<RowProgram::Node> &in) {
  for (Value operand : operands) {
    if (isa<BatchType>(operand.getType()))
      continue;
    FailureOr<RowProgram::Node> node = read(operand);
    if (failed(node))
      return failure();
    in.push_back(*node);
  }
  return success();
}

} // namespace llmc
