//===- EntryRules.cpp - groups of tokens kept as one entry ----------------===//
#include "ImporterRules.h"

#include "llmc/Frontend/EntrySettings.h"

namespace llmc::frontend {

Importer::Results Importer::poolTokens(const OpCall &call) {
  bool overlap = poolOverlaps(call);
  const WeightRef &ref = weightArg(call, 2);
  mlir::Value x = tensor(call, 0), gates = tensor(call, 1), bias = paramOf(call, ref);
  int64_t width = lastDim(x), group = cast<WeightType>(bias.getType()).getShape().front();
  auto type = CacheType::get(&context, CacheKind::Conv,
                             {2 * width, (overlap ? 2 : 1) * group - 1}, b.getF32Type());
  mlir::Value state = stateBefore(call, type);
  return handle(PoolTokensOp::create(b, at(call, &ref), rows(overlap ? width / 2 : width), type, x,
                                     gates, bias, state, batch,
                                     overlap ? b.getUnitAttr() : UnitAttr())
                    .getResult());
}

mlir::Value Importer::appendEntries(const OpCall &call, const EntrySettings &settings,
                                    int64_t valueWidth) {
  mlir::Value x = tensor(call, 2);
  auto type = CacheType::get(&context, CacheKind::Entries,
                             {settings.group, lastDim(x), valueWidth}, b.getF32Type());
  RopeAttr rope = settings.rope ? ropeAttr(call, *settings.rope) : RopeAttr();
  if (rope && rope.hasLong())
    opError(call, "entries turn once, and a rope record whose frequencies depend on how long the "
                  "sequence becomes cannot turn them");
  return EntryAppendOp::create(b, at(call), type, x, stateBefore(call, type), batch, rope,
                               b.getI64IntegerAttr(settings.first));
}

Importer::Results Importer::selectEntries(const OpCall &call) {
  EntrySelection settings = entrySelection(call);
  mlir::Value cache = appendEntries(call, settings.entries, 0);
  auto type = RankedTensorType::get({ShapedType::kDynamic, settings.top}, b.getI32Type());
  return handle(SelectEntriesOp::create(b, at(call), type, tensor(call, 0), tensor(call, 1), cache,
                                        batch, b.getI64IntegerAttr(settings.top)));
}

Importer::Results Importer::jointAttend(const OpCall &call) {
  JointSettings settings = jointSettings(call);
  mlir::Value q = tensor(call, 0), k = tensor(call, 1);
  auto heads = cast<RankedTensorType>(q.getType()).getShape();
  auto keys = cast<RankedTensorType>(k.getType()).getShape();
  if (heads.size() != 3 || keys.size() != 3)
    opError(call, "queries and keys need heads: use split_heads first");
  Location loc = at(call);
  auto type = CacheType::get(&context, CacheKind::Latent, {keys[1], keys[2], settings.values},
                             b.getF32Type());
  mlir::Value cache = stateBefore(call, type);
  cache = KVAppendOp::create(b, loc, type, k, mlir::Value(), cache, batch);
  mlir::Value entries = appendEntries(call, settings.entries, settings.values), sinks, selection;
  if (settings.sinks)
    sinks = paramOf(call, *settings.sinks);
  if (settings.selection)
    selection = values[settings.selection->id];
  return handle(JointAttentionOp::create(
      b, loc, rows({heads[1], settings.values}), q, cache, entries, batch, sinks, selection,
      b.getF64FloatAttr(settings.scale),
      settings.window ? b.getI64IntegerAttr(settings.window) : IntegerAttr()));
}

Importer::Results Importer::sinkhorn(const OpCall &call) {
  SinkhornSettings settings = sinkhornSettings(call);
  mlir::Value x = tensor(call, 0);
  return handle(SinkhornOp::create(b, at(call), x.getType(), x,
                                   b.getI64IntegerAttr(settings.steps),
                                   b.getF64FloatAttr(settings.epsilon)));
}

} // namespace llmc::frontend
