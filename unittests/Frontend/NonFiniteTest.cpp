//===- NonFiniteTest.cpp - NaN and infinities in stored weights -----------===//
#include "TestFiles.h"
#include "llmc/Frontend/NonFinite.h"

#include <cmath>
#include <limits>

using namespace llmc;
using namespace llmc::frontend;

namespace {

std::optional<NonFinite> find(const char *format, const std::string &bytes) {
  return findNonFinite(*findStorageFormat(format), std::as_bytes(std::span(bytes)));
}

} // namespace

TEST(NonFinite, FloatsOfEveryWidth) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // Behind the first chunk that is looked at, and at its borders.
  for (size_t at : {size_t(0), size_t(4095), size_t(4096), size_t(9999)}) {
    std::vector<float> values(10000, 1.0f);
    EXPECT_FALSE(find("f32", std::string(reinterpret_cast<char *>(values.data()), 40000)));
    for (float bad : {nan, infinity, -infinity}) {
      values[at] = bad;
      auto found = find("f32", std::string(reinterpret_cast<char *>(values.data()), 40000));
      ASSERT_TRUE(found);
      EXPECT_EQ(found->element, at);
      EXPECT_EQ(std::isnan(found->value), std::isnan(bad));
    }
    for (const auto &[format, largest, bad] :
         {std::tuple("f16", uint16_t(0x7bff), uint16_t(0x7c00)),
          std::tuple("f16", uint16_t(0xfbff), uint16_t(0xfe01)),
          std::tuple("bf16", uint16_t(0x7f7f), uint16_t(0xff80)),
          std::tuple("bf16", uint16_t(0x0001), uint16_t(0x7fc0))}) {
      std::vector<uint16_t> words(10000, largest);
      EXPECT_FALSE(find(format, std::string(reinterpret_cast<char *>(words.data()), 20000)));
      words[at] = bad;
      auto found = find(format, std::string(reinterpret_cast<char *>(words.data()), 20000));
      ASSERT_TRUE(found) << format;
      EXPECT_EQ(found->element, at);
    }
  }
}

TEST(NonFinite, ScalesOfBlocks) {
  const StorageFormat &format = *findStorageFormat("q8_0");
  std::string bytes(300 * format.blockBytes, '\1');
  EXPECT_FALSE(find("q8_0", bytes));
  // The scale of block 200, an infinity: its first value that is not zero.
  bytes[200 * format.blockBytes] = 0x00;
  bytes[200 * format.blockBytes + 1] = 0x7c;
  auto found = find("q8_0", bytes);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->element, 200u * 32);
}

TEST(NonFinite, NamesTheElement) {
  CheckpointTensor tensor;
  tensor.name = "a.weight";
  tensor.shape = {3, 4, 5};
  EXPECT_EQ(describeNonFinite(tensor, {2 * 20 + 3 * 5 + 1, NAN}),
            "tensor 'a.weight': element [2, 3, 1] is NaN");
  tensor.shape = {7};
  EXPECT_EQ(describeNonFinite(tensor, {6, -INFINITY}), "tensor 'a.weight': element [6] is -infinite");
  tensor.shape = {};
  EXPECT_EQ(describeNonFinite(tensor, {0, INFINITY}), "tensor 'a.weight': element [] is infinite");
}
