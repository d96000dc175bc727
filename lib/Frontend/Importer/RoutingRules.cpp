//===- RoutingRules.cpp - routers and experts -----------------------------===//
#include "ImporterRules.h"

#include "llmc/Frontend/RouteSettings.h"

namespace llmc::frontend {

Importer::Results Importer::route(const OpCall &call) {
  mlir::Value logits = tensor(call, 0);
  RouteSettings settings = routeSettings(call, lastDim(logits));
  auto weightOf = [&](const WeightRef *ref) { return ref ? paramOf(call, *ref) : mlir::Value(); };
  mlir::Value tokens;
  if (settings.tokens)
    tokens = values[settings.tokens->id];
  auto count = [&](int64_t number) {
    return number ? b.getI64IntegerAttr(number) : IntegerAttr();
  };
  GroupScoreAttr groupScore;
  if (settings.groups)
    groupScore = GroupScoreAttr::get(&context, *symbolizeGroupScore(settings.groupScore));
  auto choice =
      RankedTensorType::get({ShapedType::kDynamic, settings.top}, b.getI32Type());
  auto op = RouteOp::create(
      b, at(call), choice, rows(settings.top),
      RouteScoreAttr::get(&context, *symbolizeRouteScore(settings.score)), logits,
      weightOf(settings.bias), weightOf(settings.table), tokens, weightOf(settings.expertScale),
      count(settings.groups), count(settings.keep), groupScore, count(settings.top),
      RouteNormaliseAttr::get(&context, *symbolizeRouteNormalise(settings.normalise)),
      settings.margin ? b.getF64FloatAttr(settings.margin) : FloatAttr(),
      b.getF64FloatAttr(settings.scale));
  Results results = handle(op.getChoice());
  results.push_back(handle(op.getWeights()).front());
  return results;
}

Importer::Results Importer::expertLinear(const OpCall &call) {
  Results results;
  mlir::Value x = tensor(call, 0), choice = tensor(call, 1);
  for (size_t i = 2; i < call.args.size(); ++i) {
    const WeightRef &ref = weightArg(call, i);
    mlir::Value weight = paramOf(call, ref), bias;
    if (ref.biasFamily >= 0)
      bias = param(call, uint32_t(ref.biasFamily));
    results.push_back(
        handle(ExpertLinearOp::create(b, at(call, &ref), x, choice, weight, bias)).front());
  }
  return results;
}

Importer::Results Importer::expertSum(const OpCall &call) {
  mlir::Value weights = call.args.size() > 1 ? tensor(call, 1) : mlir::Value();
  return handle(ExpertSumOp::create(b, at(call), tensor(call, 0), weights));
}

Importer::Results Importer::expertSpread(const OpCall &call) {
  return handle(ExpertSpreadOp::create(b, at(call), tensor(call, 0), tensor(call, 1)));
}

} // namespace llmc::frontend
