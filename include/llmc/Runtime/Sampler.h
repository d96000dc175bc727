//===- Sampler.h - chooses the next token from logits -----------*- C++ -*-===//
//
// The steps and their order are the ones llama.cpp made common:
//
//   1. repetition, then frequency and presence penalty, over the last tokens
//   2. top-k       the k largest logits
//   3. top-p       the fewest of those whose probabilities reach p
//   4. min-p       those with at least min-p times the largest probability
//   5. temperature divides the logits
//   6. a draw from the softmax of what is left
//
// Probabilities of steps 3 and 4 are those before temperature. A temperature
// of 0 takes the largest logit after step 1 instead, of equal ones the lowest
// id. Equal logits, seed and options give equal tokens on every machine: the
// generator works on integers and the arithmetic is free of library calls.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_SAMPLER_H
#define LLMC_RUNTIME_SAMPLER_H

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

namespace llmc::rt {

struct SamplerOptions {
  double temperature = 0; ///< 0: greedy
  int32_t topK = 0;       ///< 0: off
  double topP = 1;        ///< 1: off
  double minP = 0;        ///< 0: off
  double repetitionPenalty = 1; ///< divides positive and multiplies negative logits; 1: off
  double frequencyPenalty = 0;  ///< subtracted for every occurrence
  double presencePenalty = 0;   ///< subtracted once
  /// How many of the last tokens the penalties look at; -1: all, 0: none.
  int32_t penaltyLastN = 64;
  uint64_t seed = 0;

  /// Throws UsageError for a value out of its range.
  void validate() const;
};

/// SplitMix64: draw number n (from 1) is a mix of seed + n * 0x9E3779B97F4A7C15
/// (Steele, Lea, Flood 2014), so a draw depends on its number alone.
class RandomSource {
public:
  explicit RandomSource(uint64_t seed) : state(seed) {}
  uint64_t next();
  /// In [0, 1), with 53 bits.
  double uniform();

private:
  uint64_t state;
};

/// One sequence's sampler: it remembers the tokens accepted so far.
class Sampler {
public:
  explicit Sampler(const SamplerOptions &options);

  /// The next token. Throws InputError naming the position of a logit that is
  /// NaN or plus infinity, and when no token is left to choose from. Minus
  /// infinity excludes a token.
  int32_t sample(std::span<const float> logits);

  /// Takes a token into the window of the penalties: tokens of the prompt and
  /// each token that sample() chose.
  void accept(int32_t id);

  /// Forgets the tokens and starts the generator anew.
  void reset();

  const SamplerOptions &options() const { return settings; }

private:
  struct Candidate {
    double logit;
    int32_t id;
  };

  void fill(std::span<const float> logits);
  void applyPenalties();
  void keepTopK();
  void keepTopP();
  void keepMinP();
  int32_t draw();
  double largest() const;
  static bool better(const Candidate &a, const Candidate &b);

  SamplerOptions settings;
  RandomSource random;
  std::deque<int32_t> window;
  std::unordered_map<int32_t, int32_t> counts; ///< of the window
  std::vector<Candidate> candidates;           ///< kept to reuse the memory
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_SAMPLER_H
