//===- StorageFormatTest.cpp - values of every readable format ------------===//
#include "llmc/Frontend/StorageFormat.h"
#include "TestFiles.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

using namespace llmc;
using namespace llmc::frontend;
using llmc::test::bytesOf;

static std::vector<float> values(const char *format, const std::string &bytes, size_t count) {
  std::vector<float> out(count);
  dequantize(*findStorageFormat(format), std::as_bytes(std::span(bytes.data(), bytes.size())), out);
  return out;
}

TEST(StorageFormat, TableIsConsistent) {
  for (const StorageFormat &format : storageFormats()) {
    EXPECT_EQ(findStorageFormat(format.name), &format);
    if (format.ggmlType >= 0) {
      EXPECT_EQ(findGgmlFormat(uint32_t(format.ggmlType)), &format) << format.name;
    }
    if (!format.safetensorsName.empty()) {
      EXPECT_EQ(findSafetensorsFormat(format.safetensorsName), &format) << format.name;
    }
    // Scales only add to the quants.
    EXPECT_GE(format.blockBytes * 8, format.bits * format.blockSize) << format.name;
  }
}

TEST(StorageFormat, BytesAreWholeBlocks) {
  EXPECT_EQ(storageBytes(*findStorageFormat("q4_1"), 64), 40u);
  EXPECT_EQ(storageBytes(*findStorageFormat("q4_1"), 33), std::nullopt);
  EXPECT_EQ(storageBytes(*findStorageFormat("f32"), UINT64_MAX / 2), std::nullopt);
}

TEST(StorageFormat, HalfIsExact) {
  EXPECT_EQ(halfToFloat(0x3C00), 1.0f);
  EXPECT_EQ(halfToFloat(0xC000), -2.0f);
  EXPECT_EQ(halfToFloat(0x7BFF), 65504.0f);
  EXPECT_EQ(halfToFloat(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(halfToFloat(0x83FF), -std::ldexp(1023.0f, -24));
  EXPECT_EQ(halfToFloat(0x0400), std::ldexp(1.0f, -14));
  EXPECT_TRUE(std::signbit(halfToFloat(0x8000)));
  EXPECT_EQ(halfToFloat(0xFC00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(halfToFloat(0x7E01)));
  EXPECT_EQ(bfloat16ToFloat(0x3F80), 1.0f);
  EXPECT_EQ(bfloat16ToFloat(0xC2C8), -100.0f);
}

TEST(StorageFormat, BlockLayouts) {
  // d = 0.5; byte j holds element j in its low and element j + 16 in its high nibble.
  std::string nibbles(16, '\0');
  nibbles[0] = char(0xF0);
  nibbles[15] = 0x39;
  auto q40 = values("q4_0", bytesOf<uint16_t>(0x3800) + nibbles, 32);
  EXPECT_EQ(q40[0], -4.0f);
  EXPECT_EQ(q40[16], 3.5f);
  EXPECT_EQ(q40[15], 0.5f);
  EXPECT_EQ(q40[31], -2.5f);
  auto q41 = values("q4_1", bytesOf<uint16_t>(0x3800) + bytesOf<uint16_t>(0xBC00) + nibbles, 32);
  EXPECT_EQ(q41[0], -1.0f);
  EXPECT_EQ(q41[16], 6.5f);
  EXPECT_EQ(q41[15], 3.5f);
  EXPECT_EQ(q41[31], 0.5f);
  std::string quants(32, '\0');
  quants[1] = char(-128);
  quants[31] = 127;
  auto q80 = values("q8_0", bytesOf<uint16_t>(0x3800) + quants, 32);
  EXPECT_EQ(q80[1], -64.0f);
  EXPECT_EQ(q80[31], 63.5f);
}

TEST(StorageFormat, Q41RoundsOnce) {
  // The sum is exact in double, so rounding it is the one rounding that is allowed.
  for (uint16_t d = 0x2E01; d < 0x2E41; d += 7)
    for (uint16_t m = 0xB903; m < 0xB943; m += 5) {
      auto got = values("q4_1", bytesOf(d) + bytesOf(m) + std::string(16, char(0xDB)), 32);
      double exact = double(halfToFloat(d)) * 11 + double(halfToFloat(m));
      EXPECT_EQ(got[0], float(exact));
    }
}

/// Blocks and their values, computed by the package gguf; Inputs/Formats/make.py made them.
class PublishedValues : public testing::TestWithParam<const char *> {};

TEST_P(PublishedValues, AreTheSameBits) {
  const StorageFormat &format = *findStorageFormat(GetParam());
  std::ifstream in(llmc::test::sourceFolder() + "/unittests/Frontend/Inputs/Formats/" +
                       GetParam() + ".bin",
                   std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  size_t blocks = bytes.size() / (format.blockBytes + 4 * format.blockSize);
  ASSERT_GE(blocks, 8u);
  ASSERT_EQ(bytes.size(), blocks * (format.blockBytes + 4 * format.blockSize));
  size_t count = blocks * format.blockSize, stored = blocks * format.blockBytes;
  std::vector<float> got = values(GetParam(), bytes.substr(0, stored), count), expected(count);
  std::memcpy(expected.data(), bytes.data() + stored, 4 * count);
  for (size_t i = 0; i < count; ++i)
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(got[i])) << i;
    else
      ASSERT_EQ(bytesOf(got[i]), bytesOf(expected[i]))
          << i << ": " << got[i] << " for " << expected[i];
}

INSTANTIATE_TEST_SUITE_P(StorageFormat, PublishedValues,
                         testing::Values("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl", "mxfp4",
                                         "nvfp4", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs",
                                         "tq1_0", "tq2_0", "f8e4m3", "f8e5m2", "f8e4m3fnuz",
                                         "f8e5m2fnuz", "f8e8m0"),
                         [](const auto &test) { return std::string(test.param); });

TEST(StorageFormat, FormatsWithoutPublishedReader) {
  // The sum behind the scale is no part of the values.
  std::string quants(32, '\0');
  quants[0] = char(-128);
  quants[31] = 127;
  auto q81 = values("q8_1", bytesOf<uint16_t>(0x3800) + bytesOf<uint16_t>(0x7C00) + quants, 32);
  EXPECT_EQ(q81[0], -64.0f);
  EXPECT_EQ(q81[31], 63.5f);
  std::string many(256, char(3));
  many[255] = char(-128);
  auto q8k = values("q8_k", bytesOf(0.1f) + many + std::string(32, char(-1)), 256);
  EXPECT_EQ(q8k[0], 0.1f * 3);
  EXPECT_EQ(q8k[255], 0.1f * -128);
  // A tie goes to the even neighbour.
  double tie = 1 + 0x1p-24;
  EXPECT_EQ(values("f64", bytesOf(tie) + bytesOf(1e300) + bytesOf(-0x1p-149), 3),
            (std::vector<float>{1.0f, std::numeric_limits<float>::infinity(), -0x1p-149f}));
}

TEST(StorageFormat, EveryReadableFormatHasAReader) {
  for (const StorageFormat &format : storageFormats()) {
    std::vector<std::byte> block(format.blockBytes);
    std::vector<float> out(format.blockSize);
    if (format.readable)
      EXPECT_NO_THROW(dequantize(format, block, out)) << format.name;
    else
      EXPECT_INPUT_ERROR(dequantize(format, block, out),
                         testing::HasSubstr(std::string(format.name)));
  }
}

TEST(StorageFormat, RowsAndRefusals) {
  std::string bytes;
  for (float value : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})
    bytes += bytesOf(value);
  auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  EXPECT_EQ(dequantizeRows(*findStorageFormat("f32"), span, 2, 1, 2),
            (std::vector<float>{3, 4, 5, 6}));
  EXPECT_THROW(dequantizeRows(*findStorageFormat("f32"), span, 2, 2, 2), InternalError);
  std::vector<float> out(2);
  EXPECT_THROW(dequantize(*findStorageFormat("f32"), span, out), InternalError);
}
