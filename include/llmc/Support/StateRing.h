//===- StateRing.h - blocks of state with a window --------------*- C++ -*-===//
//
// Where no token sees more than the last W positions, a sequence needs no more blocks than a ring
// of them: its block i lies where block i - R lay. A step that takes n tokens first adds them and
// then attends, so that W - 1 + n positions in a row are used in one step; they lie in at most
// ceil((W + n - 2) / B) + 1 blocks of B positions. With R no less than that for the largest n, no
// step writes over what it, or one after it, still reads.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_SUPPORT_STATERING_H
#define LLMC_SUPPORT_STATERING_H

#include <algorithm>
#include <cstdint>

namespace llmc {

/// The least blocks of a ring: R above. All are at least 1; saturates.
inline int64_t leastRingBlocks(int64_t window, int64_t maxTokens, int64_t blockTokens) {
  uint64_t positions = uint64_t(window) + uint64_t(maxTokens) - 2, size = uint64_t(blockTokens);
  return int64_t(std::min<uint64_t>(positions / size + (positions % size != 0), INT64_MAX - 1)) + 1;
}

/// Blocks of every member of such a state: a ring for each sequence, but never more than the
/// `blocks` that sequences share where nothing has a window.
inline int64_t windowBlocks(int64_t ringBlocks, int64_t sequences, int64_t blocks) {
  int64_t rings;
  return __builtin_mul_overflow(ringBlocks, sequences, &rings) ? blocks : std::min(rings, blocks);
}

} // namespace llmc

#endif // LLMC_SUPPORT_STATERING_H
