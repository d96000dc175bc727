//===- Rope.h - rotary embedding records ------------------------*- C++ -*-===//
#ifndef LLMC_FRONTEND_ROPE_H
#define LLMC_FRONTEND_ROPE_H

#include <cstdint>
#include <string>
#include <vector>

namespace llmc::frontend {

/// Proportional turns the first pairs only, with the frequencies that the whole width gives;
/// the others have frequency zero.
enum class RopeType : uint8_t { Default, Linear, Llama3, Yarn, LongRope, Dynamic, Proportional };
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
  /// The context the model was trained for. Longrope: sequences known to be longer turn by the
  /// long frequencies. Dynamic: up to here nothing is scaled.
  int64_t originalMaxPositions = 0;
  /// Dynamic: the context that the one base is computed for.
  int64_t contextPositions = 0;
  /// Proportional: pairs that turn.
  int64_t rotatedPairs = 0;
  double betaFast = 32.0, betaSlow = 1.0;
  /// Multiplies cos and sin; 1 but for yarn and longrope.
  double attentionFactor = 1.0;
  /// Yarn: round the ends of the ramp to whole dimensions.
  bool truncate = true;
  /// Pairs are (0, 1), (2, 3), ... instead of (0, dim/2), ...
  bool interleaved = false;
  /// Longrope: divisors of the frequencies, one each, within the original context and beyond.
  std::vector<float> shortFactors, longFactors;
  /// Divisors of the frequencies, one each, where the checkpoint stores them
  /// (rope_freqs.weight); empty otherwise.
  std::vector<float> freqDivisors;

  bool operator==(const RopeRecord &) const = default;
};

/// The dim/2 inverse frequencies, computed in f32 in the order transformers uses, so that
/// angles agree to the last bit at every position. Longrope: those within the original context.
std::vector<float> computeInvFreq(const RopeRecord &rope);
/// Longrope: the frequencies of sequences that are longer than the original context. Empty for
/// every other type.
std::vector<float> computeLongInvFreq(const RopeRecord &rope);

/// Why the record has no usable angles: a frequency or the attention factor that is not
/// finite and positive (zero where proportional does not turn), lists of factors that are not
/// one for each frequency. Empty for a good one.
std::string ropeFault(const RopeRecord &rope);

/// Yarn's factor for cos and sin: 0.1 * mscale * ln(factor) + 1, and 1 for factor <= 1.
double yarnMscale(double factor, double mscale);

/// Longrope's factor for cos and sin: sqrt(1 + ln(factor) / ln(original)), and 1 for factor <= 1.
double longropeAttentionFactor(double factor, int64_t originalMaxPositions);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ROPE_H
