//===- Fit.h - scales that make squared errors small ------------*- C++ -*-===//
//
// Loops over a compile-time number of values, so that they become vector code.
// Sums have eight accumulators of fixed assignment: the order of additions does
// not depend on the machine.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_FRONTEND_QUANTIZE_FIT_H
#define LLMC_LIB_FRONTEND_QUANTIZE_FIT_H

#include "llmc/Frontend/StorageFormat.h"

#include <algorithm>
#include <cmath>

namespace llmc::frontend::fit {

constexpr unsigned lanes = 8;

struct Sum {
  float lane[lanes] = {};
  float total() const {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  }
};

/// To the nearest integer, ties to even; |value| < 2^22.
inline float roundSmall(float value) { return (value + 12582912.0f) - 12582912.0f; }

/// quants[j] = nearest to (x - m) / d in [low, high], as floats.
template <unsigned n>
void nearest(const float *x, float d, float m, float low, float high, float *quants) {
  // A subnormal step would make an infinite reciprocal.
  float inverse = std::fabs(d) > 0x1p-126f ? 1 / d : 0;
  for (unsigned j = 0; j < n; ++j)
    quants[j] = roundSmall(std::min(std::max((x[j] - m) * inverse, low), high));
}

/// Sum of (x - (d q + m))^2.
template <unsigned n>
float squaredError(const float *x, const float *quants, float d, float m) {
  Sum sum;
  for (unsigned j = 0; j < n; j += lanes)
    for (unsigned l = 0; l < lanes; ++l) {
      float e = x[j + l] - (d * quants[j + l] + m);
      sum.lane[l] += e * e;
    }
  return sum.total();
}

template <unsigned n>
float dot(const float *a, const float *b) {
  Sum sum;
  for (unsigned j = 0; j < n; j += lanes)
    for (unsigned l = 0; l < lanes; ++l)
      sum.lane[l] += a[j + l] * b[j + l];
  return sum.total();
}

template <unsigned n>
float total(const float *a) {
  Sum sum;
  for (unsigned j = 0; j < n; j += lanes)
    for (unsigned l = 0; l < lanes; ++l)
      sum.lane[l] += a[j + l];
  return sum.total();
}

struct Affine {
  float d = 0, m = 0;
  float error = 0;
};

inline float asHalf(float value) { return halfToFloat(floatToHalf(value)); }
inline float asFloat(float value) { return value; }

/// x = d q with q in [low, high], low < 0. `store` rounds d to what can be stored. Of both signs
/// of d, that is tried which puts the largest value on `low`.
template <unsigned n, auto store>
Affine fitScale(const float *x, float low, float high) {
  float largest = 0;
  for (unsigned j = 0; j < n; ++j)
    if (std::fabs(x[j]) > std::fabs(largest))
      largest = x[j];
  Affine best;
  best.error = dot<n>(x, x);
  if (largest == 0)
    return best;
  float quants[n];
  auto consider = [&](float d) {
    d = store(d);
    nearest<n>(x, d, 0, low, high, quants);
    float error = squaredError<n>(x, quants, d, 0);
    if (error < best.error)
      best = {d, 0, error};
  };
  // Many levels leave little to find; the plain rules come first.
  consider(largest / low);
  consider(std::fabs(largest) / high);
  unsigned starts = high > 64 ? 2 : 9;
  for (unsigned i = 0; i < starts; ++i) {
    float d = largest / (low - 0.8f + 0.2f * float(i));
    for (unsigned step = 0; step < 2; ++step) {
      nearest<n>(x, d, 0, low, high, quants);
      float squares = dot<n>(quants, quants);
      if (squares == 0)
        break;
      d = dot<n>(x, quants) / squares;
    }
    consider(d);
  }
  return best;
}

/// x = d q + m with q in [0, high] and d >= 0; m <= 0 where `negative`.
template <unsigned n, auto store, bool negative>
Affine fitAffine(const float *x, float high) {
  float low = x[0], top = x[0];
  for (unsigned j = 1; j < n; ++j) {
    low = std::min(low, x[j]);
    top = std::max(top, x[j]);
  }
  if (negative)
    low = std::min(low, 0.0f);
  Affine best;
  best.m = store(low);
  float quants[n] = {};
  best.error = squaredError<n>(x, quants, 0, best.m);
  if (!(top > low))
    return best;
  auto consider = [&](float d, float m) {
    d = store(d);
    m = store(m);
    nearest<n>(x, d, m, 0, high, quants);
    float error = squaredError<n>(x, quants, d, m);
    if (error < best.error)
      best = {d, m, error};
  };
  consider((top - low) / high, low);
  float sumX = total<n>(x);
  for (unsigned i = 0; i < 9; ++i) {
    float d = (top - low) / (high - 1 + 0.25f * float(i)), m = low;
    bool usable = true;
    for (unsigned step = 0; step < 3 && usable; ++step) {
      nearest<n>(x, d, m, 0, high, quants);
      float sumQ = total<n>(quants), squares = dot<n>(quants, quants);
      float product = dot<n>(x, quants), determinant = float(n) * squares - sumQ * sumQ;
      usable = determinant > 0;
      if (usable) {
        d = (float(n) * product - sumX * sumQ) / determinant;
        m = (sumX - d * sumQ) / float(n);
        if (negative && m > 0) {
          m = 0;
          d = product / squares;
        }
        usable = d > 0;
      }
    }
    if (usable)
      consider(d, m);
  }
  return best;
}

} // namespace llmc::frontend::fit

#endif // LLMC_LIB_FRONTEND_QUANTIZE_FIT_H
