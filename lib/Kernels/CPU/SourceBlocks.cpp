//===- SourceBlocks.cpp - the parts of a block of a checkpoint ------------===//
#include "SourceBlocks.h"
#include <cstring>

namespace llmc::kernels {
namespace {

/// Some bits of every quant: a run of `run` elements fills n = run * bits / 8 bytes, of
/// which byte j holds elements j, j + n, j + 2 n, ... from its lowest bits up.
struct Plane {
  int bits = 0, run = 1;
  int offset = 0;
};

/// How a block keeps its integer sub-scales.
enum class SubScales : uint8_t {
  None,
  Byte,      ///< One byte each.
  Pairs,     ///< s in the low and t in the high half of a byte each.
  Sixteen6,  ///< q3_k: 16 of 6 bits less 32; nibbles of 8 bytes, then 2 bits each in 4 bytes.
  EightOf6,  ///< q4_k, q5_k: 8 of s and of t, 6 bits each, in 12 bytes.
  EightSplit ///< iq4_xs: 8 of 6 bits less 32; 2 bits each in a u16, then nibbles of 4 bytes.
};

struct SourceRow {
  Storage storage;
  /// Places of the scale and of the minimum's; -1: none.
  int d, m;
  SubScales subScales;
  int scales;
  Plane planes[2];
};

using enum SubScales;

// clang-format off
constexpr SourceRow rows[] = {
    {Storage::Q4_0,     0, -1, None,        0, {{4, 32, 2}}},
    {Storage::Q4_1,     0,  2, None,        0, {{4, 32, 4}}},
    {Storage::Q5_0,     0, -1, None,        0, {{4, 32, 6}, {1, 8, 2}}},
    {Storage::Q5_1,     0,  2, None,        0, {{4, 32, 8}, {1, 8, 4}}},
    {Storage::Q8_0,     0, -1, None,        0, {{8, 1, 2}}},
    {Storage::Q8_1,     0, -1, None,        0, {{8, 1, 4}}},
    {Storage::Q2_K,    80, 82, Pairs,       0, {{2, 128, 16}}},
    {Storage::Q3_K,   108, -1, Sixteen6,   96, {{2, 128, 32}, {1, 256, 0}}},
    {Storage::Q4_K,     0,  2, EightOf6,    4, {{4, 64, 16}}},
    {Storage::Q5_K,     0,  2, EightOf6,    4, {{4, 64, 48}, {1, 256, 16}}},
    {Storage::Q6_K,   208, -1, Byte,      192, {{4, 128, 0}, {2, 128, 128}}},
    {Storage::Q8_K,     0, -1, None,        0, {{8, 1, 4}}},
    {Storage::IQ4_NL,   0, -1, None,        0, {{4, 32, 2}}},
    {Storage::IQ4_XS,   0, -1, EightSplit,  2, {{4, 32, 8}}},
    {Storage::MXFP4,   -1, -1, Byte,        0, {{4, 32, 1}}},
};
// clang-format on

const SourceRow &rowOf(Storage storage) {
  for (const SourceRow &row : rows)
    if (row.storage == storage)
      return row;
  __builtin_unreachable(); // Plain floats are no blocks.
}

/// Calls visit(element, byte, shift) for the elements of a plane.
template <typename Visit>
void forPlane(const Plane &plane, int64_t size, Visit visit) {
  int bytes = plane.run * plane.bits / 8, parts = 8 / plane.bits;
  for (int64_t run = 0, at = plane.offset; run < size; run += plane.run, at += bytes)
    for (int part = 0; part < parts; ++part)
      for (int j = 0; j < bytes; ++j)
        visit(run + part * bytes + j, at + j, part * plane.bits);
}

int byteAt(const std::byte *p, int64_t i) { return std::to_integer<int>(p[i]); }

void readSubScales(const SourceRow &row, int64_t count, const std::byte *p, BlockParts &parts) {
  for (int i = 0; i < int(count); ++i)
    switch (row.subScales) {
    case None:
      break;
    case Byte:
      parts.s[i] = uint8_t(byteAt(p, i));
      break;
    case Pairs:
      parts.s[i] = uint8_t(byteAt(p, i) & 15);
      parts.t[i] = uint8_t(byteAt(p, i) >> 4);
      break;
    case Sixteen6:
      parts.s[i] = uint8_t((byteAt(p, i % 8) >> i / 8 * 4 & 15) +
                           (byteAt(p, 8 + i % 4) >> i / 4 * 2 & 3) * 16 - 32);
      break;
    case EightOf6:
      if (i < 4) {
        parts.s[i] = uint8_t(byteAt(p, i) & 63);
        parts.t[i] = uint8_t(byteAt(p, 4 + i) & 63);
      } else {
        parts.s[i] = uint8_t((byteAt(p, 4 + i) & 15) | byteAt(p, i - 4) >> 6 << 4);
        parts.t[i] = uint8_t(byteAt(p, 4 + i) >> 4 | byteAt(p, i) >> 6 << 4);
      }
      break;
    case EightSplit:
      parts.s[i] = uint8_t((byteAt(p, 2 + i / 2) >> i % 2 * 4 & 15) +
                           (byteAt(p, i / 4) >> i % 4 * 2 & 3) * 16 - 32);
      break;
    }
}

void writeSubScales(const SourceRow &row, int64_t count, const BlockParts &parts, std::byte *p) {
  auto put = [&](int64_t i, int bits) { p[i] |= std::byte(bits); };
  for (int i = 0; i < int(count); ++i) {
    int s = parts.s[i], t = parts.t[i];
    int offset = uint8_t(s + 32) & 63;
    switch (row.subScales) {
    case None:
      break;
    case Byte:
      put(i, s);
      break;
    case Pairs:
      put(i, s | t << 4);
      break;
    case Sixteen6:
      put(i % 8, (offset & 15) << i / 8 * 4);
      put(8 + i % 4, offset >> 4 << i / 4 * 2);
      break;
    case EightOf6:
      put(i < 4 ? i : 4 + i, i < 4 ? s : (s & 15) | (t & 15) << 4);
      put(i < 4 ? 4 + i : i - 4, i < 4 ? t : s >> 4 << 6);
      if (i >= 4)
        put(i, t >> 4 << 6);
      break;
    case EightSplit:
      put(2 + i / 2, (offset & 15) << i % 2 * 4);
      put(i / 4, offset >> 4 << i % 4 * 2);
      break;
    }
  }
}

/// Integer sub-scales of a block, the exponent of E8M0 among them.
int64_t subScaleCount(const StorageInfo &info) {
  return info.block / info.subGroup;
}

} // namespace

void readBlock(Storage storage, const std::byte *block, BlockParts &parts) {
  const SourceRow &row = rowOf(storage);
  StorageInfo info = storageInfo(storage);
  if (info.scale == ScaleForm::Float)
    std::memcpy(&parts.wide, block + row.d, 4);
  else if (row.d >= 0)
    std::memcpy(&parts.d, block + row.d, 2);
  if (row.m >= 0)
    std::memcpy(&parts.m, block + row.m, 2);
  readSubScales(row, subScaleCount(info), block + row.scales, parts);
  if (info.bits == 8) {
    for (int64_t i = 0; i < info.block; ++i)
      parts.codes[i] = uint8_t(byteAt(block, row.planes[0].offset + i) ^ 0x80);
    return;
  }
  int low = 0;
  for (const Plane &plane : row.planes) {
    if (!plane.bits)
      break;
    int mask = (1 << plane.bits) - 1;
    forPlane(plane, info.block, [&](int64_t element, int64_t at, int shift) {
      int part = (byteAt(block, at) >> shift & mask) << low;
      parts.codes[element] = uint8_t(low ? parts.codes[element] | part : part);
    });
    low += plane.bits;
  }
}

void writeBlock(Storage storage, const BlockParts &parts, std::byte *block) {
  const SourceRow &row = rowOf(storage);
  StorageInfo info = storageInfo(storage);
  std::memset(block, 0, size_t(info.blockBytes));
  if (info.scale == ScaleForm::Float)
    std::memcpy(block + row.d, &parts.wide, 4);
  else if (row.d >= 0)
    std::memcpy(block + row.d, &parts.d, 2);
  if (row.m >= 0)
    std::memcpy(block + row.m, &parts.m, 2);
  writeSubScales(row, subScaleCount(info), parts, block + row.scales);
  if (info.bits == 8) {
    for (int64_t i = 0; i < info.block; ++i)
      block[row.planes[0].offset + i] = std::byte(parts.codes[i] ^ 0x80);
    return;
  }
  int low = 0;
  for (const Plane &plane : row.planes) {
    if (!plane.bits)
      break;
    int mask = (1 << plane.bits) - 1;
    forPlane(plane, info.block, [&](int64_t element, int64_t at, int shift) {
      block[at] |= std::byte((parts.codes[element] >> low & mask) << shift);
    });
    low += plane.bits;
  }
}

} // namespace llmc::kernels
