//===- StorageFormatTest.cpp - values of every readable format ------------===//
#include "llmc/Frontend/StorageFormat.h"
#include "TestFiles.h"

#include <cmath>
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

TEST(StorageFormat, RowsAndRefusals) {
  std::string bytes;
  for (float value : {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})
    bytes += bytesOf(value);
  auto span = std::as_bytes(std::span(bytes.data(), bytes.size()));
  EXPECT_EQ(dequantizeRows(*findStorageFormat("f32"), span, 2, 1, 2),
            (std::vector<float>{3, 4, 5, 6}));
  EXPECT_THROW(dequantizeRows(*findStorageFormat("f32"), span, 2, 2, 2), InternalError);
  std::vector<float> out(256);
  EXPECT_INPUT_ERROR(dequantize(*findStorageFormat("q6_k"), span, out), testing::HasSubstr("q6_k"));
}
