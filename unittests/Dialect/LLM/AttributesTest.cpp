//===- AttributesTest.cpp - storages, layer sets, rotary records ----------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "llmc/Dialect/LLM/IR/Storage.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace llmc::llm;

namespace {

class LLMAttributes : public testing::Test {
protected:
  LLMAttributes() { context.loadDialect<LLMDialect>(); }

  WeightType weight(ArrayRef<int64_t> shape, StringRef storage) {
    return WeightType::get(&context, shape, storageByName(&context, storage));
  }

  static std::string print(Attribute attr) {
    std::string text;
    llvm::raw_string_ostream os(text);
    attr.print(os);
    return text;
  }

  MLIRContext context;
};

TEST_F(LLMAttributes, EveryStorageNameIsKnownAndKept) {
  for (StringRef name : storageNames()) {
    ASSERT_TRUE(storageByName(&context, name)) << name.str();
    EXPECT_EQ(weight({64, 64}, name).getStorageName(), name);
  }
  EXPECT_FALSE(storageByName(&context, "q9_9"));
}

TEST_F(LLMAttributes, StorageBytes) {
  EXPECT_EQ(weight({3, 64}, "f32").getStorageBytes(), 3 * 64 * 4);
  EXPECT_EQ(weight({3, 64}, "bf16").getStorageBytes(), 3 * 64 * 2);
  // GGUF: 18, 20 and 34 bytes for 32 elements.
  EXPECT_EQ(weight({3, 64}, "q4_0").getStorageBytes(), 3 * 2 * 18);
  EXPECT_EQ(weight({3, 64}, "q4_1").getStorageBytes(), 3 * 2 * 20);
  EXPECT_EQ(weight({3, 64}, "q8_0").getStorageBytes(), 3 * 2 * 34);
  // And of ggml-common.h, for blocks of 32 and 256.
  for (auto [name, size, bytes] :
       {std::tuple{"q5_0", 32, 22}, {"q5_1", 32, 24},   {"q8_1", 32, 36},  {"iq4_nl", 32, 18},
        {"mxfp4", 32, 17},          {"q2_k", 256, 84},  {"q3_k", 256, 110}, {"q4_k", 256, 144},
        {"q5_k", 256, 176},         {"q6_k", 256, 210}, {"q8_k", 256, 292}, {"iq4_xs", 256, 136}})
    EXPECT_EQ(weight({3, 512}, name).getStorageBytes(), 3 * 512 / size * bytes) << name;
}

TEST_F(LLMAttributes, EveryStorageSurvivesText) {
  for (StringRef name : storageNames()) {
    Attribute storage = storageByName(&context, name);
    EXPECT_EQ(parseAttribute(print(storage), &context), storage) << print(storage);
  }
}

TEST_F(LLMAttributes, LayersKnowTheirMembers) {
  auto layers = LayersAttr::fromList(&context, {5, 0, 1, 2, 7, 6, 5});
  EXPECT_EQ(layers.getBounds(), ArrayRef<int64_t>({0, 3, 5, 8}));
  EXPECT_EQ(layers.size(), 6);
  EXPECT_EQ(layers.expand(), SmallVector<int64_t>({0, 1, 2, 5, 6, 7}));
  EXPECT_EQ(layers.memberOf(6), 4);
  EXPECT_EQ(layers.memberOf(3), -1);
  EXPECT_TRUE(layers.contains(7));
  EXPECT_FALSE(layers.contains(8));
}

TEST_F(LLMAttributes, RopeKeepsEveryBitThroughText) {
  SmallVector<float> frequencies;
  for (int j = 0; j < 32; ++j)
    frequencies.push_back(std::pow(10000.0f, -2.0f * j / 64));
  auto list = DenseF32ArrayAttr::get(&context, frequencies);
  auto rope = RopeAttr::get(&context, "default", 10000.0, 64, RopePairing::Halves, 0.1 * 3, list);
  EXPECT_EQ(parseAttribute(print(rope), &context), rope);
  EXPECT_EQ(rope.getMagnitude(), 0.1 * 3);
  EXPECT_NE(rope, RopeAttr::get(&context, "default", 10000.0, 64, RopePairing::Halves, 0.3, list));
}

} // namespace
