//===- RopeTest.cpp - inverse frequencies against closed forms ------------===//
//
// Expected values were computed in double from the published formulas, outside
// of this code base.
//
//===----------------------------------------------------------------------===//
#include "llmc/Frontend/ConfigView.h"
#include "TestFiles.h"

#include <cmath>

using namespace llmc::frontend;

static void expectNear(const std::vector<float> &got, const std::vector<double> &want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(got[i], want[i], std::fabs(want[i]) * 1e-6) << i;
}

static RopeRecord record(RopeType type, double theta, int64_t dim) {
  RopeRecord rope;
  rope.type = type;
  rope.theta = theta;
  rope.dim = dim;
  return rope;
}

TEST(Rope, Default) {
  // Powers of ten are exact enough to be written down.
  expectNear(computeInvFreq(record(RopeType::Default, 10000, 8)), {1, 0.1, 0.01, 0.001});
}

TEST(Rope, Linear) {
  RopeRecord rope = record(RopeType::Linear, 10000, 8);
  rope.factor = 4;
  expectNear(computeInvFreq(rope), {0.25, 0.025, 0.0025, 0.00025});
}

TEST(Rope, Llama3HasThreeBands) {
  RopeRecord rope = record(RopeType::Llama3, 10000, 12);
  rope.factor = 4;
  rope.lowFreqFactor = 1;
  rope.highFreqFactor = 4;
  rope.originalMaxPositions = 32;
  expectNear(computeInvFreq(rope),
             {1, 0.0590985445, 0.0116039721, 0.0025, 0.000538608673, 0.000116039721});
}

TEST(Rope, Llama3WithoutAMiddleBand) {
  RopeRecord rope = record(RopeType::Llama3, 10000, 12);
  rope.factor = 4;
  rope.lowFreqFactor = rope.highFreqFactor = 1;
  rope.originalMaxPositions = 32;
  expectNear(computeInvFreq(rope),
             {1, 0.215443469, 0.0116039721, 0.0025, 0.000538608673, 0.000116039721});
}

TEST(Rope, Yarn) {
  RopeRecord rope = record(RopeType::Yarn, 100, 12);
  rope.factor = 4;
  rope.originalMaxPositions = 32;
  expectNear(computeInvFreq(rope),
             {1, 0.348119163, 0.107721735, 0.025, 0.0116039721, 0.00538608673});
  rope.betaFast = 2;
  rope.betaSlow = 0.6;
  rope.truncate = false;
  expectNear(computeInvFreq(rope),
             {1, 0.464158883, 0.134872447, 0.025, 0.0116039721, 0.00538608673});
}

TEST(Rope, YarnAttentionFactor) {
  EXPECT_DOUBLE_EQ(yarnMscale(4, 1), 0.1 * std::log(4.0) + 1);
  EXPECT_DOUBLE_EQ(yarnMscale(4, 0.707), 0.0707 * std::log(4.0) + 1);
  EXPECT_EQ(yarnMscale(0.5, 1), 1);
}

TEST(Rope, StoredDivisors) {
  RopeRecord rope = record(RopeType::Default, 10000, 8);
  rope.freqDivisors = {1, 2, 4, 8};
  expectNear(computeInvFreq(rope), {1, 0.05, 0.0025, 0.000125});
}

static std::string faultOf(const std::string &rope, const std::string &key = "rope_parameters") {
  ConfigView view(parseJson("{\"" + key + "\": " + rope + "}", "config.json"), "config.json", {});
  try {
    view.rope({16, 10000.0, "", "rope"});
  } catch (const llmc::InputError &error) {
    return error.what();
  }
  return "";
}

TEST(Rope, FieldsThatScaleNeedTheTypeThatSaysHow) {
  EXPECT_EQ(faultOf(R"({"factor": 4.0, "beta_fast": 32})", "rope_scaling"),
            "config.json: the rotary embedding is scaled by 'rope_scaling.factor' = 4, "
            "'rope_scaling.beta_fast' = 32, but 'rope_type' (or 'type') is missing, which says "
            "how; add it beside them, \"default\" where nothing is scaled");
  EXPECT_NE(faultOf(R"({"short_factor": [1, 1]})"), "");
  EXPECT_EQ(faultOf(R"({"rope_theta": 10000.0})"), "");
  // transformers writes it beside the type that does not use it.
  EXPECT_EQ(faultOf(R"({"rope_type": "default", "factor": 4.0})"), "");
}

TEST(Rope, TheBandsOfLlama3AreInOrder) {
  auto fault = [](const char *high) {
    return faultOf(std::string(R"({"rope_type": "llama3", "factor": 4, "low_freq_factor": 2, )") +
                   R"("original_max_position_embeddings": 64, "high_freq_factor": )" + high + "}");
  };
  EXPECT_EQ(fault("2"), "");
  EXPECT_NE(fault("1").find("'rope_parameters.high_freq_factor' = 1 must be at least "
                            "low_freq_factor"),
            std::string::npos);
}

TEST(Rope, StretchesByFactorsThatAreLeftInF32) {
  for (const char *type : {"linear", "yarn"})
    for (const char *factor : {"0.5", "2000000.0", "1.0", "1000000.0"}) {
      std::string fault = faultOf(std::string(R"({"rope_type": ")") + type +
                                  R"(", "original_max_position_embeddings": 64, "factor": )" +
                                  factor + "}");
      bool isWrong = std::string(factor) == "0.5" || std::string(factor) == "2000000.0";
      EXPECT_EQ(fault.find("must be from 1 to 1000000") != std::string::npos, isWrong) << fault;
      EXPECT_EQ(fault.empty(), !isWrong) << fault;
    }
}

/// Cases of Inputs/Rope/make_rope.py, each config read and its frequencies compared bit by bit.
TEST(Rope, EveryScalingHasThePublishedFrequencies) {
  Json cases = readJsonFile(llmc::test::sourceFolder() + "/unittests/Frontend/Inputs/Rope/rope.json");
  ASSERT_GT(cases.items.size(), 8u);
  for (const Json &entry : cases.items) {
    const Json &config = *entry.find("config");
    SCOPED_TRACE(config.dump());
    ConfigView::RopeRequest request{entry.find("dim")->integer, 10000.0, "", "rope"};
    if (const Json *context = config.find("context"))
      request.context = context->integer;
    ConfigView view(config, "config.json", {});
    if (const Json *partial = view.use("partial_rotary_factor", "rope"))
      request.partial = partial->asDouble();
    RopeRecord rope = view.rope(request);
    auto expectEqual = [](const std::vector<float> &got, const Json *want) {
      ASSERT_EQ(got.size(), want ? want->items.size() : 0);
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i], float(want->items[i].asDouble())) << i;
    };
    expectEqual(computeInvFreq(rope), entry.find("frequencies"));
    expectEqual(computeLongInvFreq(rope), entry.find("long"));
    EXPECT_DOUBLE_EQ(rope.attentionFactor, entry.find("attention")->asDouble());
  }
}
