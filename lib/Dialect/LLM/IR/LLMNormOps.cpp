//===- LLMNormOps.cpp - norms over the last dimension ---------------------===//
//
// rms_norm_c1 and layer_norm_c1 are the ops' AllTypesMatch traits.
//
//===----------------------------------------------------------------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

void RMSNormOp::build(OpBuilder &builder, OperationState &state, Value input, Value scale,
                      double epsilon, double offset) {
  build(builder, state, input.getType(), input, scale, builder.getF64FloatAttr(epsilon),
        builder.getF64FloatAttr(offset));
}

LogicalResult RMSNormOp::verify() {
  // rms_norm_c2
  if (getScale() &&
      failed(verifyPerChannel(*this, {"scale", getScale()}, {"input", getInput()})))
    return failure();
  // rms_norm_c4
  if (!getScale() && !getOffset().isZero())
    return emitOpError("has an offset for its scale but no scale");
  // rms_norm_c3
  return verifyPositive(*this, "epsilon", getEpsilon());
}

void LayerNormOp::build(OpBuilder &builder, OperationState &state, Value input, Value scale,
                        Value bias, double epsilon) {
  build(builder, state, input.getType(), input, scale, bias, builder.getF64FloatAttr(epsilon));
}

LogicalResult LayerNormOp::verify() {
  // layer_norm_c2
  NamedShape input("input", getInput());
  if (getScale() && failed(verifyPerChannel(*this, {"scale", getScale()}, input)))
    return failure();
  // layer_norm_c4
  if (getBias() && !getScale())
    return emitOpError("has a bias but no scale");
  if (getBias() && failed(verifyPerChannel(*this, {"bias", getBias()}, input)))
    return failure();
  // layer_norm_c3
  return verifyPositive(*this, "epsilon", getEpsilon());
}
