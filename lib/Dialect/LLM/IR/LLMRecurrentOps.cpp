//===- LLMRecurrentOps.cpp - mixers with a state per sequence -------------===//
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace llmc::llm;

static LogicalResult verifyKind(Operation *op, CacheType type, CacheKind kind) {
  if (type.getKind() == kind)
    return success();
  return op->emitOpError() << "state must be a " << stringifyCacheKind(kind) << " cache but is "
                           << stringifyCacheKind(type.getKind());
}

/// The op changes the state in place and nothing else.
static void addStateEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects,
                            OpOperand &state) {
  effects.emplace_back(MemoryEffects::Read::get(), &state, CacheResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &state, CacheResource::get());
}

//===----------------------------------------------------------------------===//
// causal_conv
//===----------------------------------------------------------------------===//

void CausalConvOp::build(OpBuilder &builder, OperationState &state, Value input, Value weight,
                         Value bias, Value cache, Value batch) {
  build(builder, state, input.getType(), cache.getType(), input, weight, bias, cache, batch);
}

// By hand: what TableGen makes of the traits takes no account of an absent optional operand.
LogicalResult CausalConvOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             ValueRange operands, DictionaryAttr, OpaqueProperties,
                                             RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.size() < 4)
    return failure();
  types.assign({operands.front().getType(), operands[operands.size() - 2].getType()});
  return success();
}

int64_t CausalConvOp::getTaps() {
  return cast<WeightType>(getWeight().getType()).getShape().back();
}

LogicalResult CausalConvOp::verify() {
  NamedShape input("input", getInput()), weight("weight", getWeight()), state("state", getState());
  // causal_conv_c1
  if (failed(verifyKind(*this, cast<CacheType>(getState().getType()), CacheKind::Conv)))
    return failure();
  // causal_conv_c2
  if (failed(verifyRank(*this, input, 2)) || failed(verifySameDim(*this, input, 1, state, 0)))
    return failure();
  // causal_conv_c3
  if (weight.shape.size() == 3) {
    if (weight.shape[1] != 1)
      return emitOpError() << "weight dimension 1 (" << weight.shape[1]
                           << ") must be 1: every channel is convolved by itself";
  } else if (failed(verifyRank(*this, weight, 2))) {
    return failure();
  }
  if (failed(verifySameDim(*this, weight, 0, state, 0)))
    return failure();
  if (getTaps() - 1 != state.shape[1])
    return emitOpError() << "state dimension 1 (" << state.shape[1]
                         << ") must be one less than the taps, the last dimension of the weight ("
                         << getTaps() << ")";
  // causal_conv_c4
  if (!getBias())
    return success();
  NamedShape bias("bias", getBias());
  return success(succeeded(verifyRank(*this, bias, 1)) &&
                 succeeded(verifySameDim(*this, bias, 0, state, 0)));
}

void CausalConvOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addStateEffects(effects, getStateMutable());
}

//===----------------------------------------------------------------------===//
// token_shift
//===----------------------------------------------------------------------===//

void TokenShiftOp::build(OpBuilder &builder, OperationState &state, Value input, Value cache,
                         Value batch) {
  build(builder, state, input.getType(), cache.getType(), input, cache, batch);
}

LogicalResult TokenShiftOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                             ValueRange operands, DictionaryAttr, OpaqueProperties,
                                             RegionRange, SmallVectorImpl<Type> &types) {
  if (operands.size() != 3)
    return failure();
  types.assign({operands[0].getType(), operands[1].getType()});
  return success();
}

LogicalResult TokenShiftOp::verify() {
  NamedShape input("input", getInput()), state("state", getState());
  // token_shift_c1
  if (failed(verifyKind(*this, cast<CacheType>(getState().getType()), CacheKind::Conv)))
    return failure();
  if (state.shape[1] != 1)
    return emitOpError() << "state dimension 1 (" << state.shape[1]
                         << ") must be 1: one row of each sequence";
  // token_shift_c2
  return success(succeeded(verifyRank(*this, input, 2)) &&
                 succeeded(verifySameDim(*this, input, 1, state, 0)));
}

void TokenShiftOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addStateEffects(effects, getStateMutable());
}

//===----------------------------------------------------------------------===//
// linear_attention
//===----------------------------------------------------------------------===//

void LinearAttentionOp::build(OpBuilder &builder, OperationState &state, Value query, Value key,
                              Value value, Value decay, Value beta, Value cache, Value batch,
                              bool delta, double scale, Value rankOneA, Value rankOneB,
                              bool before) {
  auto flag = [&](bool set) { return set ? builder.getUnitAttr() : UnitAttr(); };
  build(builder, state, value.getType(), cache.getType(), query, key, value, decay, beta, rankOneA,
        rankOneB, cache, batch, flag(delta), flag(before), builder.getF64FloatAttr(scale));
}

LogicalResult LinearAttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                  ValueRange operands, DictionaryAttr,
                                                  OpaqueProperties, RegionRange,
                                                  SmallVectorImpl<Type> &types) {
  if (operands.size() < 6)
    return failure();
  types.assign({operands[2].getType(), operands[operands.size() - 2].getType()});
  return success();
}

bool LinearAttentionOp::isDecayPerChannel() {
  return cast<RankedTensorType>(getDecay().getType()).getRank() == 3;
}

LogicalResult LinearAttentionOp::verify() {
  NamedShape key("key", getKey()), value("value", getValue()), decay("decay", getDecay()),
      state("state", getState());
  // linear_attention_c1
  if (failed(verifyKind(*this, cast<CacheType>(getState().getType()), CacheKind::Recurrent)))
    return failure();
  // linear_attention_c2
  if (failed(verifyRank(*this, key, 3)) || failed(verifySameDim(*this, key, 2, state, 1)))
    return failure();
  int64_t keyHeads = key.shape[1];
  if (ShapedType::isDynamic(keyHeads) || keyHeads == 0 || state.shape[0] % keyHeads != 0)
    return emitOpError() << "heads, state dimension 0 (" << state.shape[0]
                         << "), must be a multiple of the key heads, key dimension 1 ("
                         << (ShapedType::isDynamic(keyHeads) ? std::string("?")
                                                             : std::to_string(keyHeads))
                         << ")";
  // linear_attention_c3
  if (failed(verifyRank(*this, value, 3)) || failed(verifySameRows(*this, value, key)) ||
      failed(verifySameDim(*this, value, 1, state, 0)) ||
      failed(verifySameDim(*this, value, 2, state, 2)))
    return failure();
  // linear_attention_c4
  if (decay.shape.size() != 3 && failed(verifyRank(*this, decay, 2)))
    return failure();
  if (failed(verifySameRows(*this, decay, key)) ||
      failed(verifySameDim(*this, decay, 1, state, 0)) ||
      (isDecayPerChannel() && failed(verifySameDim(*this, decay, 2, state, 1))))
    return failure();
  // linear_attention_c5
  if (getBeta()) {
    NamedShape beta("beta", getBeta());
    if (failed(verifyRank(*this, beta, 2)) || failed(verifySameRows(*this, beta, key)) ||
        failed(verifySameDim(*this, beta, 1, state, 0)))
      return failure();
  }
  // linear_attention_c6
  if (failed(verifyPositive(*this, "scale", getScale())))
    return failure();
  // linear_attention_c7
  if (!getRankOneA() && !getRankOneB())
    return success();
  if (!getRankOneA() || !getRankOneB())
    return emitOpError("needs both factors of a rank one part, or neither");
  if (getDelta())
    return emitOpError("has delta and a rank one part: what is taken back from the state is said "
                       "by one of them");
  for (Value factor : {getRankOneA(), getRankOneB()})
    if (factor.getType() != getKey().getType())
      return emitOpError() << "factor of a rank one part must be " << getKey().getType()
                           << " as the keys but is " << factor.getType();
  return success();
}

void LinearAttentionOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  addStateEffects(effects, getStateMutable());
}
