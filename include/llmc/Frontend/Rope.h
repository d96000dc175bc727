//===- Rope.h - rotary embedding records ------------------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_ROPE_H
#define LLMC_FRONTEND_ROPE_H

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::frontend {

enum class RopeType : uint8_t { Default, Linear, Llama3, Yarn };
const char *ropeTypeName(RopeType type);

/// Everything that decides the rotation angles of one rotary embedding. Both spellings of
/// the config (rope_theta + rope_scaling, rope_parameters) and GGUF metadata give this.
struct RopeRecord {
  RopeType type = RopeType::Default;
  double theta = 10000.0;
  /// Rotated width of a head.
  int64_t dim = 0;
  double factor = 1.0;
  double lowFreqFactor = 1.0, highFreqFactor = 4.0;
  int64_t originalMaxPositions = 0;
  double betaFast = 32.0, betaSlow = 1.0;
  /// Multiplies cos and sin; 1 but for yarn.
  double attentionFactor = 1.0;
  /// Yarn: round the ends of the ramp to whole dimensions.
  bool truncate = true;
  /// Pairs are (0, 1), (2, 3), ... instead of (0, dim/2), ...
  bool interleaved = false;
  /// Divisors of the frequencies, one each, where the checkpoint stores them
  /// (rope_freqs.weight); empty otherwise.
  std::vector<float> freqDivisors;

  bool operator==(const RopeRecord &) const = default;
};

/// The dim/2 inverse frequencies, computed in f32 in the order transformers uses, so that
/// angles agree to the last bit at every position.
std::vector<float> computeInvFreq(const RopeRecord &rope);

/// Why the record has no usable angles: a frequency or the attention factor that is not
/// finite and positive. Empty for a good one.
std::string ropeFault(const RopeRecord &rope);

/// Yarn's factor for cos and sin: 0.1 * mscale * ln(factor) + 1, and 1 for factor <= 1.
double yarnMscale(double factor, double mscale);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ROPE_H
