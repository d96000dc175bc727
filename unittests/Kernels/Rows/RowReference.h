//===- RowReference.h - row programs in double precision --------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_ROWS_ROWREFERENCE_H
#define LLMC_UNITTESTS_KERNELS_ROWS_ROWREFERENCE_H

#include "llmc/Kernels/CPU/RowKernels.h"
#include <cmath>
#include <numeric>

namespace llmc::kernels::test {

inline double activate(Activation activation, double x) {
  switch (activation) {
  case Activation::SiLU:
    return x / (1 + std::exp(-x));
  case Activation::GeluTanh:
    return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  case Activation::GeluErf:
    return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
  case Activation::GeluQuick:
    return x / (1 + std::exp(-1.702 * x));
  case Activation::Relu:
    return std::max(x, 0.0);
  case Activation::ReluSquared:
    return std::max(x, 0.0) * std::max(x, 0.0);
  case Activation::Tanh:
    return std::tanh(x);
  case Activation::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case Activation::Softplus:
    return std::log1p(std::exp(x));
  case Activation::Exp:
    return std::exp(x);
  case Activation::Log:
    return std::log(x);
  case Activation::Sqrt:
    return std::sqrt(x);
  case Activation::Reciprocal:
    return 1 / x;
  }
  return 0;
}

using Row = std::vector<double>;

/// All nodes of one row; `inputs[node]` where the node is an Input.
inline std::vector<Row> evaluate(const RowProgram &program, const std::vector<Row> &inputs,
                                 int64_t position = 0) {
  size_t width = program.width();
  std::vector<Row> values;
  for (size_t n = 0; n < program.ops().size(); ++n) {
    const RowOp &op = program.ops()[n];
    if (op.kind == RowOpKind::Input) {
      values.push_back(inputs[n]);
      continue;
    }
    if (op.kind == RowOpKind::PositionScale) {
      double periods = double((position + op.shift) / op.period);
      values.emplace_back(width, 1 + op.params[0] * std::log(1 + periods));
      continue;
    }
    auto in = [&](unsigned i, size_t e) { return values[op.inputs[i]][e]; };
    double p0 = op.params[0], p1 = op.params[1];
    Row x = values[op.inputs[0]];
    double sum = 0, squares = 0, most = x[0], exps = 0, variance = 0;
    for (double v : x)
      sum += v, squares += v * v, most = std::max(most, v);
    double mean = sum / double(width);
    for (double v : x)
      exps += std::exp(v - most), variance += (v - mean) * (v - mean) / double(width);

    Row y(width);
    for (size_t e = 0; e < width; ++e) {
      switch (op.kind) {
      case RowOpKind::Input:
        break;
      case RowOpKind::Add:
        y[e] = x[e] + in(1, e);
        break;
      case RowOpKind::Sub:
        y[e] = x[e] - in(1, e);
        break;
      case RowOpKind::Mul:
        y[e] = x[e] * in(1, e);
        break;
      case RowOpKind::Div:
        y[e] = x[e] / in(1, e);
        break;
      case RowOpKind::Fma:
        y[e] = x[e] * in(1, e) + in(2, e);
        break;
      case RowOpKind::Min:
        y[e] = std::min(x[e], in(1, e));
        break;
      case RowOpKind::Max:
        y[e] = std::max(x[e], in(1, e));
        break;
      case RowOpKind::Scale:
        y[e] = x[e] * p0;
        break;
      case RowOpKind::AddConstant:
        y[e] = x[e] + p0;
        break;
      case RowOpKind::Clamp:
        y[e] = std::clamp(x[e], p0, p1);
        break;
      case RowOpKind::Softcap:
        y[e] = p0 * std::tanh(x[e] / p0);
        break;
      case RowOpKind::Activate:
        y[e] = activate(op.activation, x[e]);
        break;
      case RowOpKind::RmsNorm:
        y[e] = x[e] / std::sqrt(squares / double(width) + p0) *
               (op.inputs[1] >= 0 ? in(1, e) + p1 : 1.0);
        break;
      case RowOpKind::L2Norm:
        y[e] = x[e] / std::sqrt(squares + p0);
        break;
      case RowOpKind::LayerNorm:
        y[e] = (x[e] - mean) / std::sqrt(variance + p0) *
                   (op.inputs[1] >= 0 ? in(1, e) : 1.0) +
               (op.inputs[2] >= 0 ? in(2, e) : 0.0);
        break;
      case RowOpKind::Softmax:
        y[e] = std::exp(x[e] - most) / exps;
        break;
      case RowOpKind::Mean:
        y[e] = mean;
        break;
      case RowOpKind::Deviation:
        y[e] = std::sqrt(variance);
        break;
      case RowOpKind::Sum:
        y[e] = sum;
        break;
      case RowOpKind::RowMax:
        y[e] = most;
        break;
      case RowOpKind::PositionScale:
        break;
      }
    }
    values.push_back(y);
  }
  return values;
}

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_ROWS_ROWREFERENCE_H
