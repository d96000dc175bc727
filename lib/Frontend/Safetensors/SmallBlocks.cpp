//===- SmallBlocks.cpp - values of blocks with one kind of scale ----------===//
//
// The formulas stand in StorageFormat.h. A half has 11 significant bits and a
// quant at most 8, so every product here is exact in f32 and each value is
// rounded once at most, with or without fused operations.
//
//===----------------------------------------------------------------------===//
#include "BlockValues.h"

#include <cmath>

namespace llmc::frontend {

namespace {

/// Quant j of a block of 32: low nibbles hold 0..15, high ones 16..31.
int nibble(const std::byte *quants, unsigned j) {
  return byteAt(quants, j % 16) >> (j < 16 ? 0 : 4) & 15;
}

/// The same with a fifth bit from 32 more bits.
int fiveBits(const std::byte *high, const std::byte *quants, unsigned j) {
  return nibble(quants, j) | int(loadAs<uint32_t>(high) >> j & 1) << 4;
}

void q40(const std::byte *in, float *out) {
  float d = halfAt(in);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(nibble(in + 2, j) - 8);
}

void q41(const std::byte *in, float *out) {
  float d = halfAt(in), m = halfAt(in + 2);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(nibble(in + 4, j)) + m;
}

void q50(const std::byte *in, float *out) {
  float d = halfAt(in);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(fiveBits(in + 2, in + 6, j) - 16);
}

void q51(const std::byte *in, float *out) {
  float d = halfAt(in), m = halfAt(in + 2);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(fiveBits(in + 4, in + 8, j)) + m;
}

template <unsigned scaleBytes>
void q8(const std::byte *in, float *out) {
  float d = halfAt(in);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(loadAs<int8_t>(in + scaleBytes + j));
}

void iq4nl(const std::byte *in, float *out) {
  float d = halfAt(in);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(nonLinear4[nibble(in + 2, j)]);
}

/// Twice the values of e2m1, which makes them integers. Code 8 is +0, as in ggml.
constexpr int8_t twiceE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void mxfp4(const std::byte *in, float *out) {
  // 2^(e - 128): half of the e8m0 scale, because the quants are doubled. The two smallest are
  // subnormal. 255 is no NaN in ggml.
  uint32_t e = uint32_t(byteAt(in, 0));
  float d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
  for (unsigned j = 0; j < 32; ++j)
    out[j] = d * float(twiceE2M1[nibble(in + 1, j)]);
}

/// Half of an unsigned e4m3 scale; 0x7F stands for 0 and the sign bit for nothing.
float halfUE4M3(int code) {
  if (code == 0x7F)
    return 0;
  int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent ? std::ldexp(float(8 + mantissa), exponent - 11) : float(mantissa) * 0x1p-10f;
}

void nvfp4(const std::byte *in, float *out) {
  for (unsigned g = 0; g < 4; ++g) {
    float d = halfUE4M3(byteAt(in, g));
    for (unsigned j = 0; j < 16; ++j) {
      int code = byteAt(in + 4 + g * 8, j % 8) >> (j < 8 ? 0 : 4) & 15;
      out[g * 16 + j] = d * float(twiceE2M1[code]);
    }
  }
}

} // namespace

BlockReader smallBlockReader(std::string_view name) {
  static constexpr NamedReader rows[] = {
      {"q4_0", eachBlock<q40, 32, 18>},     {"q4_1", eachBlock<q41, 32, 20>},
      {"q5_0", eachBlock<q50, 32, 22>},     {"q5_1", eachBlock<q51, 32, 24>},
      {"q8_0", eachBlock<q8<2>, 32, 34>},   {"q8_1", eachBlock<q8<4>, 32, 36>},
      {"iq4_nl", eachBlock<iq4nl, 32, 18>}, {"mxfp4", eachBlock<mxfp4, 32, 17>},
      {"nvfp4", eachBlock<nvfp4, 64, 36>},
  };
  return findReader(rows, name);
}

} // namespace llmc::frontend
