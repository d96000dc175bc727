//===- Packing.h - from checkpoint rows to panels ---------------*- C++ -*-===//
//
// The layouts of docs/Manifest.md. Free of MLIR. Nothing is converted: a packed
// weight holds the source's bits in another order, and unpackRow gives them back
// (but for the sums in blocks of q8_1 and q8_k, which are no part of a value).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_PACKING_H
#define LLMC_KERNELS_CPU_PACKING_H

#include "llmc/Kernels/CPU/Storage.h"
#include <cstddef>
#include <span>
#include <vector>

namespace llmc::kernels {

/// Consecutive rows of one source, row-major as in the checkpoint.
struct PackSource {
  int64_t rows = 0;
  /// Empty: rows of zero weights.
  std::span<const std::byte> bytes;
};

struct PackSpec {
  Storage storage = Storage::F32;
  int64_t cols = 0;
  /// Panels of an item.
  int64_t tile = 2;
  /// 0: the sources follow one another. Else they alternate in runs of so many
  /// rows, and each is padded with zero rows to a multiple of it; all have
  /// equally many.
  int64_t interleave = 0;
};

/// Bytes of one row of `cols` elements in the source.
int64_t sourceRowBytes(Storage storage, int64_t cols);
/// Packed features of the sources, padding of runs included.
int64_t packedRows(const PackSpec &spec, std::span<const PackSource> sources);

/// Fills `out`, which has packedBytes(...) bytes, on `threads` threads (0: as many
/// as the machine has). Throws InputError where a source has not the bytes of its
/// rows, and UsageError where the spec or `out` is at fault.
void packPanels(const PackSpec &spec, std::span<const PackSource> sources,
                std::span<std::byte> out, unsigned threads = 0);

/// Source bytes of packed feature `row` of a weight packed with `storage`, `cols`
/// and `tile`.
std::vector<std::byte> unpackRow(const PackSpec &spec, std::span<const std::byte> packed,
                                 int64_t row);

/// Elements of a plain float source as f32, exactly. `out` has as many elements.
void rowsToF32(Storage storage, std::span<const std::byte> bytes, std::span<float> out);

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_PACKING_H
