//===- PackingTest.cpp - panels hold the source's bits --------------------===//
#include "RandomBlocks.h"
#include "llmc/Frontend/StorageFormat.h"
#include "llmc/Kernels/CPU/Packing.h"
#include "llmc/Support/Error.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace llmc;
using namespace llmc::kernels;
using llmc::kernels::test::everyStorage;

namespace {

/// Bytes that differ from block to block and inside each.
std::vector<std::byte> sourceBytes(Storage storage, int64_t rows, int64_t cols, uint64_t seed) {
  std::vector<std::byte> bytes(size_t(rows * sourceRowBytes(storage, cols)));
  for (std::byte &byte : bytes) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    byte = std::byte(seed >> 56);
  }
  // Sums of quants are no part of a value and are not kept.
  int64_t size = storageInfo(storage).blockBytes;
  for (size_t at = 0; at < bytes.size(); at += size_t(size)) {
    if (storage == Storage::Q8_1)
      std::fill_n(bytes.begin() + ptrdiff_t(at) + 2, 2, std::byte(0));
    if (storage == Storage::Q8_K)
      std::fill_n(bytes.begin() + ptrdiff_t(at) + 260, 32, std::byte(0));
  }
  return bytes;
}

std::span<const std::byte> rowOf(const std::vector<std::byte> &bytes, int64_t row, int64_t size) {
  return std::span(bytes).subspan(size_t(row * size), size_t(size));
}

struct Packed {
  PackSpec spec;
  std::vector<std::byte> bytes;
};

Packed pack(const PackSpec &spec, const std::vector<PackSource> &sources, unsigned threads) {
  Packed packed{spec, {}};
  packed.bytes.assign(
      size_t(packedBytes(spec.storage, packedRows(spec, sources), spec.cols, spec.tile)),
      std::byte(0xee));
  packPanels(spec, sources, packed.bytes, threads);
  return packed;
}

bool equal(std::span<const std::byte> a, const std::vector<std::byte> &b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

TEST(PackingTest, ConcatenatedSourcesComeBack) {
  for (Storage storage : everyStorage())
    for (int64_t tile : {1, 2, 4})
      for (int64_t blocks : {1, 3}) {
        int64_t cols = blocks * std::max<int64_t>(32, storageInfo(storage).block);
        std::vector<std::byte> a = sourceBytes(storage, 37, cols, 1);
        std::vector<std::byte> b = sourceBytes(storage, 5, cols, 2);
        PackSpec spec{storage, cols, tile, 0};
        std::vector<PackSource> sources = {{37, a}, {5, b}};
        Packed one = pack(spec, sources, 1), many = pack(spec, sources, 7);
        EXPECT_EQ(one.bytes, many.bytes);
        EXPECT_EQ(one.bytes.size() % 64, 0u);
        int64_t size = sourceRowBytes(storage, cols);
        for (int64_t row = 0; row < 42; ++row)
          EXPECT_TRUE(equal(row < 37 ? rowOf(a, row, size) : rowOf(b, row - 37, size),
                            unpackRow(spec, one.bytes, row)))
              << storageInfo(storage).name << " row " << row;
      }
}

TEST(PackingTest, AlternatingSourcesArePadded) {
  for (Storage storage : everyStorage()) {
    const int64_t rows = 21, cols = std::max<int64_t>(64, storageInfo(storage).block);
    std::vector<std::byte> gate = sourceBytes(storage, rows, cols, 3);
    std::vector<std::byte> up = sourceBytes(storage, rows, cols, 4);
    PackSpec spec{storage, cols, 2, 16};
    std::vector<PackSource> sources = {{rows, gate}, {rows, up}};
    EXPECT_EQ(packedRows(spec, sources), 64);
    Packed packed = pack(spec, sources, 2);
    int64_t size = sourceRowBytes(storage, cols);
    for (int64_t row = 0; row < rows; ++row) {
      int64_t at = row / 16 * 32 + row % 16;
      EXPECT_TRUE(equal(rowOf(gate, row, size), unpackRow(spec, packed.bytes, at)));
      EXPECT_TRUE(equal(rowOf(up, row, size), unpackRow(spec, packed.bytes, at + 16)));
    }
  }
}

TEST(PackingTest, MissingRowsAreZeroWeights) {
  for (Storage storage : everyStorage()) {
    StorageInfo info = storageInfo(storage);
    const int64_t cols = std::max<int64_t>(32, info.block);
    PackSpec spec{storage, cols, 2, 0};
    std::vector<std::byte> a = sourceBytes(storage, 3, cols, 5);
    Packed packed = pack(spec, {{3, a}, {10, {}}}, 1);
    for (int64_t row = 3; row < 32; ++row) {
      std::vector<float> values(size_t(cols), NAN);
      frontend::dequantize(*frontend::findStorageFormat(info.name),
                           unpackRow(spec, packed.bytes, row), values);
      for (float value : values)
        EXPECT_EQ(value, 0) << info.name;
    }
  }
}

TEST(PackingTest, LayoutOfTheManifest) {
  // Row f has scale f and quants (f + i) mod 16.
  const int64_t rows = 32;
  std::vector<std::byte> source(size_t(rows * 20));
  for (int64_t f = 0; f < rows; ++f) {
    std::byte *block = source.data() + f * 20;
    block[0] = std::byte(f);
    block[2] = std::byte(100 + f);
    for (int64_t i = 0; i < 16; ++i)
      block[4 + i] = std::byte(((f + i) % 16) | ((f + i + 16) % 16) << 4);
  }
  PackSpec spec{Storage::Q4_1, 32, 2, 0};
  Packed packed = pack(spec, {{rows, source}}, 1);
  ASSERT_EQ(packed.bytes.size(), 640u);
  for (int64_t f = 0; f < rows; ++f) {
    const std::byte *record = packed.bytes.data() + f / 16 * 320;
    int64_t lane = f % 16;
    EXPECT_EQ(record[2 * lane], std::byte(f));
    EXPECT_EQ(record[32 + 2 * lane], std::byte(100 + f));
    for (int64_t j = 0; j < 4; ++j)
      for (int64_t b = 0; b < 4; ++b)
        EXPECT_EQ(record[64 + j * 64 + lane * 4 + b],
                  std::byte(((f + 8 * j + b) % 16) | ((f + 8 * j + 4 + b) % 16) << 4));
  }
}

TEST(PackingTest, LayoutOfSuperBlocks) {
  // q6_k: d in the header, two sub-scales and 6 words a record.
  const int64_t rows = 32, cols = 512;
  std::vector<std::byte> source = sourceBytes(Storage::Q6_K, rows, cols, 9);
  PackSpec spec{Storage::Q6_K, cols, 2, 0};
  Packed packed = pack(spec, {{rows, source}}, 1);
  const int64_t record = 32 + 6 * 64, block = 2 * (32 + 8 * record);
  ASSERT_EQ(int64_t(packed.bytes.size()), 2 * block);
  for (int64_t f = 0; f < rows; ++f)
    for (int64_t b = 0; b < 2; ++b) {
      const std::byte *from = source.data() + (2 * f + b) * 210;
      const std::byte *at = packed.bytes.data() + b * block;
      int64_t panel = f / 16, lane = f % 16;
      EXPECT_EQ(at[32 * panel + 2 * lane], from[208]);
      EXPECT_EQ(at[32 * panel + 2 * lane + 1], from[209]);
      for (int64_t g = 0; g < 8; ++g) {
        const std::byte *words = at + 64 + (2 * g + panel) * record;
        EXPECT_EQ(words[lane], from[192 + 2 * g]);
        EXPECT_EQ(words[16 + lane], from[193 + 2 * g]);
        uint32_t top = 0;
        for (int64_t k = 0; k < 32; ++k) {
          int64_t i = 32 * g + k;
          uint32_t low = uint32_t(from[i / 128 * 64 + i % 64]) >> i % 128 / 64 * 4 & 15;
          uint32_t high = uint32_t(from[128 + i / 128 * 32 + i % 32]) >> i % 128 / 32 * 2 & 3;
          uint32_t word = 0;
          if (k < 30) {
            std::memcpy(&word, words + 32 + k / 5 * 64 + lane * 4, 4);
            EXPECT_EQ(word >> k % 5 * 6 & 63, low | high << 4);
          } else {
            top |= (low | high << 4) << (k - 30) * 6;
          }
        }
        for (int64_t j = 0; j < 6; ++j) {
          uint32_t word = 0;
          std::memcpy(&word, words + 32 + j * 64 + lane * 4, 4);
          EXPECT_EQ(word >> 30, top >> 2 * j & 3);
        }
      }
    }
}

TEST(PackingTest, RefusesWrongSizes) {
  PackSpec spec{Storage::Q4_1, 32, 2, 0};
  std::vector<std::byte> source(39), out(640);
  EXPECT_THROW(packPanels(spec, std::vector<PackSource>{{2, source}}, out), InputError);
  source.resize(40);
  EXPECT_NO_THROW(packPanels(spec, std::vector<PackSource>{{2, source}}, out));
  EXPECT_THROW(packPanels(spec, std::vector<PackSource>{{2, source}}, std::span(out).first(639)),
               UsageError);
  EXPECT_THROW(unpackRow(spec, out, 32), UsageError);
  spec.cols = 33;
  EXPECT_THROW(packPanels(spec, std::vector<PackSource>{{2, source}}, out), UsageError);
}

TEST(PackingTest, RowsWiden) {
  auto widen = [](Storage storage, auto value) {
    std::byte bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    float out = 0;
    rowsToF32(storage, bytes, std::span(&out, 1));
    return out;
  };
  EXPECT_EQ(widen(Storage::F32, 1.25f), 1.25f);
  EXPECT_EQ(widen(Storage::F16, uint16_t(0x3e00)), 1.5f);
  EXPECT_EQ(widen(Storage::F16, uint16_t(0x8001)), -0x1p-24f);
  EXPECT_EQ(widen(Storage::F16, uint16_t(0x03ff)), 1023 * 0x1p-24f);
  EXPECT_EQ(widen(Storage::F16, uint16_t(0x7bff)), 65504.0f);
  EXPECT_EQ(widen(Storage::F16, uint16_t(0xfc00)), -INFINITY);
  EXPECT_EQ(widen(Storage::BF16, uint16_t(0xc040)), -3.0f);
}

} // namespace
