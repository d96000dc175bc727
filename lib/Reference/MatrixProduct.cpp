//===- MatrixProduct.cpp - rows times the rows of a weight ----------------===//
//
// A tile of rows by a tile of features at a time, so that independent chains run
// side by side. The order of a chain never depends on the tiling.
//
//===----------------------------------------------------------------------===//
#include "MatrixProduct.h"

#include "Parallel.h"

#include <cmath>
#include <cstring>
#include <vector>

using namespace llmc::reference;

namespace {

/// Some rows of one column, a chain each.
template <typename T> using Lanes [[gnu::vector_size(32)]] = T;

template <typename T> [[gnu::always_inline]] inline void multiplyAdd(T x, T w, T &sum) {
  sum = std::fma(x, w, sum);
}

template <typename T>
[[gnu::always_inline]] inline void multiplyAdd(const Lanes<T> &x, T w, Lanes<T> &sum) {
#ifdef __clang__
  // The difference to zero spreads w over the lanes, its sign included.
  sum = __builtin_elementwise_fma(x, w - Lanes<T>{}, sum);
#else
  for (unsigned i = 0; i < sizeof(sum) / sizeof(T); ++i)
    sum[i] = std::fma(x[i], w, sum[i]);
#endif
}

/// How a product is cut: `VectorCount` times the rows of a RowVector (a T, or lanes of it) by
/// `FeatureTile` features.
template <typename ElementT, typename RowVectorT, int VectorCount, int FeatureCount>
struct Tiling {
  using T = ElementT;
  using RowVector = RowVectorT;
  static constexpr int vectors = VectorCount, features = FeatureCount;
  static constexpr int rows = VectorCount * int(sizeof(RowVector) / sizeof(T));
};

/// One call's arguments; x in tiles of [depth][rows of the tile].
template <typename T> struct Product {
  const T *x;
  const float *w;
  T *y;
  int64_t rows, depth, features;
};

template <typename Tile, typename T>
[[gnu::always_inline]] inline void runTile(const Product<T> &p, int64_t row, int64_t feature) {
  typename Tile::RowVector sums[Tile::features][Tile::vectors] = {};
  const float *w[Tile::features];
  // Features past the end repeat the last one; their sums are dropped.
  for (int f = 0; f < Tile::features; ++f)
    w[f] = p.w + std::min(feature + f, p.features - 1) * p.depth;
  const T *x = p.x + row * p.depth;
  for (int64_t k = 0; k < p.depth; ++k) {
    typename Tile::RowVector column[Tile::vectors];
    std::memcpy(column, x + k * Tile::rows, sizeof(column));
    for (int f = 0; f < Tile::features; ++f)
      for (int v = 0; v < Tile::vectors; ++v)
        multiplyAdd(column[v], T(w[f][k]), sums[f][v]);
  }
  for (int64_t f = 0; f < std::min<int64_t>(Tile::features, p.features - feature); ++f) {
    T values[Tile::rows];
    std::memcpy(values, sums[f], sizeof(values));
    for (int64_t r = 0; r < std::min<int64_t>(Tile::rows, p.rows - row); ++r)
      p.y[(row + r) * p.features + feature + f] = values[r];
  }
}

template <typename Tile, typename T>
[[gnu::always_inline]] inline void runFeatures(const Product<T> &p, int64_t begin, int64_t end) {
  for (int64_t row = 0; row < p.rows; row += Tile::rows)
    for (int64_t feature = begin; feature < end; feature += Tile::features)
      runTile<Tile>(p, row, feature);
}

// An FMA is a call unless the instruction may be used; both give the same bits.
#if defined(__x86_64__) && !defined(__FMA__)
#define LLMC_HAS_FMA_VARIANT 1
template <typename Tile, typename T>
[[gnu::target("avx2,fma")]] void runFeaturesFma(const Product<T> &p, int64_t begin, int64_t end) {
  runFeatures<Tile>(p, begin, end);
}
bool hasFma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

template <typename Tile, typename T> void run(Product<T> p, unsigned threads) {
  int64_t tiles = (p.rows + Tile::rows - 1) / Tile::rows;
  std::vector<T> transposed(size_t(tiles * Tile::rows * p.depth));
  for (int64_t row = 0; row < p.rows; ++row) {
    T *tile = transposed.data() + row / Tile::rows * Tile::rows * p.depth + row % Tile::rows;
    for (int64_t k = 0; k < p.depth; ++k)
      tile[k * Tile::rows] = p.x[row * p.depth + k];
  }
  p.x = transposed.data();
  int64_t count = (p.features + Tile::features - 1) / Tile::features;
  parallelFor(threads, count, p.rows * p.depth * Tile::features, [&](int64_t begin, int64_t end) {
    begin *= Tile::features;
    end = std::min(end * Tile::features, p.features);
#ifdef LLMC_HAS_FMA_VARIANT
    if (hasFma())
      return runFeaturesFma<Tile>(p, begin, end);
#endif
    runFeatures<Tile>(p, begin, end);
  });
}

} // namespace

template <typename T>
void llmc::reference::matrixProduct(const T *x, const float *w, T *y, int64_t rows,
                                    int64_t depth, int64_t features, unsigned threads) {
  Product<T> product{x, w, y, rows, depth, features};
  if (rows == 0 || features == 0)
    return;
  if (depth == 0) {
    std::fill_n(y, rows * features, T(0));
    return;
  }
  if (rows == 1)
    run<Tiling<T, T, 1, 8>>(product, threads);
  else if (rows <= int64_t(sizeof(Lanes<T>) / sizeof(T)))
    run<Tiling<T, Lanes<T>, 1, 6>>(product, threads);
  else
    run<Tiling<T, Lanes<T>, 4, 2>>(product, threads);
}

template void llmc::reference::matrixProduct(const float *, const float *, float *, int64_t,
                                             int64_t, int64_t, unsigned);
template void llmc::reference::matrixProduct(const double *, const float *, double *, int64_t,
                                             int64_t, int64_t, unsigned);
