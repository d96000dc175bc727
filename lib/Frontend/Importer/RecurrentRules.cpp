//===- RecurrentRules.cpp - mixers with a state per sequence --------------===//
#include "ImporterRules.h"

#include "llmc/Frontend/RecurrentSettings.h"

namespace llmc::frontend {

mlir::Value Importer::stateBefore(const OpCall &call, CacheType type) {
  if (!layerIndex)
    opError(call, "keeps a state, which only layers have");
  std::string symbol = stateSymbol(type).str();
  return StateOp::create(b, at(call), type, symbol, layerIndex);
}

Importer::Results Importer::causalConv(const OpCall &call) {
  std::optional<uint32_t> biasFamily = convBias(call);
  const WeightRef &ref = weightArg(call, 1);
  mlir::Value x = tensor(call, 0), weight = paramOf(call, ref), bias;
  if (biasFamily)
    bias = param(call, *biasFamily);
  int64_t taps = cast<WeightType>(weight.getType()).getShape().back();
  if (taps < 2)
    opError(call, "the weight has one tap: that is no convolution");
  auto type = CacheType::get(&context, CacheKind::Conv, {lastDim(x), taps - 1}, b.getF32Type());
  mlir::Value state = stateBefore(call, type);
  return handle(
      CausalConvOp::create(b, at(call, &ref), x, weight, bias, state, batch).getResult());
}

Importer::Results Importer::tokenShift(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  auto type = CacheType::get(&context, CacheKind::Conv, {lastDim(x), 1}, b.getF32Type());
  return handle(
      TokenShiftOp::create(b, at(call), x, stateBefore(call, type), batch).getResult());
}

Importer::Results Importer::linearAttention(const OpCall &call) {
  LinearAttentionSettings settings = linearAttentionSettings(call);
  mlir::Value q = tensor(call, 0), k = tensor(call, 1), v = tensor(call, 2),
              decay = tensor(call, 3), beta;
  auto optional = [&](const std::optional<Handle> &handle) {
    return handle ? values[handle->id] : mlir::Value();
  };
  beta = optional(settings.beta);
  ArrayRef<int64_t> keys = cast<RankedTensorType>(k.getType()).getShape(),
                    rows = cast<RankedTensorType>(v.getType()).getShape();
  if (keys.size() != 3 || rows.size() != 3)
    opError(call, "queries, keys and values need heads: use split_heads first");
  auto type = CacheType::get(&context, CacheKind::Recurrent, {rows[1], keys[2], rows[2]},
                             b.getF32Type());
  mlir::Value state = stateBefore(call, type);
  return handle(LinearAttentionOp::create(b, at(call), q, k, v, decay, beta, state, batch,
                                          settings.delta, settings.scale,
                                          optional(settings.rankOneA),
                                          optional(settings.rankOneB), settings.before)
                    .getResult());
}

} // namespace llmc::frontend
