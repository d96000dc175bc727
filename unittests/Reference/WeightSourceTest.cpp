//===- WeightSourceTest.cpp - weights by name, and the cache --------------===//
#include "TinyModel.h"

#include "llmc/Frontend/Checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

using namespace llmc::reference;
using testing::HasSubstr;

namespace {

/// Two values of each tensor name that there is; counts loads.
class CountingSource : public WeightSource {
public:
  llvm::Expected<std::vector<float>> load(llvm::StringRef tensor,
                                          llvm::ArrayRef<int64_t>) override {
    ++loads[tensor];
    return std::vector<float>{1.f, float(tensor.back())};
  }
  llvm::StringMap<unsigned> loads;
};

TEST(InMemoryWeights, ChecksNameAndShape) {
  InMemoryWeights weights;
  weights.set("w", {1, 2}, {3.f, 4.f});
  auto values = weights.load("w", {1, 2});
  ASSERT_TRUE(bool(values));
  EXPECT_EQ(*values, (std::vector<float>{3.f, 4.f}));
  EXPECT_EQ(messageOf(weights.load("v", {1, 2})), "there is no tensor 'v'");
  EXPECT_EQ(messageOf(weights.load("w", {2, 1})),
            "the tensor 'w' has shape [1, 2], the program's weight [2, 1]");
}

/// A checkpoint of one f32 tensor [1, 2] and one bf16 tensor [3].
std::shared_ptr<llmc::frontend::Checkpoint> writeCheckpoint(const std::string &path) {
  std::string header = R"({"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
                       R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[8,14]}})";
  const float a[] = {1.5f, -0.1f};
  const uint16_t b[] = {0x3f80, 0xc040, 0x0001};
  uint64_t length = header.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(&length), sizeof(length));
  file << header;
  file.write(reinterpret_cast<const char *>(a), sizeof(a));
  file.write(reinterpret_cast<const char *>(b), sizeof(b));
  file.close();
  return llmc::frontend::openSafetensors(path);
}

TEST(CheckpointWeights, GivesExactValuesAndNamesFaults) {
  std::string path = testing::TempDir() + "weight-source-test.safetensors";
  CheckpointWeights weights(writeCheckpoint(path));
  auto a = weights.load("a", {1, 2}), b = weights.load("b", {3});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(*a, (std::vector<float>{1.5f, -0.1f}));
  EXPECT_EQ(*b, (std::vector<float>{1.f, -3.f, 0x1p-133f}));
  EXPECT_EQ(messageOf(weights.load("c", {3})), "the checkpoint has no tensor 'c'");
  EXPECT_EQ(messageOf(weights.load("b", {1, 3})),
            "the checkpoint's tensor 'b' has shape [3], the program's weight [1, 3]");

  // What a reader throws becomes an error: the file is mapped on first use.
  CheckpointWeights cut(writeCheckpoint(path));
  std::filesystem::resize_file(path, 20);
  EXPECT_THAT(messageOf(cut.load("a", {1, 2})), HasSubstr("weight-source-test.safetensors"));
  std::filesystem::remove(path);
}

TEST(WeightCache, KeepsWhatFits) {
  CountingSource source;
  WeightCache cache(source, 16);
  auto values = [&](llvm::StringRef name) {
    llvm::Expected<Weight> weight = cache.get(name, {2});
    EXPECT_TRUE(bool(weight));
    return *weight->values;
  };
  EXPECT_EQ(values("a"), (std::vector<float>{1.f, 'a'}));
  values("b");
  values("a");
  EXPECT_EQ(source.loads["a"], 1u);
  EXPECT_EQ(cache.getBytes(), 16u);
  // c takes the place of b, which was used before a.
  values("c");
  values("a");
  EXPECT_EQ(source.loads["a"], 1u);
  EXPECT_EQ(values("b"), (std::vector<float>{1.f, 'b'}));
  EXPECT_EQ(source.loads["b"], 2u);
  EXPECT_EQ(cache.getBytes(), 16u);
}

TEST(WeightCache, GivesWeightsLargerThanItself) {
  CountingSource source;
  WeightCache cache(source, 4);
  llvm::Expected<Weight> a = cache.get("a", {2});
  llvm::Expected<Weight> b = cache.get("b", {2});
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->values->back(), 'a');
  EXPECT_EQ(b->values->back(), 'b');
  EXPECT_EQ(cache.getBytes(), 8u);
}

TEST(WeightCache, PartsAndTransposedTensors) {
  InMemoryWeights source;
  source.set("w", {3, 2}, {1, 2, 3, 4, 5, 6});
  WeightCache cache(source, 1024);
  auto values = [&](llvm::ArrayRef<int64_t> shape, WeightPart part) {
    llvm::Expected<Weight> weight = cache.get("w", shape, part);
    EXPECT_TRUE(bool(weight));
    return *weight->values;
  };
  EXPECT_EQ(values({1, 2}, {{3, 2}, 2, {2, 1}, {}}), (std::vector<float>{3, 4}));
  EXPECT_EQ(values({2, 2}, {{3, 2}, 2, {2, 1}, {}}), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(values({2, 3}, {{3, 2}, 0, {1, 2}, {}}), (std::vector<float>{1, 3, 5, 2, 4, 6}));
  // The second column of what is stored, as a row.
  EXPECT_EQ(values({1, 3}, {{3, 2}, 1, {1, 2}, {}}), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(values({3, 2}, {{3, 2}, 0, {2, 1}, {}}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  // Rows that alternate, and the same rows as a vector of one dimension.
  EXPECT_EQ(values({2, 1}, {{3, 2}, 1, {4, 1}, {}}), (std::vector<float>{2, 6}));
  EXPECT_EQ(values({2}, {{3, 2}, 1, {4}, {}}), (std::vector<float>{2, 6}));
}

TEST(WeightCache, ATensorForEachExpert) {
  InMemoryWeights source;
  source.set("w.0", {2, 2}, {1, 2, 3, 4});
  source.set("w.1", {2, 2}, {5, 6, 7, 8});
  WeightCache cache(source, 1024);
  auto values = [&](llvm::ArrayRef<int64_t> shape, WeightPart part) {
    llvm::Expected<Weight> weight = cache.get("w.{e}", shape, part);
    EXPECT_TRUE(bool(weight));
    return *weight->values;
  };
  EXPECT_EQ(values({2, 2, 2}, {{2, 2}, 0, {2, 1}, {}}),
            (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values({2, 2, 2}, {{2, 2}, 0, {1, 2}, {}}),
            (std::vector<float>{1, 3, 2, 4, 5, 7, 6, 8}));
  EXPECT_EQ(values({2, 1, 2}, {{2, 2}, 2, {2, 1}, {}}), (std::vector<float>{3, 4, 7, 8}));
  EXPECT_EQ(messageOf(cache.get("w.{e}", {3, 2, 2}, {{2, 2}, 0, {2, 1}, {}})),
            "there is no tensor 'w.2'");
}

TEST(WeightCache, RefusesShapesThatDisagree) {
  CountingSource source;
  WeightCache cache(source, 16);
  EXPECT_EQ(messageOf(cache.get("a", {3})), "the tensor 'a' has 2 values, its shape is [3]");
  EXPECT_EQ(messageOf(cache.get("a", {2})), "");
  EXPECT_EQ(messageOf(cache.get("a", {1, 2})),
            "the tensor 'a' is used with shape [1, 2] and with [2]");
}

} // namespace
