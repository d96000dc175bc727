//===- RowUnits.cpp - element-wise operations and norms along rows --------===//
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

namespace {

/// Width of one row of an operation's program, and rows a token: norms work on the last
/// dimension, all else on whole rows or on parts of them.
std::pair<int64_t, int64_t> rowShape(ArrayRef<Operation *> ops) {
  bool perHead = llvm::any_of(ops, [](Operation *op) {
    return isa<RMSNormOp, LayerNormOp>(op) &&
           cast<RankedTensorType>(op->getResult(0).getType()).getRank() == 3;
  });
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(ops.back()->getResult(0).getType()).getShape();
  if (perHead)
    return {shape[2], shape[1]};
  int64_t width = 1;
  for (int64_t dim : shape.drop_front())
    width *= dim;
  // A long row of independent elements, such as logits, is work for several threads.
  bool independent = llvm::none_of(ops, [](Operation *op) {
    return isa<RMSNormOp, LayerNormOp, SelectRowsOp>(op);
  });
  constexpr int64_t longRow = 8192, mostParts = 64;
  int64_t parts = 1;
  while (independent && width / parts > longRow && width / parts % 32 == 0 && parts < mostParts)
    parts *= 2;
  return {width / parts, parts};
}

} // namespace

LogicalResult Converter::lowerRows(const Unit &unit) {
  auto [width, rowsPerToken] = rowShape(unit.ops);
  RowProgram program(width, rowsPerToken);
  SmallVector<plan::UseAttr> uses;
  DenseMap<Value, RowProgram::Node> nodes;
  SmallVector<std::pair<Value, unsigned>> inputs;
  plan::Extent rows = plan::Extent::Tokens;
  MLIRContext *context = module.getContext();

  auto operandFor = [&, rowWidth = width](const RowBuffer &buffer, unsigned operand) {
    return kernels::RowOperand{operand, buffer.stride, buffer.offset, rowWidth};
  };
  auto read = [&](Value value, Operation *op) -> FailureOr<RowProgram::Node> {
    if (auto known = nodes.find(value); known != nodes.end())
      return known->second;
    auto buffer = bufferOf(unit.resolve(value), unit.op);
    if (failed(buffer))
      return failure();
    kernels::RowOperand operand = operandFor(*buffer, unsigned(uses.size()));
    if (isa<SelectRowsOp>(op)) {
      operand.index = kernels::RowIndex::OutputRow;
      rows = plan::Extent::Outputs;
    } else {
      rows = buffer->rows;
    }
    inputs.push_back({unit.resolve(value), unsigned(uses.size())});
    uses.push_back(use(*buffer, plan::Access::Read));
    return nodes[value] = program.input(operand);
  };
  auto constant = [&](Value weight) -> FailureOr<RowProgram::Node> {
    if (!weight)
      return RowProgram::none;
    Value source = unit.resolve(weight);
    auto packedWeight = packVectors(unit.op->getLoc(), {source}, {}, false);
    if (failed(packedWeight))
      return failure();
    unsigned operand = unsigned(uses.size());
    uses.push_back(use(*packedWeight));
    return program.constant(operand);
  };

  for (Operation *op : unit.ops) {
    SmallVector<RowProgram::Node> in;
    for (Value operand : op->getOperands()) {
      if (isa<BatchType>(operand.getType()))
        continue;
      auto node = isa<WeightType>(operand.getType()) ? constant(operand) : read(operand, op);
      if (failed(node))
        return failure();
      in.push_back(*node);
    }
    RowProgram::Node node =
        TypeSwitch<Operation *, RowProgram::Node>(op)
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
            .Case([&](SoftcapOp bound) {
              return program.softcap(in[0], float(bound.getCap().convertToDouble()));
            })
            .Case([&](ActivationOp act) {
              return program.activate(kernelActivation(act.getFunction()), in[0]);
            })
            .Case([&](GateOp gate) {
              return program.gate(kernelActivation(gate.getFunction()), in[0], in[1]);
            })
            .Case([&](SelectRowsOp) { return in[0]; });
    nodes[op->getResult(0)] = node;
  }

  for (Operation *op : unit.ops) {
    Value inside = op->getResult(0);
    if (!unit.isResult(inside))
      continue;
    // In place over the first input that dies here and has the result's shape. Rows that are
    // chosen from others are never in place: another row may still be read.
    std::optional<RowBuffer> target;
    // A sum stays where the stream is, which the next layer reads.
    auto candidates = inputs;
    if (auto add = dyn_cast<ResidualAddOp>(op))
      llvm::stable_sort(candidates, [&](auto &a, auto &b) {
        Value stream = unit.resolve(add.getStream());
        return a.first == stream && b.first != stream;
      });
    if (unit.all<SelectRowsOp>().empty())
      for (auto [value, operand] : candidates) {
        const RowBuffer &buffer = buffers[value];
        // Nor where another operand lies in the same memory.
        bool taken = llvm::any_of(program.outputs(), [&](const RowProgram::Output &out) {
          return out.operand.operand == operand;
        }) || llvm::count_if(uses, [&](plan::UseAttr other) {
          return other.getSymbol().getValue() == buffer.slice;
        }) > 1;
        if (!taken && buffer.width == width * rowsPerToken && diesAt(buffer, unit.op)) {
          target = buffer;
          program.output(nodes[inside], operandFor(buffer, operand));
          uses[operand] = use(buffer, plan::Access::ReadWrite);
          break;
        }
      }
    if (!target) {
      target = newBuffer(op->getName().stripDialect(), width * rowsPerToken, rows);
      program.output(nodes[inside], operandFor(*target, unsigned(uses.size())));
      uses.push_back(use(*target, plan::Access::Write));
    }
    bind(unit.resolve(inside), *target);
  }
  StringRef what = "row operation";
  if (auto fusion = dyn_cast<FusionOp>(unit.op))
    what = fusion.getPattern();
  else
    what = unit.op->getName().getStringRef();
  launch(unit.op->getLoc(), kernels::describeKernel(context, program), uses,
         items(rowsPerToken, rows), what);
  return success();
}

} // namespace llmc
