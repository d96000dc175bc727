//===- SuperBlocks.cpp - values of blocks of 256 --------------------------===//
//
// The formulas stand in StorageFormat.h. d has 11 significant bits, a scale at
// most 7 and a quant at most 5 (powers of two count for one), 23 together: every
// product is exact in f32. Only the subtraction of a minimum rounds, once.
//
//===----------------------------------------------------------------------===//
#include "BlockValues.h"

namespace llmc::frontend {

namespace {

void q2k(const std::byte *in, float *out) {
  const std::byte *scales = in, *quants = in + 16;
  float d = halfAt(in + 80), dmin = halfAt(in + 82);
  for (unsigned i = 0; i < 256; ++i) {
    int scale = byteAt(scales, i / 16);
    int q = byteAt(quants, i / 128 * 32 + i % 32) >> i % 128 / 32 * 2 & 3;
    out[i] = d * float(scale & 15) * float(q) - dmin * float(scale >> 4);
  }
}

void q3k(const std::byte *in, float *out) {
  const std::byte *high = in, *quants = in + 32, *scales = in + 96;
  float d = halfAt(in + 108);
  for (unsigned i = 0; i < 256; ++i) {
    // Scale s: low four bits in nibbles of 8 bytes, two more in the 4 bytes behind.
    unsigned s = i / 16;
    int scale = (byteAt(scales, s % 8) >> s / 8 * 4 & 15) |
                (byteAt(scales, 8 + s % 4) >> s / 4 * 2 & 3) << 4;
    int q = byteAt(quants, i / 128 * 32 + i % 32) >> i % 128 / 32 * 2 & 3;
    // A set bit means that nothing is taken off.
    if (!(byteAt(high, i % 32) >> i / 32 & 1))
      q -= 4;
    out[i] = d * float(scale - 32) * float(q);
  }
}

/// Six-bit scale and minimum of 32 elements in the twelve bytes of q4_k and q5_k.
struct ScaleMin {
  int scale, min;
};
ScaleMin scaleMin(const std::byte *scales, unsigned s) {
  if (s < 4)
    return {byteAt(scales, s) & 63, byteAt(scales, 4 + s) & 63};
  int low = byteAt(scales, 4 + s);
  return {(low & 15) | (byteAt(scales, s - 4) >> 6) << 4,
          low >> 4 | (byteAt(scales, s) >> 6) << 4};
}

/// q4_k without and q5_k with a fifth bit in 32 bytes before the nibbles.
template <bool fifthBit>
void q45k(const std::byte *in, float *out) {
  float d = halfAt(in), dmin = halfAt(in + 2);
  const std::byte *high = in + 16, *quants = fifthBit ? high + 32 : high;
  for (unsigned s = 0; s < 8; ++s) {
    auto [scale, min] = scaleMin(in + 4, s);
    float step = d * float(scale), low = dmin * float(min);
    for (unsigned j = 0; j < 32; ++j) {
      int q = byteAt(quants, s / 2 * 32 + j) >> s % 2 * 4 & 15;
      if (fifthBit)
        q |= (byteAt(high, j) >> s & 1) << 4;
      out[s * 32 + j] = step * float(q) - low;
    }
  }
}

void q6k(const std::byte *in, float *out) {
  const std::byte *low = in, *high = in + 128, *scales = in + 192;
  float d = halfAt(in + 208);
  for (unsigned i = 0; i < 256; ++i) {
    int q = (byteAt(low, i / 128 * 64 + i % 64) >> i % 128 / 64 * 4 & 15) |
            (byteAt(high, i / 128 * 32 + i % 32) >> i % 128 / 32 * 2 & 3) << 4;
    out[i] = d * float(loadAs<int8_t>(scales + i / 16)) * float(q - 32);
  }
}

void q8k(const std::byte *in, float *out) {
  float d = loadAs<float>(in);
  for (unsigned i = 0; i < 256; ++i)
    out[i] = d * float(loadAs<int8_t>(in + 4 + i));
}

void iq4xs(const std::byte *in, float *out) {
  float d = halfAt(in);
  unsigned high = loadAs<uint16_t>(in + 2);
  for (unsigned s = 0; s < 8; ++s) {
    int scale = (byteAt(in + 4, s / 2) >> s % 2 * 4 & 15) | int(high >> 2 * s & 3) << 4;
    float step = d * float(scale - 32);
    for (unsigned j = 0; j < 32; ++j)
      out[s * 32 + j] =
          step * float(nonLinear4[byteAt(in + 8 + s * 16, j % 16) >> (j < 16 ? 0 : 4) & 15]);
  }
}

/// Digit k, from the most significant, of a byte that holds five ternary digits as the
/// fraction byte / 256.
int ternary(int byte, unsigned k) {
  static constexpr int power[] = {1, 3, 9, 27, 81};
  return (byte * power[k] & 255) * 3 >> 8;
}

void tq10(const std::byte *in, float *out) {
  float d = halfAt(in + 52);
  for (unsigned i = 0; i < 160; ++i)
    out[i] = d * float(ternary(byteAt(in, i % 32), i / 32) - 1);
  for (unsigned i = 0; i < 80; ++i)
    out[160 + i] = d * float(ternary(byteAt(in + 32, i % 16), i / 16) - 1);
  for (unsigned i = 0; i < 16; ++i)
    out[240 + i] = d * float(ternary(byteAt(in + 48, i % 4), i / 4) - 1);
}

void tq20(const std::byte *in, float *out) {
  float d = halfAt(in + 64);
  for (unsigned i = 0; i < 256; ++i)
    out[i] = d * float((byteAt(in, i / 128 * 32 + i % 32) >> i % 128 / 32 * 2 & 3) - 1);
}

} // namespace

BlockReader superBlockReader(std::string_view name) {
  static constexpr NamedReader rows[] = {
      {"q2_k", eachBlock<q2k, 256, 84>},           {"q3_k", eachBlock<q3k, 256, 110>},
      {"q4_k", eachBlock<q45k<false>, 256, 144>},  {"q5_k", eachBlock<q45k<true>, 256, 176>},
      {"q6_k", eachBlock<q6k, 256, 210>},          {"q8_k", eachBlock<q8k, 256, 292>},
      {"iq4_xs", eachBlock<iq4xs, 256, 136>},      {"tq1_0", eachBlock<tq10, 256, 54>},
      {"tq2_0", eachBlock<tq20, 256, 66>},
  };
  return findReader(rows, name);
}

} // namespace llmc::frontend
