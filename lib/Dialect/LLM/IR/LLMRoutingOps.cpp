//===- LLMRoutingOps.cpp - routers and experts ----------------------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallString.h"

using namespace mlir;
using namespace llmc::llm;

/// Rows [tokens of `like`, widths…] of its element type.
static RankedTensorType rowsLike(Value like, ArrayRef<int64_t> widths) {
  auto type = cast<RankedTensorType>(like.getType());
  SmallVector<int64_t> shape{type.getDimSize(0)};
  shape.append(widths.begin(), widths.end());
  return RankedTensorType::get(shape, type.getElementType());
}

static ArrayRef<int64_t> shapeOf(Value value) {
  if (auto weight = dyn_cast<WeightType>(value.getType()))
    return weight.getShape();
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// `what` is [experts], the last dimension of the logits.
static LogicalResult verifyPerExpert(RouteOp op, StringRef what, Value weight) {
  return verifyPerChannel(op, {what, weight}, {"logits", op.getLogits()});
}

/// Dimension `i` of `a` equals dimension `i` of `b`, the first one as rows.
static LogicalResult verifySameLeading(Operation *op, NamedShape a, NamedShape b, unsigned count) {
  if (failed(verifySameRows(op, a, b)))
    return failure();
  for (unsigned i = 1; i < count; ++i)
    if (failed(verifySameDim(op, a, i, b, i)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// route
//===----------------------------------------------------------------------===//

void RouteOp::build(OpBuilder &builder, OperationState &state, RouteScore score, Value logits,
                    int64_t top) {
  RankedTensorType weights = rowsLike(logits, top);
  auto choice = RankedTensorType::get(weights.getShape(), builder.getI32Type());
  MLIRContext *context = builder.getContext();
  build(builder, state, choice, weights, RouteScoreAttr::get(context, score), logits,
        /*bias=*/Value(), /*table=*/Value(), /*tokens=*/Value(), /*expert_scale=*/Value(),
        /*groups=*/IntegerAttr(), /*keep=*/IntegerAttr(), /*group_score=*/GroupScoreAttr(),
        builder.getI64IntegerAttr(top),
        RouteNormaliseAttr::get(context, RouteNormalise::None), /*margin=*/FloatAttr(),
        builder.getF64FloatAttr(1.0));
}

/// route_c8
static LogicalResult verifyMargin(RouteOp op) {
  if ((op.getNormalise() == RouteNormalise::Margin) != op.getMargin().has_value())
    return op.emitOpError("needs 'normalise margin' and what is within it together, or neither");
  if (!op.getMargin())
    return success();
  if (failed(verifyPositive(op, "margin", *op.getMargin())))
    return failure();
  if (op.getBias() || op.getGroups() || op.getTable())
    return op.emitOpError("has a margin, which is of the scores that the choice is made by: it "
                          "comes without bias, groups and table");
  return success();
}

/// route_c4
static LogicalResult verifyGroups(RouteOp op, int64_t experts) {
  bool given = op.getGroups().has_value();
  if (given != op.getKeep().has_value() || given != op.getGroupScore().has_value())
    return op.emitOpError("needs groups, keep and the group's score together, or none of them");
  if (!given)
    return success();
  int64_t groups = *op.getGroups(), keep = *op.getKeep(), top = op.getTop();
  if (groups < 1 || experts % groups != 0)
    return op.emitOpError() << "groups (" << groups << ") must divide the " << experts
                            << " experts";
  if (keep < 1 || keep > groups)
    return op.emitOpError() << "keep (" << keep << ") must be from 1 to the " << groups
                            << " groups";
  int64_t size = experts / groups;
  if (top > keep * size)
    return op.emitOpError() << "top (" << top << ") must not exceed the " << keep * size
                            << " experts of the " << keep << " groups that are kept";
  if (*op.getGroupScore() == GroupScore::Top2 && size < 2)
    return op.emitOpError() << "the score top2 needs two experts a group, there is " << size;
  return success();
}

LogicalResult RouteOp::verify() {
  NamedShape logits("logits", getLogits()), choice("choice", getChoice()),
      weights("weights", getWeights());
  // route_c1
  if (failed(verifyRank(*this, logits, 2)) || failed(verifyRank(*this, weights, 2)) ||
      failed(verifySameRows(*this, weights, logits)) ||
      failed(verifySameLeading(*this, choice, weights, 2)))
    return failure();
  int64_t experts = logits.shape[1], top = getTop();
  if (ShapedType::isDynamic(experts))
    return emitOpError("logits dimension 1 (?) must be the number of experts");
  if (weights.shape[1] != top)
    return emitOpError() << "weights dimension 1 (" << weights.shape[1] << ") must be top (" << top
                         << ")";
  // route_c2
  if (top < 1 || top > experts)
    return emitOpError() << "top (" << top << ") must be from 1 to the " << experts << " experts";
  // route_c3
  if (getBias() && failed(verifyPerExpert(*this, "bias", getBias())))
    return failure();
  if (failed(verifyGroups(*this, experts)) || failed(verifyMargin(*this)))
    return failure();
  // route_c5
  if (!getScale().isFinite()) {
    SmallString<16> text;
    getScale().toString(text);
    return emitOpError() << "scale must be finite but is " << text;
  }
  // route_c6
  if (getExpertScale() && failed(verifyPerExpert(*this, "expert scale", getExpertScale())))
    return failure();
  // route_c7
  if (static_cast<bool>(getTable()) != static_cast<bool>(getTokens()))
    return emitOpError("needs a table and the tokens together, or neither");
  if (!getTable())
    return success();
  if (getBias() || getGroups())
    return emitOpError("has a table, which leaves nothing to choose by bias or groups");
  NamedShape table("table", getTable());
  if (failed(verifySameRows(*this, {"tokens", getTokens()}, logits)))
    return failure();
  return success(succeeded(verifyRank(*this, table, 2)) &&
                 succeeded(verifySameDim(*this, table, 1, weights, 1)));
}

//===----------------------------------------------------------------------===//
// expert_linear
//===----------------------------------------------------------------------===//

void ExpertLinearOp::build(OpBuilder &builder, OperationState &state, Value input, Value choice,
                           Value weight, Value bias) {
  build(builder, state, rowsLike(input, {shapeOf(choice)[1], shapeOf(weight)[1]}), input, choice,
        weight, bias);
}

LogicalResult ExpertLinearOp::verify() {
  NamedShape input("input", getInput()), choice("choice", getChoice()),
      weight("weight", getWeight()), result("result", getResult());
  // expert_linear_c1
  unsigned rank = input.shape.size();
  if (rank != 2 && rank != 3)
    return emitOpError() << "input must have rank 2 or 3 but has rank " << rank;
  if (failed(verifySameLeading(*this, input, choice, rank - 1)))
    return failure();
  // expert_linear_c2
  if (failed(verifyRank(*this, weight, 3)) ||
      failed(verifySameDim(*this, weight, 2, input, rank - 1)))
    return failure();
  // expert_linear_c3
  if (failed(verifyRank(*this, result, 3)) ||
      failed(verifySameLeading(*this, result, choice, 2)) ||
      failed(verifySameDim(*this, result, 2, weight, 1)))
    return failure();
  // expert_linear_c4
  if (!getBias())
    return success();
  NamedShape bias("bias", getBias());
  return success(succeeded(verifyRank(*this, bias, 2)) &&
                 succeeded(verifySameDim(*this, bias, 0, weight, 0)) &&
                 succeeded(verifySameDim(*this, bias, 1, weight, 1)));
}

//===----------------------------------------------------------------------===//
// expert_sum, expert_spread
//===----------------------------------------------------------------------===//

void ExpertSumOp::build(OpBuilder &builder, OperationState &state, Value input, Value weights) {
  build(builder, state, rowsLike(input, shapeOf(input).back()), input, weights);
}

LogicalResult ExpertSumOp::verify() {
  NamedShape input("input", getInput()), result("result", getResult());
  // expert_sum_c1
  if (failed(verifyRank(*this, input, 3)) || failed(verifyRank(*this, result, 2)) ||
      failed(verifySameRows(*this, result, input)) ||
      failed(verifySameDim(*this, result, 1, input, 2)))
    return failure();
  // expert_sum_c2
  if (!getWeights())
    return success();
  NamedShape weights("weights", getWeights());
  return success(succeeded(verifyRank(*this, weights, 2)) &&
                 succeeded(verifySameLeading(*this, weights, input, 2)));
}

void ExpertSpreadOp::build(OpBuilder &builder, OperationState &state, Value input, Value weights) {
  build(builder, state, rowsLike(input, {shapeOf(weights)[1], shapeOf(input).back()}), input,
        weights);
}

LogicalResult ExpertSpreadOp::verify() {
  NamedShape input("input", getInput()), weights("weights", getWeights()),
      result("result", getResult());
  // expert_spread_c1
  if (failed(verifyRank(*this, input, 2)) || failed(verifyRank(*this, weights, 2)) ||
      failed(verifySameRows(*this, weights, input)))
    return failure();
  // expert_spread_c2
  return success(succeeded(verifyRank(*this, result, 3)) &&
                 succeeded(verifySameLeading(*this, result, weights, 2)) &&
                 succeeded(verifySameDim(*this, result, 2, input, 1)));
}
