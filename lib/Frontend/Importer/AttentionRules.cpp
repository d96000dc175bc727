//===- AttentionRules.cpp - positions, attention and its state ------------===//
#include "ImporterRules.h"

#include "llmc/Frontend/AttentionSettings.h"

namespace llmc::frontend {

Importer::Results Importer::rotary(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  const RopeRecord &rope = model.ropes[ropeArg(call, 1).index];
  if (std::string fault = ropeFault(rope); !fault.empty())
    opError(call, fault + "; see rope_parameters (or rope_scaling) in the config");
  std::vector<float> frequencies = computeInvFreq(rope), longer = computeLongInvFreq(rope);
  auto attr = RopeAttr::get(&context, ropeTypeName(rope.type), rope.theta, rope.dim,
                            rope.interleaved ? RopePairing::Interleaved : RopePairing::Halves,
                            rope.attentionFactor, b.getDenseF32ArrayAttr(frequencies),
                            b.getDenseF32ArrayAttr(longer),
                            longer.empty() ? 0 : rope.originalMaxPositions);
  return handle(RotaryOp::create(b, at(call), x.getType(), x, batch, attr,
                                 b.getI64IntegerAttr(rotaryStart(call))));
}

Importer::Results Importer::attend(const OpCall &call) {
  auto shapeOf = [&](mlir::Value x) { return cast<RankedTensorType>(x.getType()).getShape(); };
  auto heads = [&](size_t index) {
    mlir::Value x = tensor(call, index);
    if (shapeOf(x).size() != 3)
      opError(call, "queries, keys and values need heads: use split_heads first");
    return x;
  };
  mlir::Value q = heads(0), k = heads(1);
  AttentionSettings settings = attentionSettings(call, shapeOf(q)[1]);
  mlir::Value v = settings.isLatent ? mlir::Value() : heads(2);
  int64_t valueWidth = v ? shapeOf(v)[2] : settings.values;
  auto type = CacheType::get(&context, settings.isLatent ? CacheKind::Latent : CacheKind::Paged,
                             {shapeOf(k)[1], shapeOf(k)[2], valueWidth}, b.getF32Type());
  Location loc = at(call);
  std::string symbol = stateSymbol(type).str();
  mlir::Value cache = StateOp::create(b, loc, type, symbol, layerIndex);
  cache = KVAppendOp::create(b, loc, type, k, v, cache, batch);
  auto positions = [&](int64_t count) {
    return count ? b.getI64IntegerAttr(count) : IntegerAttr();
  };
  mlir::Value sinks, selection;
  if (settings.sinks)
    sinks = paramOf(call, *settings.sinks);
  if (settings.selection)
    selection = values[settings.selection->id];
  return handle(PagedAttentionOp::create(
      b, loc, rows({shapeOf(q)[1], valueWidth}), q, cache, batch, sinks, selection,
      b.getF64FloatAttr(settings.scale), positions(settings.window), positions(settings.chunk),
      settings.softcap ? b.getF64FloatAttr(settings.softcap) : FloatAttr(),
      settings.slopes.empty() ? DenseF32ArrayAttr() : b.getDenseF32ArrayAttr(settings.slopes)));
}

Importer::Results Importer::selectPositions(const OpCall &call) {
  mlir::Value q = tensor(call, 0), weights = tensor(call, 1), k = tensor(call, 2);
  auto shape = cast<RankedTensorType>(k.getType()).getShape();
  if (shape.size() != 3)
    opError(call, "keys need heads: use split_heads first");
  auto type = CacheType::get(&context, CacheKind::Latent, {shape[1], shape[2], 0}, b.getF32Type());
  Location loc = at(call);
  std::string symbol = stateSymbol(type).str();
  mlir::Value cache = StateOp::create(b, loc, type, symbol, layerIndex);
  cache = KVAppendOp::create(b, loc, type, k, mlir::Value(), cache, batch);
  return handle(SelectPositionsOp::create(b, loc, q, weights, cache, batch,
                                          positionsToSelect(call)));
}

Importer::Results Importer::noPositions(const OpCall &call) {
  auto type = RankedTensorType::get({ShapedType::kDynamic, emptySelection(call)}, b.getI32Type());
  return handle(NoPositionsOp::create(b, at(call), type, batch));
}

Importer::Results Importer::headLinear(const OpCall &call) {
  const WeightRef &ref = weightArg(call, 1);
  return handle(HeadLinearOp::create(b, at(call, &ref), tensor(call, 0), paramOf(call, ref)));
}

} // namespace llmc::frontend
