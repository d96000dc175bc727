//===- ElementRules.cpp - arithmetic of rows, heads and streams -----------===//
#include "ImporterRules.h"

#include "llmc/Frontend/ElementSettings.h"

namespace llmc::frontend {

mlir::Value Importer::operandRows(const OpCall &call, size_t index) {
  if (!call.args[index].is<WeightRef>())
    return tensor(call, index);
  const WeightRef &ref = weightArg(call, index);
  mlir::Value weight =
      WeightRowsOp::create(b, at(call, &ref), paramOf(call, ref), batch).getResult();
  const auto &other = call.args[1 - index];
  bool besideHeads =
      other.is<Handle>() &&
      cast<RankedTensorType>(tensor(call, 1 - index).getType()).getRank() == 3;
  if (besideHeads && cast<RankedTensorType>(weight.getType()).getRank() == 2)
    weight = SplitHeadsOp::create(b, at(call, &ref), rows({1, lastDim(weight)}), weight);
  return weight;
}

Importer::Results Importer::arithmetic(const OpCall &call) {
  mlir::Value a = operandRows(call, 0), c = operandRows(call, 1);
  // The sum of two streams is an operation of its own, which fusions look for.
  if (call.name == "residual_add" && a.getType() == c.getType())
    return handle(ResidualAddOp::create(b, at(call), a.getType(), a, c));
  std::optional<BinaryFunction> function =
      call.name == "residual_add" ? BinaryFunction::Add : symbolizeBinaryFunction(call.name);
  auto shapeOf = [](mlir::Value x) { return cast<RankedTensorType>(x.getType()).getShape(); };
  if (!function || BinaryOp::broadcast(shapeOf(a), shapeOf(c)).empty())
    opError(call, "the operands do not fit");
  return handle(BinaryOp::create(b, at(call), *function, a, c));
}

Importer::Results Importer::weightRows(const OpCall &call) {
  const WeightRef &ref = weightArg(call, 0);
  return handle(WeightRowsOp::create(b, at(call, &ref), paramOf(call, ref), batch));
}

Importer::Results Importer::offset(const OpCall &call) {
  return handle(OffsetOp::create(b, at(call), tensor(call, 0), numberArg(call, 1)));
}

Importer::Results Importer::clamp(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  auto bound = [&](size_t i) {
    return call.args[i].isNull() ? FloatAttr() : b.getF64FloatAttr(numberArg(call, i));
  };
  return handle(ClampOp::create(b, at(call), x.getType(), x, bound(1), bound(2)));
}

Importer::Results Importer::softmax(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  return handle(SoftmaxOp::create(b, at(call), x.getType(), x));
}

Importer::Results Importer::rowStatistic(const OpCall &call) {
  std::optional<RowStatistic> statistic =
      call.name == "row_max" ? RowStatistic::Max : symbolizeRowStatistic(call.name);
  return handle(RowStatOp::create(b, at(call), *statistic, tensor(call, 0)));
}

Importer::Results Importer::slice(const OpCall &call) {
  return handle(
      SliceOp::create(b, at(call), tensor(call, 0), intArg(call, 1), intArg(call, 2)));
}

Importer::Results Importer::concat(const OpCall &call) {
  SmallVector<mlir::Value> inputs;
  for (size_t i = 0; i < call.args.size(); ++i)
    inputs.push_back(tensor(call, i));
  return handle(ConcatOp::create(b, at(call), ValueRange(inputs)));
}

Importer::Results Importer::transpose(const OpCall &call) {
  return handle(TransposeOp::create(b, at(call), tensor(call, 0)));
}

Importer::Results Importer::take(const OpCall &call) {
  return handle(TakeOp::create(b, at(call), tensor(call, 0),
                               countsFromLayer(call) ? layerIndex : mlir::Value(),
                               intArg(call, 1)));
}

Importer::Results Importer::put(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  return handle(PutOp::create(b, at(call), x.getType(), x, tensor(call, 2),
                              countsFromLayer(call) ? layerIndex : mlir::Value(),
                              b.getI64IntegerAttr(intArg(call, 1))));
}

Importer::Results Importer::mix(const OpCall &call) {
  return handle(MixOp::create(b, at(call), tensor(call, 0), tensor(call, 1)));
}

Importer::Results Importer::positionScale(const OpCall &call) {
  PositionScaleSettings settings = positionScaleOf(call);
  return handle(PositionScaleOp::create(b, at(call), rows(1), batch,
                                        b.getF64FloatAttr(settings.scale),
                                        b.getI64IntegerAttr(settings.period),
                                        b.getI64IntegerAttr(settings.shift)));
}

} // namespace llmc::frontend
