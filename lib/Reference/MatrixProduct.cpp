//===- MatrixProduct.cpp - rows times the rows of a weight ----------------===//
//
// A tile of rows by a tile of features at a time, so that independent chains run
// side by side. The order of a chain never depends on the tiling.
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"

#include "Parallel.h"

#include <cmath>
#include <vector>

using namespace llmc::reference;

namespace {

/// One call's arguments, the rows transposed to tiles of [depth][tile].
template <typename T> struct Product {
  const T *x;
  const float *w;
  T *y;
  int64_t rows, depth, features;
};

template <typename T, int RowTile, int FeatureTile>
[[gnu::always_inline]] inline void runTile(const Product<T> &p, const T *x, int64_t row,
                                           int64_t feature) {
  T sums[FeatureTile][RowTile] = {};
  const float *w[FeatureTile];
  // Features past the end repeat the last one; their sums are dropped.
  for (int f = 0; f < FeatureTile; ++f)
    w[f] = p.w + std::min(feature + f, p.features - 1) * p.depth;
  for (int64_t k = 0; k < p.depth; ++k)
    for (int f = 0; f < FeatureTile; ++f)
      for (int r = 0; r < RowTile; ++r)
        sums[f][r] = std::fma(x[k * RowTile + r], T(w[f][k]), sums[f][r]);
  for (int64_t f = 0; f < std::min<int64_t>(FeatureTile, p.features - feature); ++f)
    for (int64_t r = 0; r < std::min<int64_t>(RowTile, p.rows - row); ++r)
      p.y[(row + r) * p.features + feature + f] = sums[f][r];
}

template <typename T, int RowTile, int FeatureTile>
[[gnu::always_inline]] inline void runFeatures(const Product<T> &p, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < p.rows; row += RowTile)
    for (int64_t feature = begin; feature < end; feature += FeatureTile)
      runTile<T, RowTile, FeatureTile>(p, p.x + row * p.depth, row, feature);
}

// std::fma is a call unless the instruction may be used; both give the same bits.
#if defined(__x86_64__) && !defined(__FMA__)
#define LLMC_HAS_FMA_VARIANT 1
template <typename T, int RowTile, int FeatureTile>
[[gnu::target("avx2,fma")]] void runFeaturesFma(const Product<T> &p, int64_t begin, int64_t end) {
  runFeatures<T, RowTile, FeatureTile>(p, begin, end);
}
bool hasFma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

template <typename T, int RowTile, int FeatureTile>
void run(const T *x, const float *w, T *y, int64_t rows, int64_t depth, int64_t features,
         unsigned threads) {
  int64_t tiles = (rows + RowTile - 1) / RowTile;
  std::vector<T> transposed(size_t(tiles * RowTile * depth));
  for (int64_t row = 0; row < rows; ++row) {
    T *tile = transposed.data() + row / RowTile * RowTile * depth + row % RowTile;
    for (int64_t k = 0; k < depth; ++k)
      tile[k * RowTile] = x[row * depth + k];
  }
  Product<T> product{transposed.data(), w, y, rows, depth, features};
  int64_t featureTiles = (features + FeatureTile - 1) / FeatureTile;
  parallelFor(threads, featureTiles, rows * depth * FeatureTile,
              [&](int64_t begin, int64_t end) {
                begin *= FeatureTile;
                end = std::min(end * FeatureTile, features);
#ifdef LLMC_HAS_FMA_VARIANT
                if (hasFma())
                  return runFeaturesFma<T, RowTile, FeatureTile>(product, begin, end);
#endif
                runFeatures<T, RowTile, FeatureTile>(product, begin, end);
              });
}

} // namespace

template <typename T>
void llmc::reference::matrixProduct(const T *x, const float *w, T *y, int64_t rows,
                                    int64_t depth, int64_t features, unsigned threads) {
  if (rows == 0 || features == 0)
    return;
  if (rows == 1)
    run<T, 1, 8>(x, w, y, rows, depth, features, threads);
  else if (rows <= 4)
    run<T, 4, 4>(x, w, y, rows, depth, features, threads);
  else
    run<T, 16, 2>(x, w, y, rows, depth, features, threads);
}

template void llmc::reference::matrixProduct(const float *, const float *, float *, int64_t,
                                             int64_t, int64_t, unsigned);
template void llmc::reference::matrixProduct(const double *, const float *, double *, int64_t,
                                             int64_t, int64_t, unsigned);
