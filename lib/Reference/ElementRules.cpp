//===- ElementRules.cpp - arithmetic of rows, heads and streams -----------===//
#include "RuleSets.h"
#include "Transform.h"

#include "llmc/Dialect/LLM/IR/Elements.h"
#include "llmc/Reference/Evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#pragma STDC FP_CONTRACT OFF

using namespace llmc::reference;
namespace llm = llmc::llm;

template <typename T> static T apply(llm::BinaryFunction function, T a, T b) {
  switch (function) {
  case llm::BinaryFunction::Add:
    return a + b;
  case llm::BinaryFunction::Sub:
    return a - b;
  case llm::BinaryFunction::Mul:
    return a * b;
  case llm::BinaryFunction::Div:
    return a / b;
  case llm::BinaryFunction::Min:
    return b < a ? b : a;
  case llm::BinaryFunction::Max:
    return b > a ? b : a;
  }
  llvm_unreachable("unknown arithmetic");
}

/// A shape as [rows, heads, width]: a row without heads is one head, but beside a value with
/// heads its elements are one for each head.
static Shape asHeads(const Shape &shape, bool besideHeads) {
  if (shape.size() == 3)
    return shape;
  return besideHeads ? Shape{shape[0], shape[1], 1} : Shape{shape[0], 1, shape[1]};
}

template <typename T> static llvm::Error binary(llm::BinaryOp op, OpContext<T> &context) {
  const HostTensor<T> &a = context.tensor(op.getLhs()), &b = context.tensor(op.getRhs());
  bool heads = std::max(a.rank(), b.rank()) == 3;
  Shape left = asHeads(a.shape, heads), right = asHeads(b.shape, heads);
  llvm::SmallVector<int64_t> all = llm::BinaryOp::broadcast(a.shape, b.shape);
  // A weight's rows are all alike, so there are as many as the other operand has.
  bool any[2] = {bool(llm::weightBehind(op.getLhs())), bool(llm::weightBehind(op.getRhs()))};
  if (!all.empty() && any[0] != any[1]) {
    all[0] = any[0] ? right[0] : left[0];
    (any[0] ? left : right)[0] = all[0];
  }
  if (all.empty() || left[0] != right[0])
    return context.error("needs operands that fit, they are " + shapeText(a.shape) + " and " +
                         shapeText(b.shape));
  HostTensor<T> y(all);
  Shape out = asHeads(y.shape, heads);
  auto at = [](const HostTensor<T> &x, const Shape &shape, int64_t t, int64_t h, int64_t d) {
    return x.data[size_t(((x.rows() == shape[0] ? t : 0) * shape[1] + (shape[1] == 1 ? 0 : h)) * shape[2] +
                         (shape[2] == 1 ? 0 : d))];
  };
  size_t i = 0;
  for (int64_t t = 0; t < out[0]; ++t)
    for (int64_t h = 0; h < out[1]; ++h)
      for (int64_t d = 0; d < out[2]; ++d)
        y.data[i++] = apply(op.getFunction(), at(a, left, t, h, d), at(b, right, t, h, d));
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error weightRows(llm::WeightRowsOp op, OpContext<T> &context) {
  const Weight &weight = context.weight(op.getWeight());
  Shape shape{context.batch(op.getBatch()).tokens()};
  shape.append(weight.shape.begin(), weight.shape.end());
  HostTensor<T> y(shape);
  const std::vector<float> &values = *weight.values;
  for (int64_t t = 0; t < y.rows(); ++t)
    std::copy(values.begin(), values.end(), y.row(t));
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error offset(llm::OffsetOp op, OpContext<T> &context) {
  T term = T(float(op.getTerm().convertToDouble()));
  return transform(context.tensor(op.getInput()), context, [&](T x) { return x + term; });
}

template <typename T> static llvm::Error clamp(llm::ClampOp op, OpContext<T> &context) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  T low = op.getLow() ? T(float(op.getLow()->convertToDouble())) : -infinity;
  T high = op.getHigh() ? T(float(op.getHigh()->convertToDouble())) : infinity;
  return transform(context.tensor(op.getInput()), context, [&](T x) {
    return x < low ? low : x > high ? high : x;
  });
}

/// Calls `function(in, out)` for every run of the last dimension.
template <typename T, typename Function>
static void eachRow(const HostTensor<T> &x, HostTensor<T> &y, Function function) {
  int64_t rows = x.width() ? int64_t(x.data.size()) / x.width() : 0;
  for (int64_t r = 0; r < rows; ++r)
    function(x.data.data() + r * x.width(), y.data.data() + r * y.width());
}

template <typename T> static llvm::Error softmax(llm::SoftmaxOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  HostTensor<T> y(x.shape);
  int64_t width = x.width();
  eachRow(x, y, [&](const T *in, T *out) {
    T most = *std::max_element(in, in + width), sum = 0;
    for (int64_t i = 0; i < width; ++i)
      sum += out[i] = std::exp(in[i] - most);
    for (int64_t i = 0; i < width; ++i)
      out[i] /= sum;
  });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static T statistic(llm::RowStatistic which, const T *in, int64_t width) {
  if (which == llm::RowStatistic::Max)
    return *std::max_element(in, in + width);
  T sum = 0;
  for (int64_t i = 0; i < width; ++i)
    sum += in[i];
  if (which == llm::RowStatistic::Sum)
    return sum;
  T mean = sum / T(width);
  if (which == llm::RowStatistic::Mean)
    return mean;
  T squares = 0;
  for (int64_t i = 0; i < width; ++i)
    squares += (in[i] - mean) * (in[i] - mean);
  return std::sqrt(squares / T(width));
}

template <typename T> static llvm::Error rowStat(llm::RowStatOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  Shape shape = x.shape;
  shape.back() = 1;
  HostTensor<T> y(shape);
  eachRow(x, y, [&](const T *in, T *out) { *out = statistic(op.getStatistic(), in, x.width()); });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error slice(llm::SliceOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  Shape shape = x.shape;
  shape.back() = int64_t(op.getSize());
  HostTensor<T> y(shape);
  eachRow(x, y, [&](const T *in, T *out) { std::copy_n(in + op.getFrom(), op.getSize(), out); });
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error concat(llm::ConcatOp op, OpContext<T> &context) {
  Shape shape = context.tensor(op.getInputs().front()).shape;
  shape.back() = 0;
  for (mlir::Value input : op.getInputs()) {
    const HostTensor<T> &x = context.tensor(input);
    if (x.rows() != shape[0])
      return context.error("needs inputs of as many rows, they have " + llvm::Twine(shape[0]) +
                           " and " + llvm::Twine(x.rows()));
    shape.back() += x.width();
  }
  HostTensor<T> y(shape);
  int64_t from = 0;
  for (mlir::Value input : op.getInputs()) {
    const HostTensor<T> &x = context.tensor(input);
    eachRow(x, y, [&](const T *in, T *out) { std::copy_n(in, x.width(), out + from); });
    from += x.width();
  }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error transpose(llm::TransposeOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  int64_t heads = x.shape[1], width = x.shape[2];
  HostTensor<T> y(Shape{x.shape[0], width, heads});
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t d = 0; d < width; ++d)
        y.row(t)[d * heads + h] = x.row(t)[h * width + d];
  context.result(std::move(y));
  return llvm::Error::success();
}

/// The head that take and put mean; with a layer it is known only here.
template <typename T, typename Op>
static llvm::Expected<int64_t> headOf(Op op, const HostTensor<T> &x, OpContext<T> &context) {
  int64_t number = op.getNumber();
  if (op.getLayer())
    number += context.index(op.getLayer());
  if (number < 0 || number >= x.shape[1])
    return context.error("asks for number " + llvm::Twine(number) + " of " +
                         llvm::Twine(x.shape[1]));
  return number;
}

template <typename T> static llvm::Error take(llm::TakeOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput());
  llvm::Expected<int64_t> head = headOf(op, x, context);
  if (!head)
    return head.takeError();
  int64_t width = x.width();
  HostTensor<T> y(Shape{x.rows(), width});
  for (int64_t t = 0; t < x.rows(); ++t)
    std::copy_n(x.row(t) + *head * width, width, y.row(t));
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error put(llm::PutOp op, OpContext<T> &context) {
  const HostTensor<T> &x = context.tensor(op.getInput()), &row = context.tensor(op.getRow());
  llvm::Expected<int64_t> head = headOf(op, x, context);
  if (!head)
    return head.takeError();
  if (row.rows() != x.rows())
    return context.error("needs as many rows, they are " + shapeText(x.shape) + " and " +
                         shapeText(row.shape));
  HostTensor<T> y = x;
  for (int64_t t = 0; t < x.rows(); ++t)
    std::copy_n(row.row(t), x.width(), y.row(t) + *head * x.width());
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> static llvm::Error mix(llm::MixOp op, OpContext<T> &context) {
  const HostTensor<T> &c = context.tensor(op.getCoefficients());
  const HostTensor<T> &x = context.tensor(op.getInput());
  if (c.rows() != x.rows())
    return context.error("needs as many rows, they are " + shapeText(c.shape) + " and " +
                         shapeText(x.shape));
  int64_t rows = c.shape[1], columns = c.shape[2], width = x.width();
  HostTensor<T> y(Shape{x.rows(), rows, width});
  for (int64_t t = 0; t < x.rows(); ++t)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t d = 0; d < width; ++d) {
          T &sum = y.row(t)[i * width + d];
          sum = std::fma(c.row(t)[i * columns + j], x.row(t)[j * width + d], sum);
        }
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T>
static llvm::Error positionScale(llm::PositionScaleOp op, OpContext<T> &context) {
  const Batch &batch = context.batch(op.getBatch());
  T scale = T(float(op.getScale().convertToDouble()));
  int64_t period = op.getPeriod(), shift = op.getShift();
  HostTensor<T> y(Shape{batch.tokens(), 1});
  size_t t = 0;
  for (const BatchSequence &sequence : batch.sequences)
    for (int64_t i = 0; i < sequence.count; ++i)
      y.data[t++] = 1 + scale * std::log(1 + T((sequence.start + i + shift) / period));
  context.result(std::move(y));
  return llvm::Error::success();
}

template <typename T> void llmc::reference::addElementRules(RuleTable<T> &table) {
  table.template add<llm::BinaryOp>(binary<T>);
  table.template add<llm::WeightRowsOp>(weightRows<T>);
  table.template add<llm::OffsetOp>(offset<T>);
  table.template add<llm::ClampOp>(clamp<T>);
  table.template add<llm::SoftmaxOp>(softmax<T>);
  table.template add<llm::RowStatOp>(rowStat<T>);
  table.template add<llm::SliceOp>(slice<T>);
  table.template add<llm::ConcatOp>(concat<T>);
  table.template add<llm::TransposeOp>(transpose<T>);
  table.template add<llm::TakeOp>(take<T>);
  table.template add<llm::PutOp>(put<T>);
  table.template add<llm::MixOp>(mix<T>);
  table.template add<llm::PositionScaleOp>(positionScale<T>);
}

template void llmc::reference::addElementRules(RuleTable<float> &);
template void llmc::reference::addElementRules(RuleTable<double> &);
