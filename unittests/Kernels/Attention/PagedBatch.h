//===- PagedBatch.h - ragged batches over a paged state ---------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_ATTENTION_PAGEDBATCH_H
#define LLMC_UNITTESTS_KERNELS_ATTENTION_PAGEDBATCH_H

#include "KernelTest.h"
#include "llmc/Kernels/CPU/AttentionKernels.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace llmc::kernels::test {

/// A sequence's share of a step: `rows` new rows behind `past` positions.
struct Piece {
  int64_t past, rows;
};

/// The batch of a step, with blocks handed out in a shuffled order. Without a past
/// only the blocks of new rows exist.
struct PagedBatch {
  PagedBatch(const PagedState &layout, const std::vector<Piece> &pieces, unsigned seed = 1,
             bool hasPast = true) {
    auto blocksOf = [&](int64_t tokens) {
      return (tokens + layout.blockTokens - 1) / layout.blockTokens;
    };
    for (const Piece &piece : pieces)
      stride = std::max(stride, blocksOf(piece.past + piece.rows) + 1);

    std::vector<int32_t> pool;
    table.assign(stride * pieces.size(), -1);
    for (const Piece &piece : pieces) {
      int64_t first = hasPast ? 0 : piece.past / layout.blockTokens;
      for (int64_t i = first; i < blocksOf(piece.past + piece.rows); ++i)
        pool.push_back(int32_t(pool.size()));
    }
    int64_t blocks = int64_t(pool.size()) + 3;
    std::shuffle(pool.begin(), pool.end(), std::mt19937(seed));

    for (const Piece &piece : pieces) {
      int64_t length = piece.past + piece.rows;
      int64_t first = hasPast ? 0 : piece.past / layout.blockTokens;
      for (int64_t i = first; i < blocksOf(length); ++i, pool.pop_back())
        table[starts.size() * stride + i] = pool.back() + 1;
      starts.push_back(int32_t(positions.size()));
      lengths.push_back(int32_t(length));
      for (int64_t i = 0; i < piece.rows; ++i) {
        positions.push_back(int32_t(piece.past + i));
        sequenceOf.push_back(int32_t(starts.size() - 1));
      }
    }
    starts.push_back(int32_t(positions.size()));

    batch.tokens = int64_t(positions.size());
    batch.sequences = int64_t(pieces.size());
    batch.blocks = blocks;
    batch.table_stride = stride;
    batch.positions = positions.data();
    batch.token_seq = sequenceOf.data();
    batch.query_start = starts.data();
    batch.context_len = lengths.data();
    batch.block_table = table.data();
    batch.extents = lengths.data();
  }
  PagedBatch(const PagedBatch &) = delete;

  /// The key element of a position, and the value element.
  static float &key(const PagedState &layout, float *state, int32_t block, int64_t head,
                    int64_t slot, int64_t d) {
    return state[(block * layout.blockBytes() + head * layout.headBytes()) / 4 +
                 d * layout.blockTokens + slot];
  }
  static float &value(const PagedState &layout, float *state, int32_t block, int64_t head,
                      int64_t slot, int64_t d) {
    return state[(block * layout.blockBytes() + head * layout.headBytes() +
                  layout.valueOffset()) / 4 +
                 slot * layout.valueWidth + d];
  }
  int32_t blockOf(int64_t sequence, int64_t position, const PagedState &layout) const {
    return table[sequence * stride + position / layout.blockTokens];
  }

  llmc_batch batch{};
  int64_t stride = 0;
  std::vector<int32_t> positions, sequenceOf, starts, lengths, table;
};

/// The places of the `top` best scores, of equal ones the first, in order; then -1.
inline std::vector<int32_t> bestPlaces(const std::vector<float> &scores, int64_t top) {
  std::vector<int32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return scores[size_t(a)] > scores[size_t(b)]; });
  order.resize(std::min(order.size(), size_t(top)));
  std::sort(order.begin(), order.end());
  order.resize(size_t(top), -1);
  return order;
}

inline bool sameBits(const Buffer<float> &x, const Buffer<float> &y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * 4) == 0;
}

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_ATTENTION_PAGEDBATCH_H
