//===- LinalgBuilder.cpp - linalg over rows, computed in f32 --------------===//
#include "LinalgBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <numbers>

using namespace mlir;

namespace llmc {

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value ScalarBuilder::constant(double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}
Value ScalarBuilder::add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
Value ScalarBuilder::sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
Value ScalarBuilder::mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
Value ScalarBuilder::div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
Value ScalarBuilder::neg(Value x) { return arith::NegFOp::create(b, loc, x); }
Value ScalarBuilder::sqrt(Value x) { return math::SqrtOp::create(b, loc, x); }
Value ScalarBuilder::fma(Value x, Value y, Value z) { return math::FmaOp::create(b, loc, x, y, z); }

Value ScalarBuilder::widen(Value x) {
  auto type = dyn_cast<FloatType>(x.getType());
  return type && type.getWidth() < 32 ? arith::ExtFOp::create(b, loc, b.getF32Type(), x) : x;
}

Value ScalarBuilder::narrow(Value x, Type type) {
  return x.getType() == type ? x : arith::TruncFOp::create(b, loc, type, x);
}

Value ScalarBuilder::activation(llm::Activation function, Value x) {
  auto logistic = [&] { return add(constant(1), math::ExpOp::create(b, loc, neg(x))); };
  auto gelu = [&](Value curve) { return mul(mul(x, constant(0.5)), add(constant(1), curve)); };
  switch (function) {
  case llm::Activation::Silu:
    return div(x, logistic());
  case llm::Activation::Sigmoid:
    return div(constant(1), logistic());
  case llm::Activation::Tanh:
    return math::TanhOp::create(b, loc, x);
  case llm::Activation::GeluErf:
    return gelu(math::ErfOp::create(b, loc, div(x, constant(std::numbers::sqrt2))));
  case llm::Activation::GeluTanh: {
    Value cube = mul(mul(mul(constant(0.044715), x), x), x);
    Value scale = constant(std::sqrt(2 * std::numbers::inv_pi));
    return gelu(math::TanhOp::create(b, loc, mul(scale, add(x, cube))));
  }
  case llm::Activation::Relu: {
    Value zero = constant(0);
    // Unordered, so that a NaN stays.
    Value above = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UGT, x, zero);
    return arith::SelectOp::create(b, loc, above, x, zero);
  }
  case llm::Activation::ReluSquared: {
    Value positive = activation(llm::Activation::Relu, x);
    return mul(positive, positive);
  }
  case llm::Activation::GeluQuick:
    return div(x, add(constant(1), math::ExpOp::create(b, loc, mul(constant(-1.702), x))));
  case llm::Activation::Softplus: {
    Value e = math::ExpOp::create(b, loc, neg(math::AbsFOp::create(b, loc, x)));
    return add(activation(llm::Activation::Relu, x), math::Log1pOp::create(b, loc, e));
  }
  case llm::Activation::Exp:
    return math::ExpOp::create(b, loc, x);
  case llm::Activation::Log:
    return math::LogOp::create(b, loc, x);
  case llm::Activation::Sqrt:
    return sqrt(x);
  case llm::Activation::Reciprocal:
    return div(constant(1), x);
  }
  llvm_unreachable("unknown activation");
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

AffineMap LinalgBuilder::all(unsigned rank) const {
  return AffineMap::getMultiDimIdentityMap(rank, b.getContext());
}
AffineMap LinalgBuilder::leading(unsigned rank) const { return all(rank).dropResult(rank - 1); }
AffineMap LinalgBuilder::last(unsigned rank) const {
  return AffineMap::get(rank, 0, b.getAffineDimExpr(rank - 1));
}

Value LinalgBuilder::empty(Value like, RankedTensorType type) {
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (type.isDynamicDim(i))
      sizes.push_back(tensor::DimOp::create(b, loc, like, i));
  return tensor::EmptyOp::create(b, loc, type, sizes);
}

Value LinalgBuilder::generic(Value init, unsigned loops, ArrayRef<Operand> operands, bool readsInit,
                             Body body) {
  auto type = cast<RankedTensorType>(init.getType());
  unsigned rank = unsigned(type.getRank());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Operand &operand : operands) {
    inputs.push_back(operand.value);
    maps.push_back(operand.map);
  }
  maps.push_back(
      AffineMap::get(loops, 0, all(loops).getResults().take_front(rank), b.getContext()));
  SmallVector<utils::IteratorType> iterators(loops, utils::IteratorType::reduction);
  std::fill_n(iterators.begin(), rank, utils::IteratorType::parallel);
  auto op =
      linalg::GenericOp::create(b, loc, TypeRange{type}, inputs, ValueRange{init}, maps, iterators,
                                [&](OpBuilder &inner, Location at, ValueRange values) {
                                  ScalarBuilder scalars(inner, at);
                                  SmallVector<Value> wide;
                                  for (Value value : readsInit ? values : values.drop_back())
                                    wide.push_back(scalars.widen(value));
                                  Value result =
                                      scalars.narrow(body(scalars, wide), type.getElementType());
                                  linalg::YieldOp::create(inner, at, result);
                                });
  return op.getResult(0);
}

Value LinalgBuilder::map(Value like, RankedTensorType type, ArrayRef<Operand> operands, Body body) {
  return generic(empty(like, type), unsigned(type.getRank()), operands, /*readsInit=*/false, body);
}

Value LinalgBuilder::sum(Value like, RankedTensorType type, unsigned loops,
                         ArrayRef<Operand> operands, Body body) {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
  Value init = linalg::FillOp::create(b, loc, zero, empty(like, type)).getResult(0);
  return generic(init, loops, operands, /*readsInit=*/true, body);
}

} // namespace llmc
