//===- NormRules.cpp - norms over the last dimension ----------------------===//
#include "RuleSets.h"

#include "llmc/Reference/Evaluator.h"

#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

/// The weight must have one value for each element of the last dimension.
template <typename T>
static llvm::Error checkVector(const Weight &weight, const HostTensor<T> &x,
                               OpContext<T> &context) {
  if (x.rank() > 0 && weight.shape == Shape{x.width()})
    return llvm::Error::success();
  return context.error("needs a weight over the last dimension; the input is " +
                       shapeText(x.shape) + ", the weight " + shapeText(weight.shape));
}

template <typename T> static llvm::Error rmsNorm(llm::RMSNormOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Weight *scale = op.getScale() ? &context.weight(op.getScale()) : nullptr;
  if (scale)
    if (llvm::Error error = checkVector(*scale, x, context))
      return error;
  T epsilon = T(op.getEpsilon().convertToDouble());
  T offset = T(op.getOffset().convertToDouble());
  int64_t width = x.width();
  HostTensor<T> y(x.shape);
  for (size_t begin = 0; begin < x.data.size(); begin += size_t(width)) {
    const T *in = x.data.data() + begin;
    T *out = y.data.data() + begin;
    T squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += in[i] * in[i];
    T root = std::sqrt(squares / T(width) + epsilon);
    for (int64_t i = 0; i < width; ++i)
      out[i] = in[i] / root * (scale ? T((*scale->values)[i]) + offset : T(1));
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error layerNorm(llm::LayerNormOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Weight *scale = op.getScale() ? &context.weight(op.getScale()) : nullptr;
  const Weight *bias = op.getBias() ? &context.weight(op.getBias()) : nullptr;
  for (const Weight *weight : {scale, bias})
    if (weight)
      if (llvm::Error error = checkVector(*weight, x, context))
        return error;
  T epsilon = T(op.getEpsilon().convertToDouble());
  int64_t width = x.width();
  HostTensor<T> y(x.shape);
  for (size_t begin = 0; begin < x.data.size(); begin += size_t(width)) {
    const T *in = x.data.data() + begin;
    T *out = y.data.data() + begin;
    T sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += in[i];
    T mean = sum / T(width);
    T squares = 0;
    for (int64_t i = 0; i < width; ++i)
      squares += (in[i] - mean) * (in[i] - mean);
    T root = std::sqrt(squares / T(width) + epsilon);
    for (int64_t i = 0; i < width; ++i) {
      out[i] = (in[i] - mean) / root;
      if (scale)
        out[i] *= T((*scale->values)[i]);
      if (bias)
        out[i] += T((*bias->values)[i]);
    }
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addNormRules(RuleTable<T> &table) {
  table.template add<llm::RMSNormOp>(rmsNorm<T>);
  table.template add<llm::LayerNormOp>(layerNorm<T>);
}

template void llmc::reference::addNormRules(RuleTable<float> &);
template void llmc::reference::addNormRules(RuleTable<double> &);
