//===- SeededWeights.h - weights of a model that has none -------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_SEEDEDWEIGHTS_H
#define LLMC_LIB_PIPELINES_SEEDEDWEIGHTS_H

#include "llmc/Reference/WeightSource.h"

namespace llmc {

/// Pseudo-random values that depend on the tensor's name alone, with a period of 65537, a
/// prime: rows differ, and a large tensor costs a copy. Matrices keep the variance
/// of their input, so that no layer drowns another; vectors lie around 1, so that a norm's
/// scale is neither nothing nor everything.
class SeededWeights final : public reference::WeightSource {
public:
  llvm::Expected<std::vector<float>> load(llvm::StringRef tensor,
                                          llvm::ArrayRef<int64_t> shape) override;
};

/// One draw from a stream of them, uniform in [0, 2^64). (Steele et al., 2014: SplitMix64.)
uint64_t mixBits(uint64_t seed);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_SEEDEDWEIGHTS_H
