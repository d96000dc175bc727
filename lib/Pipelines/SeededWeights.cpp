//===- SeededWeights.cpp - weights of a model that has none ---------------===//
#include "SeededWeights.h"

#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>

namespace llmc {

uint64_t mixBits(uint64_t seed) {
  uint64_t z = seed + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

llvm::Expected<std::vector<float>> SeededWeights::load(llvm::StringRef tensor,
                                                       llvm::ArrayRef<int64_t> shape) {
  std::vector<float> values(size_t(reference::elementCount(shape)));
  bool isVector = shape.size() < 2;
  float center = isVector ? 1.0f : 0.0f;
  float spread = isVector ? 0.25f : std::sqrt(3.0f / float(shape.back()));
  uint64_t seed = llvm::xxh3_64bits(tensor);
  constexpr size_t period = 65537;
  for (size_t i = 0; i < std::min(values.size(), period); ++i) {
    // 24 bits, so that every value is exact.
    float unit = float(mixBits(seed + i * 0x9e3779b97f4a7c15) >> 40) * 0x1p-23f - 1.0f;
    values[i] = center + spread * unit;
  }
  for (size_t i = period; i < values.size(); i += period)
    std::copy_n(values.begin(), std::min(period, values.size() - i), values.begin() + i);
  return values;
}

} // namespace llmc
