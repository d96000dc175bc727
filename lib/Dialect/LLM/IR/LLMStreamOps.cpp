//===- LLMStreamOps.cpp - gates and stream arithmetic ---------------------===//
//
// residual_add_c1, scale_c1, softcap_c1, activation_c1 and gate_c1 are the ops'
// SameOperandsAndResultType traits.
//
//===----------------------------------------------------------------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

void ScaleOp::build(OpBuilder &builder, OperationState &state, Value input, double factor) {
  build(builder, state, input.getType(), input, builder.getF64FloatAttr(factor));
}

// scale_c2
LogicalResult ScaleOp::verify() {
  if (getFactor().isFinite())
    return success();
  SmallString<16> text;
  getFactor().toString(text);
  return emitOpError() << "factor must be finite but is " << text;
}

void SoftcapOp::build(OpBuilder &builder, OperationState &state, Value input, double cap) {
  build(builder, state, input.getType(), input, builder.getF64FloatAttr(cap));
}

// softcap_c2
LogicalResult SoftcapOp::verify() { return verifyPositive(*this, "cap", getCap()); }
