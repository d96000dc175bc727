//===- Rope.cpp - inverse frequencies of every scaling --------------------===//
//
// The order of f32 operations is that of transformers' modeling_rope_utils: at
// position 100000 one unit in the last place of a frequency is an angle of
// 0.006, so "the same formula" is not enough.
//
//===----------------------------------------------------------------------===//
#include "llmc/Frontend/Rope.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace llmc::frontend {

const char *ropeTypeName(RopeType type) {
  switch (type) {
  case RopeType::Default:
    return "default";
  case RopeType::Linear:
    return "linear";
  case RopeType::Llama3:
    return "llama3";
  case RopeType::Yarn:
    return "yarn";
  case RopeType::LongRope:
    return "longrope";
  case RopeType::Dynamic:
    return "dynamic";
  case RopeType::Proportional:
    return "proportional";
  }
  return "?";
}

double yarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

double longropeAttentionFactor(double factor, int64_t originalMaxPositions) {
  return factor <= 1 ? 1.0
                     : std::sqrt(1 + std::log(factor) / std::log(double(originalMaxPositions)));
}

/// The base that dynamic scaling gives for a context: unchanged up to the original one.
static double dynamicBase(const RopeRecord &rope) {
  double context = double(std::max(rope.contextPositions, rope.originalMaxPositions));
  double stretch =
      rope.factor * context / double(rope.originalMaxPositions) - (rope.factor - 1);
  return rope.theta * std::pow(stretch, double(rope.dim) / double(rope.dim - 2));
}

/// theta ** (2 i / dim), the wavelengths over 2 pi.
static std::vector<float> positionFrequencies(const RopeRecord &rope) {
  std::vector<float> out(size_t(rope.dim / 2));
  float base = float(rope.type == RopeType::Dynamic ? dynamicBase(rope) : rope.theta);
  for (size_t i = 0; i < out.size(); ++i) {
    float exponent = float(2 * i) / float(rope.dim);
    // Through double: the correctly rounded power, which f32 libraries reach to 1 ulp.
    out[i] = float(std::pow(double(base), double(exponent)));
  }
  return out;
}

static void scaleLlama3(const RopeRecord &rope, std::vector<float> &freqs) {
  float context = float(rope.originalMaxPositions), factor = float(rope.factor);
  float low = float(rope.lowFreqFactor);
  float lowWavelength = float(double(rope.originalMaxPositions) / rope.lowFreqFactor);
  float highWavelength = float(double(rope.originalMaxPositions) / rope.highFreqFactor);
  float range = float(rope.highFreqFactor - rope.lowFreqFactor);
  for (float &freq : freqs) {
    float wavelength = float(2 * std::numbers::pi) / freq;
    if (wavelength > lowWavelength) {
      freq /= factor;
    } else if (range > 0 && !(wavelength < highWavelength)) {
      // Between the bands: from fully scaled to unscaled.
      float smooth = (context / wavelength - low) / range;
      freq = (1.0f - smooth) * freq / factor + smooth * freq;
    }
  }
}

/// The dimension whose frequency turns `rotations` times over the original context.
static double correctionDim(const RopeRecord &rope, double rotations) {
  return double(rope.dim) *
         std::log(double(rope.originalMaxPositions) / (rotations * 2 * std::numbers::pi)) /
         (2 * std::log(rope.theta));
}

static void scaleYarn(const RopeRecord &rope, const std::vector<float> &positions,
                      std::vector<float> &freqs) {
  double low = correctionDim(rope, rope.betaFast), high = correctionDim(rope, rope.betaSlow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, double(rope.dim - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < freqs.size(); ++i) {
    float ramp = std::clamp((float(i) - float(low)) / float(high - low), 0.0f, 1.0f);
    float extrapolationShare = 1.0f - ramp;
    float extrapolated = 1.0f / positions[i];
    float interpolated = 1.0f / (float(rope.factor) * positions[i]);
    freqs[i] = interpolated * (1.0f - extrapolationShare) + extrapolated * extrapolationShare;
  }
}

/// Longrope: 1 / (factor * theta ** (2 i / dim)).
static std::vector<float> divided(std::vector<float> positions, const std::vector<float> &factors) {
  for (size_t i = 0; i < positions.size(); ++i)
    positions[i] = 1.0f / ((i < factors.size() ? factors[i] : 1.0f) * positions[i]);
  return positions;
}

std::vector<float> computeLongInvFreq(const RopeRecord &rope) {
  if (rope.type != RopeType::LongRope)
    return {};
  return divided(positionFrequencies(rope), rope.longFactors);
}

std::vector<float> computeInvFreq(const RopeRecord &rope) {
  std::vector<float> positions = positionFrequencies(rope);
  std::vector<float> freqs(positions.size());
  for (size_t i = 0; i < freqs.size(); ++i)
    freqs[i] = 1.0f / positions[i];
  switch (rope.type) {
  case RopeType::Default:
    break;
  case RopeType::Linear:
    for (float &freq : freqs)
      freq /= float(rope.factor);
    break;
  case RopeType::Llama3:
    scaleLlama3(rope, freqs);
    break;
  case RopeType::Yarn:
    scaleYarn(rope, positions, freqs);
    break;
  case RopeType::LongRope:
    return divided(positions, rope.shortFactors);
  case RopeType::Dynamic:
    break;
  case RopeType::Proportional:
    for (size_t i = 0; i < freqs.size(); ++i)
      freqs[i] = int64_t(i) < rope.rotatedPairs ? freqs[i] / float(rope.factor) : 0.0f;
    break;
  }
  for (size_t i = 0; i < rope.freqDivisors.size() && i < freqs.size(); ++i)
    freqs[i] /= rope.freqDivisors[i];
  return freqs;
}

std::string ropeFault(const RopeRecord &rope) {
  auto text = [](float value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%g", double(value));
    return std::string(digits);
  };
  if (rope.type == RopeType::LongRope)
    for (const std::vector<float> *factors : {&rope.shortFactors, &rope.longFactors})
      if (factors->size() != size_t(rope.dim / 2))
        return std::string(factors == &rope.shortFactors ? "short_factor" : "long_factor") +
               " has " + std::to_string(factors->size()) + " numbers, a rotation of " +
               std::to_string(rope.dim) + " dimensions needs " + std::to_string(rope.dim / 2);
  for (const std::vector<float> &freqs : {computeInvFreq(rope), computeLongInvFreq(rope)})
    for (size_t i = 0; i < freqs.size(); ++i) {
      bool still = rope.type == RopeType::Proportional && int64_t(i) >= rope.rotatedPairs;
      if (!std::isfinite(freqs[i]) || freqs[i] < 0 || (freqs[i] == 0 && !still))
        return "rotary frequency " + std::to_string(i) + " is " + text(freqs[i]) +
               ", it must be finite and positive";
    }
  float factor = float(rope.attentionFactor);
  if (!std::isfinite(factor) || factor <= 0)
    return "the attention factor is " + text(factor) + ", it must be finite and positive";
  return {};
}

} // namespace llmc::frontend
