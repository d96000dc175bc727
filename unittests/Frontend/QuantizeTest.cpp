//===- QuantizeTest.cpp - blocks that llmc makes of floats -----------------===//
#include "llmc/Frontend/Quantize.h"
#include "llmc/Frontend/WeightFormats.h"
#include "TestFiles.h"

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>

using namespace llmc;
using namespace llmc::frontend;
using testing::HasSubstr;

namespace {

/// Random values of a normal distribution, the same on every machine.
class Normal {
public:
  explicit Normal(uint64_t seed) : state(seed) {}
  float next() {
    // Twelve uniform values: close enough, and exact arithmetic.
    int64_t sum = 0;
    for (int i = 0; i < 12; ++i)
      sum += uniform() >> 11;
    return float(double(sum) * 0x1p-53 - 6);
  }
  uint64_t uniform() {
    state += 0x9E3779B97F4A7C15;
    uint64_t z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }

private:
  uint64_t state;
};

std::vector<float> restore(const StorageFormat &format, const std::vector<std::byte> &bytes) {
  std::vector<float> out(bytes.size() / format.blockBytes * format.blockSize);
  dequantize(format, bytes, out);
  return out;
}

StorageError errorOf(const StorageFormat &format, const std::vector<float> &values) {
  StorageError error;
  error.add(values, restore(format, encodeValues(format, values, "w")));
  return error;
}

class EveryQuantizer : public testing::TestWithParam<const char *> {
protected:
  const StorageFormat &format = *findStorageFormat(GetParam());
};

} // namespace

TEST(QuantizableFormat, IsFoundInAnyCaseAndHasANearestOne) {
  EXPECT_EQ(&quantizableFormat("Q4_K"), findStorageFormat("q4_k"));
  EXPECT_EQ(&quantizableFormat("q8_0"), findStorageFormat("q8_0"));
  auto message = [](const char *name) -> std::string {
    try {
      quantizableFormat(name);
    } catch (const UsageError &error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message("q4_k_m"), HasSubstr("the nearest is q4_k; known: q4_0, q4_1"));
  EXPECT_THAT(message("Q3_K_XL"), HasSubstr("the nearest is q3_k; "));
  EXPECT_THAT(message("q6k"), HasSubstr("the nearest is q6_k; "));
  EXPECT_THAT(message("bf16"), testing::AllOf(HasSubstr("bf16 is no format that llmc can make"),
                                              HasSubstr("known: q4_0")));
}

/// Weights, and for each format the mean of the squared errors, in units of 1e-9, that the
/// quantisers of llama.cpp cause; Inputs/Quantize/make.py made both.
TEST_P(EveryQuantizer, IsNoWorseThanThePublishedOne) {
  std::string folder = llmc::test::sourceFolder() + "/unittests/Frontend/Inputs/Quantize/";
  std::ifstream data(folder + "normal.bin", std::ios::binary), bounds(folder + "errors.txt");
  std::string bytes(std::istreambuf_iterator<char>(data), {}), name;
  ASSERT_EQ(bytes.size() % 1024, 0u);
  ASSERT_FALSE(bytes.empty());
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  double published = 0, bound = -1;
  while (bounds >> name >> published)
    if (name == GetParam())
      bound = published * 1e-9;
  ASSERT_GT(bound, 0);
  StorageError error = errorOf(format, values);
  EXPECT_LE(error.squaredErrors / double(error.elements), bound);
  RecordProperty("errors", std::to_string(error.squaredErrors / double(error.elements) * 1e9));
}

TEST_P(EveryQuantizer, KeepsWhatItCanHold) {
  // Zeros, one value, tiny values, and values that blocks stand for.
  std::vector<float> zeros(256, 0.0f), one(256, 0.0f), tiny(256, 1e-30f);
  EXPECT_EQ(restore(format, encodeValues(format, zeros, "w")), zeros);
  one[37] = -3;
  EXPECT_LE(errorOf(format, one).relativeMax(), 0.002);
  for (float value : restore(format, encodeValues(format, tiny, "w")))
    EXPECT_LE(std::fabs(value), 1e-7f);
  // A stored block is found again, exactly or as well: its quants reach both ends.
  Normal random(3);
  std::vector<float> grid(256);
  for (float &value : grid)
    value = random.next();
  std::vector<float> stored = restore(format, encodeValues(format, grid, "w"));
  StorageError again = errorOf(format, stored);
  EXPECT_LE(again.relativeRms(), errorOf(format, grid).relativeRms() * 0.5);
}

TEST_P(EveryQuantizer, DependsOnTheBlockAlone) {
  Normal random(4);
  std::vector<float> values(1024);
  for (float &value : values)
    value = random.next() * (random.uniform() % 5 ? 0.02f : 1.0f);
  std::vector<std::byte> whole = encodeValues(format, values, "w");
  for (size_t at = 0; at < values.size(); at += format.blockSize) {
    std::vector<float> block(values.begin() + at, values.begin() + at + format.blockSize);
    std::vector<std::byte> alone = encodeValues(format, block, "w");
    EXPECT_EQ(0, std::memcmp(alone.data(), whole.data() + at / format.blockSize * format.blockBytes,
                             alone.size()));
  }
}

TEST_P(EveryQuantizer, RefusesWhatBlocksCannotHold) {
  std::vector<float> values(256, 1.0f);
  values[200] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_INPUT_ERROR(encodeValues(format, values, "tensor 'w'"), HasSubstr("tensor 'w'"),
                     HasSubstr("element 200"), HasSubstr("nan"));
  values[200] = -std::numeric_limits<float>::infinity();
  EXPECT_INPUT_ERROR(encodeValues(format, values, "tensor 'w'"), HasSubstr("element 200"),
                     HasSubstr("-inf"));
  values[200] = -65504;
  for (float value : restore(format, encodeValues(format, values, "w")))
    EXPECT_TRUE(std::isfinite(value));
  values[200] = 65505;
  EXPECT_INPUT_ERROR(encodeValues(format, values, "tensor 'w'"), HasSubstr("element 200"),
                     HasSubstr("65504"), HasSubstr(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Quantize, EveryQuantizer,
                         testing::Values("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q2_k", "q3_k",
                                         "q4_k", "q5_k", "q6_k"),
                         [](const auto &test) { return std::string(test.param); });

TEST(Quantize, FormatsAndNames) {
  EXPECT_EQ(quantizableNames(), "q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k");
  EXPECT_FALSE(canQuantize(*findStorageFormat("iq4_nl")));
  std::vector<float> values(32);
  EXPECT_INPUT_ERROR(encodeValues(*findStorageFormat("iq4_nl"), values, "w"), HasSubstr("iq4_nl"),
                     HasSubstr("q5_1"));
  EXPECT_INPUT_ERROR(encodeValues(*findStorageFormat("q4_k"), values, "w"),
                     HasSubstr("32 elements"));
}

TEST(Quantize, PlainFormats) {
  std::vector<float> values{1, -0.0f, 65504, 65519.996f, 1 + 0x1p-11f, 1 + 0x1.8p-10f, 0x1p-25f,
                            0x1.8p-24f, 0x1.FFFp-15f};
  const StorageFormat &f16 = *findStorageFormat("f16");
  EXPECT_EQ(restore(f16, encodeValues(f16, values, "w")),
            (std::vector<float>{1, -0.0f, 65504, 65504, 1, 1 + 0x1p-9f, 0, 0x1p-23f, 0x1p-14f}));
  EXPECT_EQ(floatToHalf(65520), 0x7C00);
  EXPECT_TRUE(std::isnan(halfToFloat(floatToHalf(NAN))));
  // Every half comes back.
  for (uint32_t bits = 0; bits < 0x7C00; ++bits)
    ASSERT_EQ(floatToHalf(halfToFloat(uint16_t(bits))), bits);
  EXPECT_EQ(floatToBfloat16(1 + 0x1p-8f), 0x3F80);
  EXPECT_EQ(floatToBfloat16(1 + 0x1.8p-7f), 0x3F82);
  EXPECT_EQ(floatToBfloat16(3.4e38f), 0x7F80);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(NAN))));
}

TEST(Quantize, EightBitFloatsAreExactInBf16) {
  const StorageFormat &bf16 = *findStorageFormat("bf16");
  for (const StorageFormat &format : storageFormats()) {
    if (format.element != ElementKind::Float8)
      continue;
    EXPECT_EQ(&compiledFormat(format), &bf16);
    std::vector<std::byte> codes(256);
    for (int i = 0; i < 256; ++i)
      codes[i] = std::byte(i);
    std::vector<float> values = restore(format, codes),
                       stored = restore(bf16, encodeValues(bf16, values, "w"));
    for (int i = 0; i < 256; ++i)
      if (std::isnan(values[i]))
        EXPECT_TRUE(std::isnan(stored[i])) << format.name << " " << i;
      else
        EXPECT_EQ(values[i], stored[i]) << format.name << " " << i;
  }
  EXPECT_EQ(compiledFormat(*findStorageFormat("f64")).name, "f32");
  EXPECT_EQ(compiledFormat(*findStorageFormat("q4_1")).name, "q4_1");
}

TEST(Quantize, ErrorsAreMeasured) {
  std::vector<float> values{3, -4, 0, 0}, stored{3, -4.5f, 0.5f, 0};
  StorageError error, half;
  error.add(std::span(values).first(2), std::span(stored).first(2));
  half.add(std::span(values).last(2), std::span(stored).last(2));
  error.add(half);
  EXPECT_EQ(error.elements, 4u);
  EXPECT_DOUBLE_EQ(error.rms(), std::sqrt(0.5 / 4));
  EXPECT_DOUBLE_EQ(error.relativeRms(), std::sqrt(0.5 / 25));
  EXPECT_DOUBLE_EQ(error.relativeMax(), 0.125);
}
