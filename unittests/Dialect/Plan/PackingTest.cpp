//===- PackingTest.cpp - offsets against all that there are ---------------===//
#include "llmc/Dialect/Plan/Transforms/Packing.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

using namespace llmc::plan;

namespace {

constexpr int64_t kNodes = 200000;

/// Whether items from `next` on have places in `capacity` bytes: tries all multiples of 64.
bool fits(const std::vector<PackItem> &items, int64_t capacity, std::vector<int64_t> &offsets,
          size_t next = 0) {
  if (next == items.size())
    return true;
  for (int64_t offset = 0; offset + items[next].size <= capacity; offset += 64) {
    bool free = true;
    for (size_t other = 0; other < next && free; ++other)
      free = !items[next].interferes(items[other]) ||
             offsets[other] + items[other].size <= offset ||
             offset + items[next].size <= offsets[other];
    offsets[next] = offset;
    if (free && fits(items, capacity, offsets, next + 1))
      return true;
  }
  return false;
}

/// The least bytes there are, by trying everything.
int64_t leastBytes(std::vector<PackItem> items, int64_t bound) {
  std::sort(items.begin(), items.end(),
            [](const PackItem &a, const PackItem &b) { return a.size > b.size; });
  std::vector<int64_t> offsets(items.size());
  while (!fits(items, bound, offsets))
    bound += 64;
  return bound;
}

void expectSound(const std::vector<PackItem> &items, const PackResult &result) {
  ASSERT_EQ(result.offsets.size(), items.size());
  int64_t bytes = 0, bound = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_GE(result.offsets[i], 0);
    bytes = std::max(bytes, result.offsets[i] + items[i].size);
    int64_t live = 0;
    for (size_t j = 0; j < items.size(); ++j) {
      if (items[j].first <= items[i].first && items[i].first <= items[j].last)
        live += items[j].size;
      if (i < j && items[i].size && items[j].size && items[i].interferes(items[j])) {
        EXPECT_TRUE(result.offsets[i] + items[i].size <= result.offsets[j] ||
                    result.offsets[j] + items[j].size <= result.offsets[i])
            << "items " << i << " and " << j;
      }
    }
    bound = std::max(bound, live);
  }
  EXPECT_EQ(result.bytes, bytes);
  EXPECT_EQ(result.lowerBound, bound);
  EXPECT_GE(result.bytes, result.lowerBound);
}

std::vector<PackItem> randomItems(std::mt19937 &random, size_t count, int64_t steps,
                                  int64_t sizes) {
  std::vector<PackItem> items;
  for (size_t i = 0; i < count; ++i) {
    int64_t a = int64_t(random() % uint64_t(steps)), b = int64_t(random() % uint64_t(steps));
    items.push_back({64 * int64_t(1 + random() % uint64_t(sizes)), std::min(a, b), std::max(a, b)});
  }
  return items;
}

TEST(Packing, IsTheLeastOfAllOrders) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<PackItem> items = randomItems(random, 2 + size_t(round) % 6, 7, 5);
    PackResult result = packItems(items, kNodes);
    expectSound(items, result);
    EXPECT_TRUE(result.optimal);
    EXPECT_EQ(result.bytes, leastBytes(items, result.lowerBound)) << "round " << round;
  }
}

/// Gaps between the bound and the best packing are rare: these are two of half a million random
/// cases. Where the search claims one, trying everything agrees.
TEST(Packing, ProvesThatABoundCannotBeReached) {
  const std::vector<std::vector<PackItem>> cases = {
      {{128, 1, 3}, {320, 1, 2}, {64, 2, 3}, {384, 0, 1}, {256, 2, 2},
       {64, 2, 4}, {320, 4, 4}, {64, 1, 3}, {384, 3, 4}, {128, 3, 5}},
      {{192, 0, 1}, {256, 2, 5}, {256, 5, 6}, {128, 1, 5}, {192, 3, 3},
       {256, 0, 0}, {64, 2, 5}, {192, 0, 1}, {128, 0, 3}, {64, 1, 2}}};
  for (const std::vector<PackItem> &items : cases) {
    PackResult result = packItems(items, kNodes);
    expectSound(items, result);
    EXPECT_TRUE(result.optimal);
    EXPECT_EQ(result.bytes, result.lowerBound + 64);
    EXPECT_EQ(result.bytes, leastBytes(items, result.lowerBound));
  }
}

TEST(Packing, WithoutSearchSaysWhatItDoesNotKnow) {
  std::mt19937 random(11);
  bool anyOpen = false;
  for (int round = 0; round < 200; ++round) {
    std::vector<PackItem> items = randomItems(random, 9, 8, 5);
    PackResult greedy = packItems(items, 0), searched = packItems(items, kNodes);
    expectSound(items, greedy);
    expectSound(items, searched);
    EXPECT_LE(searched.bytes, greedy.bytes);
    EXPECT_EQ(greedy.optimal, greedy.bytes == greedy.lowerBound);
    anyOpen |= searched.bytes < greedy.bytes;
  }
  EXPECT_TRUE(anyOpen);
}

TEST(Packing, ReachesTheBoundOfAsManySlicesAsALayerHas) {
  // Lives are short and overlap little, as those of the steps of a layer.
  std::mt19937 random(13);
  for (int round = 0; round < 50; ++round) {
    std::vector<PackItem> items;
    for (int64_t step = 0; step < 40; ++step)
      items.push_back({64 * int64_t(1 + random() % 24), step,
                       std::min<int64_t>(39, step + 1 + int64_t(random() % 3))});
    PackResult result = packItems(items, kNodes);
    expectSound(items, result);
    EXPECT_LE(double(result.bytes), 1.02 * double(result.lowerBound)) << "round " << round;
  }
}

TEST(Packing, EmptySlicesTakeNothing) {
  std::vector<PackItem> items = {{0, 0, 3}, {128, 0, 1}, {0, 1, 1}, {64, 1, 2}, {192, 2, 3}};
  PackResult result = packItems(items, kNodes);
  expectSound(items, result);
  EXPECT_EQ(result.bytes, 256);
  EXPECT_TRUE(packItems({}, kNodes).optimal);
}

TEST(Packing, SizesBeyondAllMeasureSaturate) {
  std::vector<PackItem> items = {{INT64_MAX / 64 * 64, 0, 1}, {INT64_MAX / 64 * 64, 1, 2}};
  PackResult result = packItems(items, kNodes);
  EXPECT_EQ(result.bytes, INT64_MAX);
  EXPECT_EQ(result.lowerBound, INT64_MAX);
}

} // namespace
