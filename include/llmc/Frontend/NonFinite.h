//===- NonFinite.h - NaN and infinities in stored weights -------*- C++ -*-===//
#ifndef LLMC_FRONTEND_NONFINITE_H
#define LLMC_FRONTEND_NONFINITE_H

#include "llmc/Frontend/Checkpoint.h"

#include <optional>

namespace llmc::frontend {

/// The first value of a tensor that is NaN or infinite.
struct NonFinite {
  /// Row-major.
  uint64_t element = 0;
  float value = 0;
};

/// Looks at every value; of a quantised block, at what it stands for. The format must be
/// readable.
std::optional<NonFinite> findNonFinite(const StorageFormat &format,
                                       std::span<const std::byte> bytes);

/// "tensor 'x': element [3, 17] is nan".
std::string describeNonFinite(const CheckpointTensor &tensor, const NonFinite &found);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_NONFINITE_H
