//===- Sampler.cpp - chooses the next token from logits -------------------===//
//
// This file is compiled without contraction of products and sums, and uses no
// function of the math library whose last bit differs between machines.
//
//===----------------------------------------------------------------------===//
#include "llmc/Runtime/Sampler.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace llmc::rt {
namespace {

/// e to the power of x, for x that is not above 0, within 1e-15: the argument
/// is split into k * ln 2 + r and e^r is summed as its Taylor series.
double portableExp(double x) {
  if (x < -708) // the result would not be a normal number any more
    return 0;
  constexpr double log2e = 1.4426950408889634;
  constexpr double ln2High = 6.93147180369123816490e-01, ln2Low = 1.90821492927058770002e-10;
  double k = std::floor(x * log2e + 0.5);
  double r = (x - k * ln2High) - k * ln2Low;
  double sum = 1;
  for (int n = 14; n > 0; --n)
    sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

void require(bool holds, const char *option, double value, const char *range) {
  if (!holds)
    throw UsageError(std::string("The sampling option ") + option + " is " +
                     std::to_string(value) + "; it must be " + range + ".");
}

[[noreturn]] void failAt(size_t position, size_t count, const char *what) {
  throw InputError("The logit at position " + std::to_string(position) + " of " +
                   std::to_string(count) + " is " + what +
                   "; the model or its weights are damaged.");
}

} // namespace

void SamplerOptions::validate() const {
  require(temperature >= 0 && std::isfinite(temperature), "temperature", temperature,
          "0 or more");
  require(topK >= 0, "top-k", topK, "0 or more");
  require(topP >= 0 && topP <= 1, "top-p", topP, "from 0 to 1");
  require(minP >= 0 && minP <= 1, "min-p", minP, "from 0 to 1");
  require(repetitionPenalty > 0 && std::isfinite(repetitionPenalty), "repetition penalty",
          repetitionPenalty, "above 0");
  require(std::isfinite(frequencyPenalty), "frequency penalty", frequencyPenalty, "finite");
  require(std::isfinite(presencePenalty), "presence penalty", presencePenalty, "finite");
  require(penaltyLastN >= -1, "penalty-last-n", penaltyLastN, "-1 or more");
}

uint64_t RandomSource::next() {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

double RandomSource::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

Sampler::Sampler(const SamplerOptions &options) : settings(options), random(options.seed) {
  settings.validate();
}

void Sampler::accept(int32_t id) {
  if (settings.penaltyLastN == 0)
    return;
  window.push_back(id);
  ++counts[id];
  if (settings.penaltyLastN > 0 && window.size() > static_cast<size_t>(settings.penaltyLastN)) {
    auto oldest = counts.find(window.front());
    if (--oldest->second == 0)
      counts.erase(oldest);
    window.pop_front();
  }
}

void Sampler::reset() {
  window.clear();
  counts.clear();
  random = RandomSource(settings.seed);
}

bool Sampler::better(const Candidate &a, const Candidate &b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

int32_t Sampler::sample(std::span<const float> logits) {
  fill(logits);
  applyPenalties();
  if (settings.temperature == 0)
    return std::min_element(candidates.begin(), candidates.end(), better)->id;
  keepTopK();
  keepTopP();
  keepMinP();
  return draw();
}

void Sampler::fill(std::span<const float> logits) {
  if (logits.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    throw InputError("There are more logits than token ids.");
  candidates.clear();
  candidates.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    float logit = logits[i];
    if (std::isnan(logit))
      failAt(i, logits.size(), "NaN");
    if (std::isinf(logit)) {
      if (logit > 0)
        failAt(i, logits.size(), "plus infinity");
      continue;
    }
    candidates.push_back({logit, static_cast<int32_t>(i)});
  }
  if (candidates.empty())
    throw InputError("None of the " + std::to_string(logits.size()) +
                     " logits is above minus infinity, so there is no token to choose.");
}

void Sampler::applyPenalties() {
  if (settings.repetitionPenalty == 1 && settings.frequencyPenalty == 0 &&
      settings.presencePenalty == 0)
    return;
  // The candidates are in the order of their ids here.
  for (const auto &[id, count] : counts) {
    auto it = std::lower_bound(candidates.begin(), candidates.end(), id,
                               [](const Candidate &c, int32_t value) { return c.id < value; });
    if (it == candidates.end() || it->id != id)
      continue;
    if (it->logit > 0)
      it->logit /= settings.repetitionPenalty;
    else
      it->logit *= settings.repetitionPenalty;
    it->logit -= settings.frequencyPenalty * count + settings.presencePenalty;
  }
}

void Sampler::keepTopK() {
  auto k = static_cast<size_t>(settings.topK);
  if (k == 0 || k >= candidates.size())
    return;
  std::partial_sort(candidates.begin(), candidates.begin() + static_cast<ptrdiff_t>(k),
                    candidates.end(), better);
  candidates.resize(k);
}

double Sampler::largest() const {
  return std::min_element(candidates.begin(), candidates.end(), better)->logit;
}

void Sampler::keepTopP() {
  if (settings.topP >= 1)
    return;
  double top = largest(), total = 0;
  for (const Candidate &candidate : candidates)
    total += portableExp(candidate.logit - top);

  // Few tokens hold most of the mass, so sort a growing front, not everything.
  double mass = 0;
  size_t kept = 0;
  for (size_t sorted = 0; kept < candidates.size();) {
    if (kept == sorted) {
      size_t more = std::min(candidates.size(), sorted == 0 ? 128 : sorted * 4);
      std::partial_sort(candidates.begin() + static_cast<ptrdiff_t>(sorted),
                        candidates.begin() + static_cast<ptrdiff_t>(more), candidates.end(),
                        better);
      sorted = more;
    }
    mass += portableExp(candidates[kept++].logit - top);
    if (mass >= settings.topP * total)
      break;
  }
  candidates.resize(kept);
}

void Sampler::keepMinP() {
  if (settings.minP <= 0)
    return;
  double top = largest();
  std::erase_if(candidates, [&](const Candidate &candidate) {
    return candidate.logit != top && portableExp(candidate.logit - top) < settings.minP;
  });
}

int32_t Sampler::draw() {
  // In the order of ids, so that the outcome does not depend on which of the
  // steps above have sorted.
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) { return a.id < b.id; });
  double top = largest(), total = 0;
  for (Candidate &candidate : candidates) {
    candidate.logit = portableExp((candidate.logit - top) / settings.temperature);
    total += candidate.logit;
  }
  double target = random.uniform() * total, sum = 0;
  int32_t last = candidates.front().id;
  for (const Candidate &candidate : candidates) {
    if (candidate.logit == 0)
      continue;
    sum += candidate.logit;
    last = candidate.id;
    if (target < sum)
      return last;
  }
  return last; // rounding can leave the target at the very end
}

} // namespace llmc::rt
