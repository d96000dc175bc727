//===- AttentionRules.cpp - positions, attention and its state ------------===//
#include "ImporterRules.h"

#include "llmc/Frontend/AttentionSettings.h"
#include "llmc/Frontend/EntrySettings.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace llmc::frontend {

RopeAttr Importer::ropeAttr(const OpCall &call, RopeRef ref, bool inverse) {
  const RopeRecord &rope = model.ropes[ref.index];
  if (std::string fault = ropeFault(rope); !fault.empty())
    opError(call, fault + "; see rope_parameters (or rope_scaling) in the config");
  std::vector<float> frequencies = computeInvFreq(rope), longer = computeLongInvFreq(rope);
  if (inverse)
    for (std::vector<float> *list : {&frequencies, &longer})
      for (float &frequency : *list)
        frequency = -frequency;
  return RopeAttr::get(&context, ropeTypeName(rope.type), rope.theta, rope.dim,
                       rope.interleaved ? RopePairing::Interleaved : RopePairing::Halves,
                       rope.attentionFactor, b.getDenseF32ArrayAttr(frequencies),
                       b.getDenseF32ArrayAttr(longer),
                       longer.empty() ? 0 : rope.originalMaxPositions);
}

Importer::Results Importer::rotary(const OpCall &call) {
  mlir::Value x = tensor(call, 0);
  RopeAttr rope = ropeAttr(call, ropeArg(call, 1), isInverse(call));
  return handle(RotaryOp::create(b, at(call), x.getType(), x, batch, rope,
                                 b.getI64IntegerAttr(rotaryStart(call))));
}

/// The state of an earlier layer, whose kind was built before.
const Importer::State &Importer::sharedState(const OpCall &call, int64_t layer, CacheKind kind,
                                             int64_t keyWidth) {
  if (layer >= sampleLayer)
    opError(call, "'from' is layer " + std::to_string(layer) + ", which is none before layer " +
                      std::to_string(sampleLayer));
  const State *found = nullptr;
  for (const State &state : states) {
    ArrayRef<int64_t> shape = state.type.getShape();
    bool isIndex = kind == CacheKind::Latent && shape[2] == 0;
    if (!state.layers.count(layer) || state.type.getKind() != kind || isIndex ||
        shape[1] != keyWidth)
      continue;
    if (found)
      opError(call, "layer " + std::to_string(layer) + " keeps keys of width " +
                        std::to_string(keyWidth) + " twice; 'from' names one state");
    found = &state;
  }
  if (!found)
    opError(call, "layer " + std::to_string(layer) + " keeps no keys of width " +
                      std::to_string(keyWidth) + " that could be read");
  return *found;
}

Importer::Results Importer::attend(const OpCall &call) {
  auto shapeOf = [&](mlir::Value x) { return cast<RankedTensorType>(x.getType()).getShape(); };
  auto heads = [&](size_t index) {
    mlir::Value x = tensor(call, index);
    if (shapeOf(x).size() != 3)
      opError(call, "queries, keys and values need heads: use split_heads first");
    return x;
  };
  mlir::Value q = heads(0);
  AttentionSettings settings = attentionSettings(call, shapeOf(q)[1]);
  auto kind = settings.isLatent ? CacheKind::Latent : CacheKind::Paged;
  Location loc = at(call);
  mlir::Value cache;
  int64_t valueWidth = settings.values;
  if (settings.from >= 0) {
    const State &shared = sharedState(call, settings.from, kind, shapeOf(q)[2]);
    mlir::Value layer = arith::ConstantIndexOp::create(b, loc, settings.from);
    cache = StateOp::create(b, loc, shared.type, shared.symbol, layer);
    if (!settings.isLatent)
      valueWidth = shared.type.getShape()[2];
  } else {
    mlir::Value k = heads(1), v = settings.isLatent ? mlir::Value() : heads(2);
    if (v)
      valueWidth = shapeOf(v)[2];
    auto type = CacheType::get(&context, kind, {shapeOf(k)[1], shapeOf(k)[2], valueWidth},
                               b.getF32Type());
    std::string symbol = stateSymbol(type).str();
    cache = StateOp::create(b, loc, type, symbol, layerIndex);
    cache = KVAppendOp::create(b, loc, type, k, v, cache, batch);
  }
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
