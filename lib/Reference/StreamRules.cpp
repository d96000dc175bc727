//===- StreamRules.cpp - gates and stream arithmetic ------------------===//
#include "RuleSets.h"
#include "Transform.h"

#include "llmc/Reference/Evaluator.h"

#include <cmath>
#include <numbers>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

template <typename T> static T activate(llm::Activation function, T x) {
  switch (function) {
  case llm::Activation::Silu:
    return x / (1 + std::exp(-x));
  case llm::Activation::GeluErf:
    return x / 2 * (1 + std::erf(x / std::numbers::sqrt2_v<T>));
  case llm::Activation::GeluTanh: {
    T scale = std::sqrt(2 * std::numbers::inv_pi_v<T>);
    return x / 2 * (1 + std::tanh(scale * (x + T(0.044715) * x * x * x)));
  }
  case llm::Activation::Relu:
    return x > 0 ? x : T(0);
  case llm::Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case llm::Activation::Tanh:
    return std::tanh(x);
  case llm::Activation::GeluQuick:
    return x / (1 + std::exp(T(-1.702) * x));
  case llm::Activation::ReluSquared:
    return x > 0 ? x * x : T(0);
  case llm::Activation::Softplus:
    return (x > 0 ? x : T(0)) + std::log1p(std::exp(-std::abs(x)));
  case llm::Activation::Exp:
    return std::exp(x);
  case llm::Activation::Log:
    return std::log(x);
  case llm::Activation::Sqrt:
    return std::sqrt(x);
  case llm::Activation::Reciprocal:
    return 1 / x;
  }
  llvm_unreachable("unknown activation");
}

/// `y = function(a, b)` element by element.
template <typename T, typename Function>
static llvm::Error combine(const HostTensor<T> &a, const HostTensor<T> &b,
                           OpContext<T> &context, Function function) {
  if (a.shape != b.shape)
    return context.error("needs operands of one shape, they are " + shapeText(a.shape) +
                         " and " + shapeText(b.shape));
  HostTensor<T> y(a.shape);
  for (size_t i = 0; i < y.data.size(); ++i)
    y.data[i] = function(a.data[i], b.data[i]);
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error residualAdd(llm::ResidualAddOp op, OpContext<T> &context) {
  return combine(context.tensor(op.getStream()), context.tensor(op.getDelta()), context,
                 [](T a, T b) { return a + b; });
}

template <typename T> static llvm::Error scale(llm::ScaleOp op, OpContext<T> &context) {
  T factor = T(float(op.getFactor().convertToDouble()));
  return transform(context.tensor(op.getInput()), context, [&](T x) { return x * factor; });
}

template <typename T> static llvm::Error softcap(llm::SoftcapOp op, OpContext<T> &context) {
  T cap = T(float(op.getCap().convertToDouble()));
  return transform(context.tensor(op.getInput()), context,
                   [&](T x) { return cap * std::tanh(x / cap); });
}

template <typename T> static llvm::Error activation(llm::ActivationOp op, OpContext<T> &context) {
  llm::Activation function = op.getFunction();
  return transform(context.tensor(op.getInput()), context,
                   [&](T x) { return activate(function, x); });
}

template <typename T> static llvm::Error gate(llm::GateOp op, OpContext<T> &context) {
  llm::Activation function = op.getFunction();
  return combine(context.tensor(op.getGate()), context.tensor(op.getUp()), context,
                 [&](T g, T u) { return activate(function, g) * u; });
}

template <typename T> void llmc::reference::addStreamRules(RuleTable<T> &table) {
  table.template add<llm::ResidualAddOp>(residualAdd<T>);
  table.template add<llm::ScaleOp>(scale<T>);
  table.template add<llm::SoftcapOp>(softcap<T>);
  table.template add<llm::ActivationOp>(activation<T>);
  table.template add<llm::GateOp>(gate<T>);
}

template void llmc::reference::addStreamRules(RuleTable<float> &);
template void llmc::reference::addStreamRules(RuleTable<double> &);
