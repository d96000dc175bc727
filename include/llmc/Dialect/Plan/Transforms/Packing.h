//===- Packing.h - offsets for intervals of bytes ---------------*- C++ -*-===//
#ifndef LLMC_DIALECT_PLAN_TRANSFORMS_PACKING_H
#define LLMC_DIALECT_PLAN_TRANSFORMS_PACKING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace llmc::plan {

/// Bytes that are needed from step `first` to step `last`, both included.
struct PackItem {
  int64_t size;
  int64_t first;
  int64_t last;

  bool interferes(const PackItem &other) const {
    return first <= other.last && other.first <= last;
  }
};

struct PackResult {
  /// One for each item, in the order of the items.
  llvm::SmallVector<int64_t> offsets;
  /// End of the highest item.
  int64_t bytes = 0;
  /// Largest sum of sizes needed at one step: no packing takes less.
  int64_t lowerBound = 0;
  /// No packing takes fewer bytes: the bound was reached, or the search ended.
  bool optimal = false;
};

/// Gives every item an offset so that interfering items share no byte. Sizes
/// are multiples of the alignment and so are the offsets. Tries greedy orders,
/// then, where the lower bound was missed, at most `searchNodes` placements of an
/// exhaustive search. Deterministic.
PackResult packItems(llvm::ArrayRef<PackItem> items, int64_t searchNodes);

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_TRANSFORMS_PACKING_H
