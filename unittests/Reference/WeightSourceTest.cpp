//===- WeightSourceTest.cpp - weights by name, and the cache --------------===//
#include "TinyModel.h"

#include <gmock/gmock.h>

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

TEST(WeightCache, RefusesShapesThatDisagree) {
  CountingSource source;
  WeightCache cache(source, 16);
  EXPECT_EQ(messageOf(cache.get("a", {3})), "the tensor 'a' has 2 values, its shape is [3]");
  EXPECT_EQ(messageOf(cache.get("a", {2})), "");
  EXPECT_EQ(messageOf(cache.get("a", {1, 2})),
            "the tensor 'a' is used with shape [1, 2] and with [2]");
}

} // namespace
