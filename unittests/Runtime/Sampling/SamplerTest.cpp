//===- SamplerTest.cpp ----------------------------------------------------===//
#include "llmc/Runtime/Sampler.h"

#include "llmc/Support/Error.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <map>

using namespace llmc::rt;

namespace {

/// How often each token comes out of many draws.
std::map<int32_t, int> histogram(SamplerOptions options, const std::vector<float> &logits,
                                 int draws = 20000) {
  Sampler sampler(options);
  std::map<int32_t, int> counts;
  for (int i = 0; i < draws; ++i)
    ++counts[sampler.sample(logits)];
  return counts;
}

std::vector<float> logsOf(std::vector<double> probabilities) {
  std::vector<float> logits;
  for (double p : probabilities)
    logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

TEST(RandomSource, IsPublishedSplitMix64) {
  // The outputs of the authors' reference program for these seeds.
  RandomSource zero(0);
  EXPECT_EQ(zero.next(), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(zero.next(), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(zero.next(), 0x06C45D188009454Fu);
  RandomSource other(1234567);
  EXPECT_EQ(other.next(), 6457827717110365317u);
  EXPECT_EQ(other.next(), 3203168211198807973u);
}

TEST(Sampler, GreedyTakesTheLargestAndOfEqualsTheFirst) {
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 2}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 3, 3}), 1);
  float none = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(sampler.sample(std::vector<float>{none, -5, none}), 1);
}

TEST(Sampler, DrawsWithTheProbabilitiesOfTheSoftmax) {
  SamplerOptions options;
  options.temperature = 1;
  options.seed = 7;
  auto counts = histogram(options, logsOf({0.5, 0.3, 0.2}));
  EXPECT_NEAR(counts[0] / 20000.0, 0.5, 0.015);
  EXPECT_NEAR(counts[1] / 20000.0, 0.3, 0.015);
  EXPECT_NEAR(counts[2] / 20000.0, 0.2, 0.015);
}

TEST(Sampler, TemperatureSharpens) {
  SamplerOptions options;
  options.temperature = 0.5; // squares the probabilities
  auto counts = histogram(options, logsOf({0.5, 0.3, 0.2}));
  EXPECT_NEAR(counts[0] / 20000.0, 0.25 / 0.38, 0.015);
  EXPECT_NEAR(counts[2] / 20000.0, 0.04 / 0.38, 0.015);
}

TEST(Sampler, TopKKeepsTheLargestAndOfEqualsTheFirst) {
  SamplerOptions options;
  options.temperature = 1;
  options.topK = 2;
  auto counts = histogram(options, {0, 1, 1, 1}, 2000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.count(1) && counts.count(2));
}

TEST(Sampler, TopPKeepsTheFewestThatReachIt) {
  SamplerOptions options;
  options.temperature = 1;
  options.topP = 0.7;
  auto counts = histogram(options, logsOf({0.1, 0.5, 0.15, 0.25}), 2000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.count(1) && counts.count(3));
  options.topP = 0;
  EXPECT_EQ(histogram(options, logsOf({0.1, 0.5, 0.4}), 200).size(), 1u);
}

TEST(Sampler, TopPLooksAtProbabilitiesBeforeTemperature) {
  SamplerOptions options;
  options.temperature = 100; // nearly uniform, would the filter see it
  options.topP = 0.7;
  EXPECT_EQ(histogram(options, logsOf({0.1, 0.5, 0.15, 0.25}), 2000).size(), 2u);
}

TEST(Sampler, TopPSortsBeyondItsFirstFront) {
  SamplerOptions options;
  options.temperature = 1;
  options.topP = 0.5;
  std::vector<float> logits(2000, 0.0f); // uniform: the first 1000 stay
  for (auto [id, count] : histogram(options, logits, 200))
    EXPECT_LT(id, 1001);
}

TEST(Sampler, MinPKeepsAFractionOfTheLargest) {
  SamplerOptions options;
  options.temperature = 1;
  options.minP = 0.45;
  auto counts = histogram(options, logsOf({0.1, 0.5, 0.15, 0.25}), 2000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.count(1) && counts.count(3));
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  SamplerOptions options;
  options.repetitionPenalty = 2;
  Sampler sampler(options);
  EXPECT_EQ(sampler.sample(std::vector<float>{4, 3, 1}), 0);
  sampler.accept(0);
  EXPECT_EQ(sampler.sample(std::vector<float>{4, 3, 1}), 1);
  EXPECT_EQ(sampler.sample(std::vector<float>{-1, -1.5f, -4}), 1);
}

TEST(Sampler, FrequencyCountsAndPresenceDoesNot) {
  SamplerOptions frequency;
  frequency.frequencyPenalty = 1;
  SamplerOptions presence;
  presence.presencePenalty = 1;
  Sampler a(frequency), b(presence);
  for (int i = 0; i < 3; ++i) {
    a.accept(0);
    b.accept(0);
  }
  EXPECT_EQ(a.sample(std::vector<float>{2.5f, 0}), 1);
  EXPECT_EQ(b.sample(std::vector<float>{2.5f, 0}), 0);
}

TEST(Sampler, PenaltiesForgetWhatLeftTheWindow) {
  SamplerOptions options;
  options.presencePenalty = 10;
  options.penaltyLastN = 2;
  Sampler sampler(options);
  std::vector<float> logits{5, 4, 3, 2};
  sampler.accept(0);
  sampler.accept(1);
  EXPECT_EQ(sampler.sample(logits), 2);
  sampler.accept(2);
  EXPECT_EQ(sampler.sample(logits), 0);
  sampler.reset();
  EXPECT_EQ(sampler.sample(logits), 0);
}

TEST(Sampler, SameSeedSameTokens) {
  std::vector<float> logits;
  for (int i = 0; i < 500; ++i)
    logits.push_back(static_cast<float>((i * 37) % 101) / 20);
  SamplerOptions options;
  options.temperature = 0.8;
  options.topK = 40;
  options.topP = 0.9;
  options.seed = 42;
  Sampler a(options), b(options);
  std::vector<int32_t> first, second;
  for (int i = 0; i < 50; ++i) {
    first.push_back(a.sample(logits));
    second.push_back(b.sample(logits));
  }
  EXPECT_EQ(first, second);
  a.reset();
  EXPECT_EQ(a.sample(logits), first.front());
  options.seed = 43;
  Sampler c(options);
  second.clear();
  for (int i = 0; i < 50; ++i)
    second.push_back(c.sample(logits));
  EXPECT_NE(first, second);
}

TEST(Sampler, NamesThePositionOfADamagedLogit) {
  Sampler sampler({});
  try {
    sampler.sample(std::vector<float>{0, 1, std::nanf(""), 2});
    FAIL() << "NaN was accepted";
  } catch (const llmc::InputError &error) {
    EXPECT_NE(std::string(error.what()).find("position 2 of 4 is NaN"), std::string::npos)
        << error.what();
  }
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_THROW(sampler.sample(std::vector<float>{infinity}), llmc::InputError);
  EXPECT_THROW(sampler.sample(std::vector<float>{-infinity}), llmc::InputError);
  EXPECT_THROW(sampler.sample(std::vector<float>{}), llmc::InputError);
}

TEST(Sampler, RefusesOptionsOutOfRange) {
  auto refuses = [](auto change) {
    SamplerOptions options;
    change(options);
    EXPECT_THROW(Sampler{options}, llmc::UsageError);
  };
  refuses([](SamplerOptions &o) { o.temperature = -1; });
  refuses([](SamplerOptions &o) { o.temperature = std::nan(""); });
  refuses([](SamplerOptions &o) { o.topK = -1; });
  refuses([](SamplerOptions &o) { o.topP = 1.5; });
  refuses([](SamplerOptions &o) { o.minP = -0.1; });
  refuses([](SamplerOptions &o) { o.repetitionPenalty = 0; });
  refuses([](SamplerOptions &o) { o.penaltyLastN = -2; });
}

} // namespace
