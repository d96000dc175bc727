//===- RecurrentRules.cpp - mixers with a state per sequence --------------===//
#include "Parallel.h"
#include "RuleSets.h"
#include "SequenceRuns.h"

#include "llmc/Reference/Evaluator.h"

#include <cmath>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

template <typename T> static llvm::Error causalConv(llm::CausalConvOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  const Weight &weight = context.weight(op.getWeight());
  const Weight *bias = op.getBias() ? &context.weight(op.getBias()) : nullptr;
  CacheHandle<T> cache = context.cache(op.getState());
  Shape shape = cache.state->shape;
  int64_t taps = weight.shape.empty() ? 0 : weight.shape.back();
  if (x.rank() != 2 || shape != Shape{x.width(), taps - 1} ||
      int64_t(weight.values->size()) != x.width() * taps ||
      (bias && int64_t(bias->values->size()) != x.width()))
    return context.error("convolves rows " + shapeText(x.shape) + " by a weight of " +
                         shapeText(weight.shape) + (bias ? " with a bias of " +
                         shapeText(bias->shape) : std::string()) + " and a state of " +
                         shapeText(shape));
  llvm::Expected<std::vector<Run<T>>> runs =
      beginStep(cache, context.batch(op.getBatch()), x.rows(), context);
  if (!runs)
    return runs.takeError();
  HostTensor<T> y(x.shape);
  for (const Run<T> &run : *runs) {
    for (int64_t c = 0; c < x.width(); ++c) {
      // The last inputs of the channel, oldest first.
      T *last = run.state->data() + c * (taps - 1);
      const float *w = weight.values->data() + c * taps;
      for (int64_t row = run.row; row < run.row + run.count; ++row) {
        T input = x.row(row)[c], sum = 0;
        for (int64_t k = 0; k < taps - 1; ++k)
          sum = std::fma(T(w[k]), last[k], sum);
        sum = std::fma(T(w[taps - 1]), input, sum);
        y.row(row)[c] = bias ? sum + T((*bias->values)[size_t(c)]) : sum;
        std::copy(last + 1, last + taps - 1, last);
        last[taps - 2] = input;
      }
    }
  }
  context.result(std::move(y));
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

template <typename T> static llvm::Error tokenShift(llm::TokenShiftOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  CacheHandle<T> cache = context.cache(op.getState());
  if (x.rank() != 2 || cache.state->shape != Shape{x.width(), 1})
    return context.error("shifts rows " + shapeText(x.shape) + " with a state of " +
                         shapeText(cache.state->shape));
  llvm::Expected<std::vector<Run<T>>> runs =
      beginStep(cache, context.batch(op.getBatch()), x.rows(), context);
  if (!runs)
    return runs.takeError();
  HostTensor<T> y(x.shape);
  for (const Run<T> &run : *runs)
    for (int64_t row = run.row; row < run.row + run.count; ++row) {
      llvm::copy(*run.state, y.row(row));
      run.state->assign(x.row(row), x.row(row) + x.width());
    }
  context.result(std::move(y));
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

namespace {

/// What one token brings to one head.
template <typename T> struct HeadToken {
  const T *query, *key, *value;
  /// One number, or one for each key channel `decayStride` apart.
  const T *decays;
  int64_t decayStride;
  /// Null where the op has none.
  const T *beta, *rankOneA, *rankOneB;
};

/// One head of a sequence's recurrence.
template <typename T> struct HeadRecurrence {
  int64_t keyWidth, valueWidth;
  bool delta, before;
  T scale;

  /// One token: `state` is [key width, value width].
  void step(T *state, const HeadToken<T> &token, T *out) const {
    std::vector<T> taken;
    for (int64_t j = 0; j < valueWidth; ++j) {
      if (token.rankOneA)
        taken.push_back(product(state + j, token.rankOneA));
      if (before)
        out[j] = scale * product(state + j, token.query);
    }
    for (int64_t d = 0; d < keyWidth; ++d) {
      T factor = std::exp(token.decays[d * token.decayStride]);
      for (int64_t j = 0; j < valueWidth; ++j)
        state[d * valueWidth + j] *= factor;
    }
    for (int64_t j = 0; j < valueWidth; ++j) {
      T *column = state + j;
      T written = token.value[j];
      if (delta)
        written -= product(column, token.key);
      if (token.beta)
        written *= *token.beta;
      for (int64_t d = 0; d < keyWidth; ++d) {
        T &element = column[d * valueWidth];
        if (token.rankOneB)
          element = std::fma(token.rankOneB[d], taken[size_t(j)], element);
        element = std::fma(token.key[d], written, element);
      }
      if (!before)
        out[j] = scale * product(column, token.query);
    }
  }

private:
  T product(const T *column, const T *by) const {
    T sum = 0;
    for (int64_t d = 0; d < keyWidth; ++d)
      sum = std::fma(column[d * valueWidth], by[d], sum);
    return sum;
  }
};

} // namespace

template <typename T>
static llvm::Error linearAttention(llm::LinearAttentionOp op, OpContext<T> &context) {
  const HostTensor<T> &query = context.tensor(op.getQuery()), &key = context.tensor(op.getKey()),
                      &value = context.tensor(op.getValue()),
                      &decay = context.tensor(op.getDecay());
  auto optional = [&](mlir::Value operand) {
    return operand ? &context.tensor(operand) : nullptr;
  };
  const HostTensor<T> *beta = optional(op.getBeta()), *rankOneA = optional(op.getRankOneA()),
                      *rankOneB = optional(op.getRankOneB());
  CacheHandle<T> cache = context.cache(op.getState());
  Shape shape = cache.state->shape;
  bool fits = query.shape == key.shape && key.rank() == 3 && value.rank() == 3 &&
              shape == Shape{value.shape[1], key.width(), value.width()} && key.shape[1] > 0 &&
              shape[0] % key.shape[1] == 0 && decay.rank() >= 2 && decay.shape[1] == shape[0] &&
              (decay.rank() == 2 || decay.width() == shape[1]) &&
              (!beta || (beta->rank() == 2 && beta->width() == shape[0])) &&
              (!rankOneA || (rankOneA->shape == key.shape && rankOneB->shape == key.shape));
  for (const HostTensor<T> *x : {&key, &decay, beta})
    fits = fits && (!x || x->rows() == value.rows());
  if (!fits)
    return context.error("has queries " + shapeText(query.shape) + ", keys " +
                         shapeText(key.shape) + ", values " + shapeText(value.shape) +
                         ", decays " + shapeText(decay.shape) +
                         (beta ? ", beta " + shapeText(beta->shape) : std::string()) +
                         " and a state of " + shapeText(shape));
  llvm::Expected<std::vector<Run<T>>> runs =
      beginStep(cache, context.batch(op.getBatch()), value.rows(), context);
  if (!runs)
    return runs.takeError();
  int64_t heads = shape[0], keyWidth = shape[1], valueWidth = shape[2];
  int64_t group = heads / key.shape[1], decayStride = decay.rank() == 3 ? 1 : 0;
  int64_t decayWidth = decayStride ? keyWidth : 1;
  HeadRecurrence<T> recurrence{keyWidth, valueWidth, op.getDelta(), op.getBefore(),
                               T(float(op.getScale().convertToDouble()))};
  HostTensor<T> y(value.shape);
  int64_t work = value.rows() * keyWidth * valueWidth * 4;
  parallelFor(context.evaluator.getThreads(), heads, work, [&](int64_t from, int64_t to) {
    for (const Run<T> &run : *runs)
      for (int64_t head = from; head < to; ++head) {
        T *state = run.state->data() + head * keyWidth * valueWidth;
        int64_t keys = head / group * keyWidth;
        auto keysOf = [&](const HostTensor<T> *x, int64_t row) {
          return x ? x->row(row) + keys : nullptr;
        };
        for (int64_t row = run.row; row < run.row + run.count; ++row)
          recurrence.step(state,
                          {query.row(row) + keys, key.row(row) + keys,
                           value.row(row) + head * valueWidth, decay.row(row) + head * decayWidth,
                           decayStride, beta ? beta->row(row) + head : nullptr,
                           keysOf(rankOneA, row), keysOf(rankOneB, row)},
                          y.row(row) + head * valueWidth);
      }
  });
  context.result(std::move(y));
  context.result(HostValue<T>(cache));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addRecurrentRules(RuleTable<T> &table) {
  table.template add<llm::CausalConvOp>(causalConv<T>);
  table.template add<llm::TokenShiftOp>(tokenShift<T>);
  table.template add<llm::LinearAttentionOp>(linearAttention<T>);
}

template void llmc::reference::addRecurrentRules(RuleTable<float> &);
template void llmc::reference::addRecurrentRules(RuleTable<double> &);
