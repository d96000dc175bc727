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
  }
  return "?";
}

double yarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

/// theta ** (2 i / dim), the wavelengths over 2 pi.
static std::vector<float> positionFrequencies(const RopeRecord &rope) {
  std::vector<float> out(size_t(rope.dim / 2));
  float base = float(rope.theta);
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
    } else if (!(wavelength < highWavelength)) {
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
  std::vector<float> freqs = computeInvFreq(rope);
  for (size_t i = 0; i < freqs.size(); ++i)
    if (!std::isfinite(freqs[i]) || freqs[i] <= 0)
      return "rotary frequency " + std::to_string(i) + " is " + text(freqs[i]) +
             ", it must be finite and positive";
  float factor = float(rope.attentionFactor);
  if (!std::isfinite(factor) || factor <= 0)
    return "the attention factor is " + text(factor) + ", it must be finite and positive";
  return {};
}

} // namespace llmc::frontend
