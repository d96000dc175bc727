//===- LLMLinearOps.cpp - matrix products ---------------------------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

void LinearOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight,
                     Value bias) {
  auto rows = cast<RankedTensorType>(input.getType());
  int64_t columns = cast<WeightType>(weight.getType()).getShape().front();
  auto type = RankedTensorType::get({rows.getDimSize(0), columns}, rows.getElementType());
  build(builder, state, type, input, weight, bias);
}

LogicalResult LinearOp::verify() {
  NamedShape input("input", getInput()), weight("weight", getWeight()),
      result("result", getResult());
  // linear_c1
  if (failed(verifyRank(*this, weight, 2)) || failed(verifyRank(*this, input, 2)) ||
      failed(verifySameDim(*this, weight, 1, input, 1)))
    return failure();
  // linear_c2
  if (failed(verifyRank(*this, result, 2)) || failed(verifySameRows(*this, result, input)) ||
      failed(verifySameDim(*this, result, 1, weight, 0)))
    return failure();
  // linear_c3
  if (!getBias())
    return success();
  NamedShape bias("bias", getBias());
  return success(succeeded(verifyRank(*this, bias, 1)) &&
                 succeeded(verifySameDim(*this, bias, 0, weight, 0)));
}
