//===- MatrixProductTest.cpp - the order of products ----------------------===//
#include "MatrixProduct.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace llmc::reference;

namespace {

/// Every output must be the FMA chain in ascending k to the bit, whatever the sizes.
template <typename T> void check(int64_t rows, int64_t depth, int64_t features) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<T> x(size_t(rows * depth));
  std::vector<float> w(size_t(features * depth));
  for (T &value : x)
    value = T(uniform(random)) / 3;
  for (float &value : w)
    value = uniform(random);
  std::vector<T> expected(size_t(rows * features));
  for (int64_t t = 0; t < rows; ++t)
    for (int64_t n = 0; n < features; ++n)
      for (int64_t k = 0; k < depth; ++k) {
        T &sum = expected[size_t(t * features + n)];
        sum = std::fma(x[size_t(t * depth + k)], T(w[size_t(n * depth + k)]), sum);
      }
  for (unsigned threads : {1u, 3u}) {
    std::vector<T> y(size_t(rows * features), T(-1));
    matrixProduct(x.data(), w.data(), y.data(), rows, depth, features, threads);
    EXPECT_EQ(y, expected) << rows << " x " << depth << " x " << features << ", " << threads
                           << " threads";
  }
}

TEST(MatrixProduct, IsOneChainAnOutput) {
  for (int64_t rows : {0, 1, 2, 4, 5, 16, 33})
    for (int64_t features : {1, 7, 19}) {
      check<float>(rows, 37, features);
      check<double>(rows, 37, features);
    }
}

TEST(MatrixProduct, IsTheSameInThreads) {
  check<float>(1, 700, 3001);
  check<double>(3, 300, 1501);
  check<double>(33, 100, 601);
}

TEST(MatrixProduct, OfNoDepthIsZero) { check<float>(2, 0, 3); }

} // namespace
