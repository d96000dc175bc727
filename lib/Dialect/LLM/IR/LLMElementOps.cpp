//===- LLMElementOps.cpp - arithmetic of rows, heads and streams ----------===//
//
// offset_c1, clamp_c1 and softmax_c1 are the ops' SameOperandsAndResultType traits,
// and so is the first half of put_c1, an AllTypesMatch.
//
//===----------------------------------------------------------------------===//
#include "VerifyUtils.h"
#include "llmc/Dialect/LLM/IR/Elements.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, dim] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (ShapedType::isDynamic(dim) ? "?" : std::to_string(dim));
  return text + "]";
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `value` with other dimensions.
static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, typeOf(value).getElementType());
}

/// `value` with another last dimension.
static RankedTensorType withWidth(Value value, int64_t width) {
  SmallVector<int64_t> shape(typeOf(value).getShape());
  if (!shape.empty())
    shape.back() = width;
  return withShape(value, shape);
}

/// The result has these dimensions beside the rows, and the element type of `like`.
static LogicalResult verifyResult(Operation *op, Value like, ArrayRef<int64_t> expected) {
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  ArrayRef<int64_t> shape = result.getShape();
  if (result.getElementType() != typeOf(like).getElementType())
    return op->emitOpError() << "result has elements of type " << result.getElementType()
                             << ", the operand of type " << typeOf(like).getElementType();
  if (shape.size() != expected.size() || shape.drop_front() != expected.drop_front())
    return op->emitOpError() << "result must be " << shapeText(expected) << " but is "
                             << shapeText(shape);
  return verifySameRows(op, {"result", shape}, {"operand", expected});
}

/// Rank 2 or 3 and no dynamic dimension beside the rows.
static LogicalResult verifyRowsOf(Operation *op, StringRef name, ArrayRef<int64_t> shape) {
  if (shape.size() != 2 && shape.size() != 3)
    return op->emitOpError() << name << " must have rank 2 or 3 but has rank " << shape.size();
  for (unsigned i = 1; i < shape.size(); ++i)
    if (ShapedType::isDynamic(shape[i]) || shape[i] < 1)
      return op->emitOpError() << name << " dimension " << i << " must be static and positive";
  return success();
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

SmallVector<int64_t> BinaryOp::broadcast(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  SmallVector<int64_t> a(lhs), b(rhs);
  // One element a head.
  for (SmallVector<int64_t> *shape : {&a, &b})
    if (shape->size() == 2 && std::max(a.size(), b.size()) == 3)
      shape->push_back(1);
  if (a.size() != b.size() || a.empty())
    return {};
  SmallVector<int64_t> shape{ShapedType::isDynamic(a[0]) ? b[0] : a[0]};
  for (unsigned i = 1; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
      return {};
    shape.push_back(std::max(a[i], b[i]));
  }
  return shape;
}

void BinaryOp::build(OpBuilder &builder, OperationState &state, BinaryFunction function, Value lhs,
                     Value rhs) {
  SmallVector<int64_t> shape = broadcast(typeOf(lhs).getShape(), typeOf(rhs).getShape());
  build(builder, state, withShape(lhs, shape), function, lhs, rhs);
}

LogicalResult BinaryOp::verify() {
  ArrayRef<int64_t> lhs = typeOf(getLhs()).getShape(), rhs = typeOf(getRhs()).getShape();
  // binary_c1
  if (failed(verifyRowsOf(*this, "lhs", lhs)) || failed(verifyRowsOf(*this, "rhs", rhs)))
    return failure();
  // binary_c2
  if (failed(verifySameRows(*this, {"lhs", lhs}, {"rhs", rhs})))
    return failure();
  SmallVector<int64_t> shape = broadcast(lhs, rhs);
  if (shape.empty())
    return emitOpError() << "lhs " << shapeText(lhs) << " and rhs " << shapeText(rhs)
                         << " do not fit: dimensions must be equal or 1, and a value of rank 2 "
                            "beside one of rank 3 has one element a head";
  // binary_c3
  if (typeOf(getLhs()).getElementType() != typeOf(getRhs()).getElementType())
    return emitOpError() << "lhs has elements of type " << typeOf(getLhs()).getElementType()
                         << ", rhs of type " << typeOf(getRhs()).getElementType();
  return verifyResult(*this, getLhs(), shape);
}

//===----------------------------------------------------------------------===//
// weight_rows
//===----------------------------------------------------------------------===//

void WeightRowsOp::build(OpBuilder &builder, OperationState &state, Value weight, Value batch) {
  SmallVector<int64_t> shape{ShapedType::kDynamic};
  llvm::append_range(shape, cast<WeightType>(weight.getType()).getShape());
  build(builder, state, RankedTensorType::get(shape, builder.getF32Type()), weight, batch);
}

LogicalResult WeightRowsOp::verify() {
  ArrayRef<int64_t> weight = cast<WeightType>(getWeight().getType()).getShape();
  // weight_rows_c1
  if (weight.size() != 1 && weight.size() != 2)
    return emitOpError() << "weight must have rank 1 or 2 but has rank " << weight.size();
  // weight_rows_c2
  ArrayRef<int64_t> result = typeOf(getResult()).getShape();
  if (result.size() == weight.size() + 1 && result.drop_front() == weight)
    return success();
  return emitOpError() << "result must be [?, ...] of the weight " << shapeText(weight)
                       << " but is " << shapeText(result);
}

Value llmc::llm::weightRowsBehind(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto fusion = dyn_cast_or_null<FusionOp>(argument.getOwner()->getParentOp());
      if (!fusion || argument.getArgNumber() >= fusion.getInputs().size())
        return {};
      value = fusion.getInputs()[argument.getArgNumber()];
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (isa<WeightRowsOp>(op))
      return value;
    if (!isa<SplitHeadsOp, MergeHeadsOp>(op))
      return {};
    value = op->getOperand(0);
  }
}

Value llmc::llm::weightBehind(Value value) {
  Value rows = weightRowsBehind(value);
  return rows ? rows.getDefiningOp<WeightRowsOp>().getWeight() : Value();
}

bool llmc::llm::fitsAnyRows(OpOperand &operand) {
  auto binary = dyn_cast<BinaryOp>(operand.getOwner());
  return binary && weightBehind(operand.get()) &&
         !weightBehind(binary->getOperand(1 - operand.getOperandNumber()));
}

//===----------------------------------------------------------------------===//
// offset and clamp
//===----------------------------------------------------------------------===//

static LogicalResult verifyFinite(Operation *op, StringRef name, const APFloat &value) {
  if (value.isFinite())
    return success();
  SmallString<16> text;
  value.toString(text);
  return op->emitOpError() << name << " must be finite but is " << text;
}

void OffsetOp::build(OpBuilder &builder, OperationState &state, Value input, double term) {
  build(builder, state, input.getType(), input, builder.getF64FloatAttr(term));
}

// offset_c2
LogicalResult OffsetOp::verify() { return verifyFinite(*this, "term", getTerm()); }

// clamp_c2
LogicalResult ClampOp::verify() {
  std::optional<APFloat> low = getLow(), high = getHigh();
  if (!low && !high)
    return emitOpError("needs a bound, min or max");
  for (auto [name, bound] : {std::pair("min", low), std::pair("max", high)})
    if (bound && failed(verifyFinite(*this, name, *bound)))
      return failure();
  if (low && high && low->convertToDouble() > high->convertToDouble())
    return emitOpError() << "min (" << low->convertToDouble() << ") must be at most max ("
                         << high->convertToDouble() << ")";
  return success();
}

//===----------------------------------------------------------------------===//
// row_stat
//===----------------------------------------------------------------------===//

void RowStatOp::build(OpBuilder &builder, OperationState &state, RowStatistic statistic,
                      Value input) {
  build(builder, state, withWidth(input, 1), statistic, input);
}

// row_stat_c1
LogicalResult RowStatOp::verify() {
  if (failed(verifyRowsOf(*this, "input", typeOf(getInput()).getShape())))
    return failure();
  return verifyResult(*this, getInput(), withWidth(getInput(), 1).getShape());
}

//===----------------------------------------------------------------------===//
// slice, concat and transpose
//===----------------------------------------------------------------------===//

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input, int64_t from,
                    int64_t size) {
  build(builder, state, withWidth(input, size), input, builder.getI64IntegerAttr(from),
        builder.getI64IntegerAttr(size));
}

LogicalResult SliceOp::verify() {
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  if (failed(verifyRowsOf(*this, "input", shape)))
    return failure();
  // slice_c2
  int64_t from = getFrom(), size = getSize(), width = shape.back();
  if (from < 0 || size < 1 || from > width || size > width - from)
    return emitOpError() << "elements from " << from << " on, " << size
                         << " of them, do not lie in the input's last dimension (" << width << ")";
  // slice_c1
  return verifyResult(*this, getInput(), withWidth(getInput(), size).getShape());
}

void ConcatOp::build(OpBuilder &builder, OperationState &state, ValueRange inputs) {
  int64_t width = 0;
  for (Value input : inputs)
    width += typeOf(input).getShape().back();
  build(builder, state, withWidth(inputs.front(), width), inputs);
}

LogicalResult ConcatOp::verify() {
  // concat_c1
  if (getInputs().empty())
    return emitOpError("needs an input");
  ArrayRef<int64_t> first = typeOf(getInputs().front()).getShape();
  int64_t width = 0;
  for (auto [i, input] : llvm::enumerate(getInputs())) {
    ArrayRef<int64_t> shape = typeOf(input).getShape();
    std::string name = "input " + std::to_string(i);
    if (failed(verifyRowsOf(*this, name, shape)) ||
        failed(verifySameRows(*this, {"input 0", first}, {name, shape})))
      return failure();
    if (shape.size() != first.size() ||
        shape.drop_front().drop_back() != first.drop_front().drop_back() ||
        typeOf(input).getElementType() != typeOf(getInputs().front()).getElementType())
      return emitOpError() << "input 0 " << typeOf(getInputs().front()) << " and " << name << " "
                           << typeOf(input) << " must agree in all but the last dimension";
    if (llvm::AddOverflow(width, shape.back(), width))
      return emitOpError("is wider than a number of 64 bits holds");
  }
  // concat_c2
  return verifyResult(*this, getInputs().front(),
                      withWidth(getInputs().front(), width).getShape());
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input) {
  ArrayRef<int64_t> shape = typeOf(input).getShape();
  build(builder, state, withShape(input, {shape[0], shape[2], shape[1]}), input);
}

LogicalResult TransposeOp::verify() {
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  // transpose_c1
  if (failed(verifyRank(*this, {"input", getInput()}, 3)) ||
      failed(verifyRowsOf(*this, "input", shape)))
    return failure();
  // transpose_c2
  return verifyResult(*this, getInput(), {shape[0], shape[2], shape[1]});
}

//===----------------------------------------------------------------------===//
// take and put
//===----------------------------------------------------------------------===//

/// A constant number is one of the heads; where the layer is added, it depends on who calls.
static LogicalResult verifyNumber(Operation *op, Value layer, int64_t number, int64_t heads) {
  if (layer || (number >= 0 && number < heads))
    return success();
  return op->emitOpError() << "number " << number << " is none of the input's, of which there are "
                           << heads;
}

void TakeOp::build(OpBuilder &builder, OperationState &state, Value input, Value layer,
                   int64_t number) {
  ArrayRef<int64_t> shape = typeOf(input).getShape();
  build(builder, state, withShape(input, {shape[0], shape[2]}), input, layer,
        builder.getI64IntegerAttr(number));
}

LogicalResult TakeOp::verify() {
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  // take_c1
  if (failed(verifyRank(*this, {"input", getInput()}, 3)) ||
      failed(verifyRowsOf(*this, "input", shape)))
    return failure();
  // take_c2
  if (failed(verifyResult(*this, getInput(), {shape[0], shape[2]})))
    return failure();
  // take_c3
  return verifyNumber(*this, getLayer(), getNumber(), shape[1]);
}

LogicalResult PutOp::verify() {
  NamedShape input("input", getInput()), row("row", getRow());
  // put_c1
  if (failed(verifyRank(*this, input, 3)) || failed(verifyRowsOf(*this, "input", input.shape)))
    return failure();
  // put_c2
  if (failed(verifyRank(*this, row, 2)) || failed(verifySameRows(*this, row, input)) ||
      failed(verifySameDim(*this, row, 1, input, 2)))
    return failure();
  if (typeOf(getRow()).getElementType() != typeOf(getInput()).getElementType())
    return emitOpError() << "row has elements of type " << typeOf(getRow()).getElementType()
                         << ", input of type " << typeOf(getInput()).getElementType();
  // put_c3
  return verifyNumber(*this, getLayer(), getNumber(), input.shape[1]);
}

//===----------------------------------------------------------------------===//
// mix
//===----------------------------------------------------------------------===//

void MixOp::build(OpBuilder &builder, OperationState &state, Value coefficients, Value input) {
  ArrayRef<int64_t> c = typeOf(coefficients).getShape(), x = typeOf(input).getShape();
  build(builder, state, withShape(input, {x[0], c[1], x[2]}), coefficients, input);
}

LogicalResult MixOp::verify() {
  NamedShape c("coefficients", getCoefficients()), x("input", getInput());
  // mix_c1
  if (failed(verifyRank(*this, c, 3)) || failed(verifyRank(*this, x, 3)) ||
      failed(verifyRowsOf(*this, "coefficients", c.shape)) ||
      failed(verifyRowsOf(*this, "input", x.shape)) || failed(verifySameRows(*this, c, x)) ||
      failed(verifySameDim(*this, c, 2, x, 1)))
    return failure();
  // mix_c2
  return verifyResult(*this, getInput(), {x.shape[0], c.shape[1], x.shape[2]});
}

//===----------------------------------------------------------------------===//
// position_scale
//===----------------------------------------------------------------------===//

LogicalResult PositionScaleOp::verify() {
  // position_scale_c1
  ArrayRef<int64_t> shape = typeOf(getResult()).getShape();
  if (shape.size() != 2 || shape[1] != 1)
    return emitOpError() << "result must be [?, 1] but is " << shapeText(shape);
  // position_scale_c2
  if (failed(verifyFinite(*this, "scale", getScale())))
    return failure();
  if (int64_t period = getPeriod(); period < 1)
    return emitOpError() << "period must be positive but is " << period;
  if (int64_t shift = getShift(); shift < 0)
    return emitOpError() << "shift must not be negative but is " << shift;
  return success();
}
