//===- SlotBatch.h - ragged batches over states of sequences ----*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H
#define LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H

#include "KernelTest.h"
#include "llmc/Kernels/CPU/RecurrentKernels.h"
#include <cmath>
#include <cstring>

namespace llmc::kernels::test {

/// Rows [past, past + rows) of sequence `name`, whose state lies in slot `slot`.
struct Piece {
  int64_t past, rows, name;
  int32_t slot;
};

struct SlotBatch {
  explicit SlotBatch(const std::vector<Piece> &pieces) {
    for (const Piece &piece : pieces) {
      starts.push_back(int32_t(positions.size()));
      slots.push_back(piece.slot);
      for (int64_t i = 0; i < piece.rows; ++i) {
        positions.push_back(int32_t(piece.past + i));
        names.push_back(piece.name);
      }
    }
    starts.push_back(int32_t(positions.size()));
    batch.tokens = int64_t(positions.size());
    batch.sequences = int64_t(pieces.size());
    batch.positions = positions.data();
    batch.query_start = starts.data();
    batch.slots = slots.data();
  }
  SlotBatch(const SlotBatch &) = delete;

  llmc_batch batch{};
  std::vector<int32_t> positions, starts, slots;
  /// Of each row.
  std::vector<int64_t> names;
};

/// Numbers in [-1, 1) that depend on what they are for and on nothing else.
inline float number(int kind, int64_t sequence, int64_t position, int64_t element) {
  uint64_t x = uint64_t(kind) * 0x9e3779b97f4a7c15 + uint64_t(sequence) * 0xbf58476d1ce4e5b9 +
               uint64_t(position) * 0x94d049bb133111eb + uint64_t(element) * 1000003;
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return float(double(x >> 40) / double(1 << 23) - 1);
}

/// Rows of `kind` for a step, NaN between them.
inline Buffer<float> rowsOf(const SlotBatch &step, const StepRows &rows, int64_t width, int kind) {
  Buffer<float> buffer(size_t(step.batch.tokens * rows.stride), NAN);
  for (int64_t t = 0; t < step.batch.tokens; ++t)
    for (int64_t i = 0; i < width; ++i)
      buffer[size_t(t * rows.stride + rows.offset + i)] =
          number(kind, step.names[size_t(t)], step.positions[size_t(t)], i);
  return buffer;
}

inline bool sameBits(const Buffer<float> &x, const Buffer<float> &y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * 4) == 0;
}

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H
