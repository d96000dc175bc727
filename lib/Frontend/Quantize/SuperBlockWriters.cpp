//===- SuperBlockWriters.cpp - q2_k to q6_k --------------------------------===//
//
// Each sub-block is fitted by itself. Its scale and minimum become integers over
// scales of the whole block; neighbours of these integers are tried against the
// values, then the scales of the block follow the least squares fit of all
// quants. A step is kept where the error of the stored block gets smaller.
//
//===----------------------------------------------------------------------===//
#include "BlockWriters.h"
#include "Fit.h"

#include <cstring>

namespace llmc::frontend {

namespace {

constexpr unsigned superSize = 256;

/// A block as integers: x = d scale q - dmin min.
struct SuperBlock {
  float d = 0, dmin = 0;
  int scale[16] = {}, min[16] = {};
  float quants[superSize] = {};
  float error = 0;
};

/// Best integers for one sub-block near (scale, min), and its quants.
template <unsigned n>
float chooseSub(const float *x, SuperBlock &block, unsigned sub, int scaleLow, int scaleHigh,
                int minHigh, float low, float high) {
  float best = INFINITY, quants[n];
  int atScale = block.scale[sub], atMin = block.min[sub];
  for (int s = std::max(scaleLow, atScale - 1); s <= std::min(scaleHigh, atScale + 1); ++s)
    for (int m = std::max(0, atMin - 1); m <= std::min(minHigh, atMin + 1); ++m) {
      float step = block.d * float(s), offset = -(block.dmin * float(m));
      fit::nearest<n>(x, step, offset, low, high, quants);
      float error = fit::squaredError<n>(x, quants, step, offset);
      if (!(error < best))
        continue;
      best = error;
      block.scale[sub] = s;
      block.min[sub] = m;
      std::copy_n(quants, n, block.quants + sub * n);
    }
  return best;
}

/// d and dmin that fit the integers of a block best; the old ones where there is no answer.
template <unsigned n>
void refitScales(const float *x, SuperBlock &block, bool withMin) {
  double aa = 0, ab = 0, bb = 0, ax = 0, bx = 0;
  for (unsigned sub = 0; sub < superSize / n; ++sub) {
    const float *q = block.quants + sub * n, *v = x + sub * n;
    double s = block.scale[sub], m = block.min[sub];
    double sumQ = fit::total<n>(q);
    aa += s * s * fit::dot<n>(q, q);
    ax += s * fit::dot<n>(q, v);
    ab -= s * m * sumQ;
    bb += m * m * n;
    bx -= m * fit::total<n>(v);
  }
  double determinant = aa * bb - ab * ab;
  if (withMin && determinant > 0) {
    block.d = float((ax * bb - bx * ab) / determinant);
    block.dmin = float((bx * aa - ax * ab) / determinant);
  } else if (aa > 0) {
    block.d = float((ax - ab * double(block.dmin)) / aa);
  }
  block.d = fit::asHalf(block.d);
  block.dmin = fit::asHalf(block.dmin);
}

template <unsigned n>
SuperBlock improve(const float *x, SuperBlock block, int scaleLow, int scaleHigh, int minHigh,
                   float low, float high) {
  SuperBlock best;
  best.error = INFINITY;
  for (unsigned round = 0; round < 3; ++round) {
    block.error = 0;
    for (unsigned sub = 0; sub < superSize / n; ++sub)
      block.error += chooseSub<n>(x + sub * n, block, sub, scaleLow, scaleHigh, minHigh, low, high);
    if (!(block.error < best.error))
      break;
    best = block;
    refitScales<n>(x, block, minHigh > 0);
    if (!(block.d == block.d) || block.dmin < 0 || (minHigh > 0 && block.d < 0))
      break;
  }
  return best;
}

int nearestInt(float value, int low, int high) {
  return int(fit::roundSmall(std::min(std::max(value, float(low)), float(high))));
}

/// q in [0, high], unsigned scales and minima up to `most`.
template <unsigned n>
SuperBlock fitWithMin(const float *x, float high, int most) {
  fit::Affine subs[superSize / n];
  float largestScale = 0, largestMin = 0;
  for (unsigned sub = 0; sub < superSize / n; ++sub) {
    subs[sub] = fit::fitAffine<n, fit::asFloat, true>(x + sub * n, high);
    largestScale = std::max(largestScale, subs[sub].d);
    largestMin = std::max(largestMin, -subs[sub].m);
  }
  SuperBlock block;
  block.d = fit::asHalf(largestScale / float(most));
  block.dmin = fit::asHalf(largestMin / float(most));
  for (unsigned sub = 0; sub < superSize / n; ++sub) {
    block.scale[sub] = block.d > 0 ? nearestInt(subs[sub].d / block.d, 0, most) : 0;
    block.min[sub] = block.dmin > 0 ? nearestInt(-subs[sub].m / block.dmin, 0, most) : 0;
  }
  return improve<n>(x, block, 0, most, most, 0, high);
}

/// q in [low, -low - 1], signed scales from `least` to -least - 1.
SuperBlock fitSigned(const float *x, float low, int least) {
  constexpr unsigned n = 16;
  float scales[superSize / n], largest = 0;
  for (unsigned sub = 0; sub < superSize / n; ++sub) {
    scales[sub] = fit::fitScale<n, fit::asFloat>(x + sub * n, low, -low - 1).d;
    if (std::fabs(scales[sub]) > std::fabs(largest))
      largest = scales[sub];
  }
  SuperBlock block;
  block.d = fit::asHalf(largest / float(least));
  for (unsigned sub = 0; sub < superSize / n; ++sub)
    block.scale[sub] = block.d != 0 ? nearestInt(scales[sub] / block.d, least, -least - 1) : 0;
  return improve<n>(x, block, least, -least - 1, 0, low, -low - 1);
}

void putHalf(std::byte *at, float value) {
  uint16_t bits = floatToHalf(value);
  std::memcpy(at, &bits, 2);
}

void orInto(std::byte &byte, int bits) { byte |= std::byte(bits); }

/// Scales and minima of six bits in twelve bytes: the upper two bits of the last four stand
/// above the first four.
void putScaleMin(const SuperBlock &block, std::byte *out) {
  for (int s = 0; s < 4; ++s) {
    out[s] = std::byte(block.scale[s] | block.scale[4 + s] >> 4 << 6);
    out[4 + s] = std::byte(block.min[s] | block.min[4 + s] >> 4 << 6);
    out[8 + s] = std::byte((block.scale[4 + s] & 15) | (block.min[4 + s] & 15) << 4);
  }
}

void q2k(const float *x, std::byte *out) {
  SuperBlock block = fitWithMin<16>(x, 3, 15);
  for (unsigned s = 0; s < 16; ++s)
    out[s] = std::byte(block.scale[s] | block.min[s] << 4);
  for (unsigned i = 0; i < superSize; ++i)
    orInto(out[16 + i / 128 * 32 + i % 32], int(block.quants[i]) << i % 128 / 32 * 2);
  putHalf(out + 80, block.d);
  putHalf(out + 82, block.dmin);
}

void q3k(const float *x, std::byte *out) {
  SuperBlock block = fitSigned(x, -4, -32);
  for (unsigned i = 0; i < superSize; ++i) {
    int q = int(block.quants[i]) + 4;
    orInto(out[i % 32], (q >> 2) << i / 32);
    orInto(out[32 + i / 128 * 32 + i % 32], (q & 3) << i % 128 / 32 * 2);
  }
  for (unsigned s = 0; s < 16; ++s) {
    int scale = block.scale[s] + 32;
    orInto(out[96 + s % 8], (scale & 15) << s / 8 * 4);
    orInto(out[104 + s % 4], (scale >> 4) << s / 4 * 2);
  }
  putHalf(out + 108, block.d);
}

template <bool fifthBit>
void q45k(const float *x, std::byte *out) {
  SuperBlock block = fitWithMin<32>(x, fifthBit ? 31 : 15, 63);
  putHalf(out, block.d);
  putHalf(out + 2, block.dmin);
  putScaleMin(block, out + 4);
  std::byte *high = out + 16, *quants = fifthBit ? high + 32 : high;
  for (unsigned i = 0; i < superSize; ++i) {
    int q = int(block.quants[i]);
    orInto(quants[i / 64 * 32 + i % 32], (q & 15) << i % 64 / 32 * 4);
    if (fifthBit)
      orInto(high[i % 32], (q >> 4) << i / 32);
  }
}

void q6k(const float *x, std::byte *out) {
  SuperBlock block = fitSigned(x, -32, -128);
  for (unsigned i = 0; i < superSize; ++i) {
    int q = int(block.quants[i]) + 32;
    orInto(out[i / 128 * 64 + i % 64], (q & 15) << i % 128 / 64 * 4);
    orInto(out[128 + i / 128 * 32 + i % 32], (q >> 4) << i % 128 / 32 * 2);
  }
  for (unsigned s = 0; s < 16; ++s)
    out[192 + s] = std::byte(int8_t(block.scale[s]));
  putHalf(out + 208, block.d);
}

} // namespace

BlockWriter superBlockWriter(std::string_view name) {
  struct Row {
    std::string_view name;
    BlockWriter writer;
  };
  static constexpr Row rows[] = {{"q2_k", q2k},
                                 {"q3_k", q3k},
                                 {"q4_k", q45k<false>},
                                 {"q5_k", q45k<true>},
                                 {"q6_k", q6k}};
  for (const Row &row : rows)
    if (row.name == name)
      return row.writer;
  return nullptr;
}

} // namespace llmc::frontend
