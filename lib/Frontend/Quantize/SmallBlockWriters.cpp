//===- SmallBlockWriters.cpp - q4_0 q4_1 q5_0 q5_1 q8_0 -------------------===//
#include "BlockWriters.h"
#include "Fit.h"

#include <cstring>

namespace llmc::frontend {

namespace {

void putHalf(std::byte *at, float value) {
  uint16_t bits = floatToHalf(value);
  std::memcpy(at, &bits, 2);
}

/// Quant j in the low nibble of byte j, j + 16 in the high one, and fifth bits in 32 of their
/// own.
void putQuants(const float *quants, int offset, std::byte *fifth, std::byte *nibbles) {
  uint32_t high = 0;
  for (unsigned j = 0; j < 16; ++j) {
    int a = int(quants[j]) + offset, b = int(quants[16 + j]) + offset;
    nibbles[j] = std::byte((a & 15) | (b & 15) << 4);
    high |= uint32_t(a >> 4) << j | uint32_t(b >> 4) << (16 + j);
  }
  if (fifth)
    std::memcpy(fifth, &high, 4);
}

template <int levels>
void symmetric(const float *x, std::byte *block) {
  constexpr float low = -levels / 2, high = levels / 2 - 1;
  float d = fit::fitScale<32, fit::asHalf>(x, low, high).d, quants[32];
  fit::nearest<32>(x, d, 0, low, high, quants);
  putHalf(block, d);
  putQuants(quants, levels / 2, levels == 32 ? block + 2 : nullptr, block + (levels == 32 ? 6 : 2));
}

template <int levels>
void affine(const float *x, std::byte *block) {
  fit::Affine found = fit::fitAffine<32, fit::asHalf, false>(x, levels - 1);
  float quants[32];
  fit::nearest<32>(x, found.d, found.m, 0, levels - 1, quants);
  putHalf(block, found.d);
  putHalf(block + 2, found.m);
  putQuants(quants, 0, levels == 32 ? block + 4 : nullptr, block + (levels == 32 ? 8 : 4));
}

void q80(const float *x, std::byte *block) {
  // -128 stays unused, as in every published file: some kernels negate quants.
  float d = fit::fitScale<32, fit::asHalf>(x, -127, 127).d, quants[32];
  fit::nearest<32>(x, d, 0, -127, 127, quants);
  putHalf(block, d);
  for (unsigned j = 0; j < 32; ++j)
    block[2 + j] = std::byte(int8_t(quants[j]));
}

} // namespace

BlockWriter smallBlockWriter(std::string_view name) {
  struct Row {
    std::string_view name;
    BlockWriter writer;
  };
  static constexpr Row rows[] = {{"q4_0", symmetric<16>},
                                 {"q4_1", affine<16>},
                                 {"q5_0", symmetric<32>},
                                 {"q5_1", affine<32>},
                                 {"q8_0", q80}};
  for (const Row &row : rows)
    if (row.name == name)
      return row.writer;
  return nullptr;
}

} // namespace llmc::frontend
