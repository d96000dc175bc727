//===- SlotBatch.h - ragged batches over states of sequences ----*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H
#define LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H

#include "KernelTest.h"
#include "llmc/Kernels/CPU/RecurrentKernels.h"
#include <cmath>
#include <cstring>
#include <functional>

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

/// A sequence at once as the formula has it, and in chunks beside others the same bits, state and
/// all. `Step` is of a test: its rows by the pieces of a step.
template <typename Step, typename Spec>
void expectSameBitsInChunks(const Spec &spec, llmc_kernel_fn kernel,
                            const std::function<Buffer<float>()> &pool, int64_t length,
                            std::initializer_list<int64_t> chunks) {
  Step whole(spec, {{0, length, 7, 1}});
  Buffer<float> wholeState = pool(), want = whole.run(kernel, wholeState);
  whole.expectNear(want);
  for (int64_t chunk : chunks) {
    Buffer<float> state = pool();
    for (int64_t at = 0; at < length; at += chunk) {
      int64_t rows = std::min(chunk, length - at);
      Step part(spec, {{0, 9, 3, 2}, {at, rows, 7, 1}, {0, 1, 9, 0}});
      Buffer<float> got = part.run(kernel, state, 2);
      ASSERT_EQ(std::memcmp(want.data() + at * spec.out.stride, got.data() + 9 * spec.out.stride,
                            size_t(rows * spec.out.stride * 4)),
                0)
          << "chunk " << chunk << " at " << at;
    }
    EXPECT_EQ(std::memcmp(state.data() + spec.slotBytes / 4,
                          wholeState.data() + spec.slotBytes / 4, size_t(spec.stateBytes())),
              0);
  }
}

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_RECURRENT_SLOTBATCH_H
