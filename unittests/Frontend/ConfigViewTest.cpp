//===- ConfigViewTest.cpp - spellings, nesting and the key ledger ---------===//
#include "llmc/Frontend/ConfigView.h"
#include "TestFiles.h"

#include <cmath>

using namespace llmc::frontend;
using testing::ElementsAre;
using testing::HasSubstr;

static ConfigView view(const std::string &json) {
  return ConfigView(parseJson(json, "config.json"), "config.json",
                    {{"n_layer", "num_hidden_layers"}});
}
static RopeRecord ropeOf(const std::string &json, const std::string &layerType = {}) {
  ConfigView config = view(json);
  return config.rope({8, 10000.0, layerType, "rope"});
}

TEST(ConfigView, OldAndNewRopeSpellingsAgree) {
  EXPECT_EQ(
      ropeOf(R"({"rope_theta": 500, "rope_scaling": {"type": "linear", "factor": 3}})"),
      ropeOf(
          R"({"rope_parameters": {"rope_theta": 500.0, "rope_type": "linear", "factor": 3.0}})"));
  EXPECT_EQ(ropeOf(R"({"rope_scaling": null})"), ropeOf("{}"));
  EXPECT_EQ(ropeOf("{}").theta, 10000.0);
}

TEST(ConfigView, RopePerLayerType) {
  std::string json =
      R"({"rope_parameters": {"full_attention": {"rope_type": "linear", "rope_theta": 1e6,
                                                 "factor": 8},
                         "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}})";
  EXPECT_EQ(ropeOf(json, "full_attention").factor, 8);
  EXPECT_EQ(ropeOf(json, "sliding_attention").theta, 1e4);
}

TEST(ConfigView, OlderKeysOfOneLayerTypeOnly) {
  // rope_scaling of a model with two records is that of one of them.
  std::string json = R"({"rope_theta": 1e6, "rope_scaling": {"type": "linear", "factor": 8}})";
  EXPECT_EQ(ropeOf(json, "full_attention").factor, 8);
  ConfigView config = view(json);
  ConfigView::RopeRequest request{8, 500.0, "sliding_attention", "rope"};
  request.shared = false;
  RopeRecord rope = config.rope(request);
  EXPECT_EQ(rope.type, RopeType::Default);
  EXPECT_EQ(rope.theta, 500.0);
  // Nothing of it was used or taken for irrelevant.
  EXPECT_EQ(config.finish({}).unknown.size(), 3u);
}

TEST(ConfigView, ARecordIsTheSameHoweverOftenItIsAskedFor) {
  ConfigView config = view("{}");
  ConfigView::RopeRequest request{8, 10000.0, "", "rope"};
  request.otherwise = {{"rope_type", Json::makeString("linear")},
                       {"rope_theta", Json::makeDouble(500.0)},
                       {"factor", Json::makeDouble(4.0)}};
  for (int time = 0; time < 3; ++time) {
    RopeRecord rope = config.rope(request);
    EXPECT_EQ(rope.type, RopeType::Linear) << time;
    EXPECT_EQ(rope.theta, 500.0) << time;
    EXPECT_EQ(rope.factor, 4.0) << time;
    // One without defaults asks for fields that the config does not have.
    EXPECT_EQ(config.rope({8, 10000.0, "", "rope"}).type, RopeType::Default) << time;
    EXPECT_EQ(config.rope({8, 10000.0, "full_attention", "rope"}).theta, 10000.0) << time;
  }
  EXPECT_TRUE(config.finish({}).unknown.empty());
}

TEST(ConfigView, SynonymsMakeTheRecordOfALayerType) {
  Json json = parseJson(R"({"rope_theta": 100.0, "far_theta": 1000.0,
      "far": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16},
      "max_position_embeddings": 64})",
                        "fixture");
  ConfigView config(json, "config.json",
                    {{"far_theta", "rope_parameters.compress.rope_theta"},
                     {"far", "rope_parameters.compress"}});
  ConfigView::RopeRequest near{8, 10000.0, "main", "rope"}, far{8, 10000.0, "compress", "rope"};
  // What the layer type has by itself goes before what is said for all layers.
  near.own = {{"rope_type", Json::makeString("default")}};
  far.own = {{"rope_theta", Json::makeDouble(7.0)}};
  far.attentionFactor = 1;
  EXPECT_EQ(config.rope(near).theta, 100.0);
  RopeRecord rope = config.rope(far);
  EXPECT_EQ(rope.type, RopeType::Yarn);
  EXPECT_EQ(rope.theta, 1000.0);
  EXPECT_EQ(rope.factor, 4.0);
  EXPECT_EQ(rope.attentionFactor, 1.0);
  EXPECT_TRUE(config.finish({}).unknown.empty());
  // Two that contradict each other.
  json.set("far", parseJson(R"({"rope_theta": 5.0})", "fixture"));
  EXPECT_THROW(ConfigView(json, "config.json",
                          {{"far_theta", "rope_parameters.compress.rope_theta"},
                           {"far", "rope_parameters.compress"}}),
               llmc::InputError);
  // Without a base of its own the class's, not that of all layers.
  ConfigView other = view(R"({"rope_theta": 100.0})");
  EXPECT_EQ(other.rope(far).theta, 7.0);
}

TEST(ConfigView, OriginalContextAtTheTop) {
  std::string fields = R"("rope_scaling": {"type": "su", "short_factor": [1, 1, 1, 1],
                          "long_factor": [2, 2, 2, 2]}, "max_position_embeddings": 64)";
  RopeRecord rope = ropeOf("{\"original_max_position_embeddings\": 16, " + fields + "}");
  EXPECT_EQ(rope.type, RopeType::LongRope);
  EXPECT_EQ(rope.originalMaxPositions, 16);
  EXPECT_DOUBLE_EQ(rope.attentionFactor, std::sqrt(1 + std::log(4.0) / std::log(16.0)));
  EXPECT_INPUT_ERROR(view(R"({"original_max_position_embeddings": 16,
                              "rope_parameters": {"original_max_position_embeddings": 32}})"),
                     HasSubstr("original_max_position_embeddings' is 16"));
}

TEST(ConfigView, FieldsOfTheRecordAsKeys) {
  auto config = [](const std::string &json) {
    return ConfigView(parseJson(json, "config.json"), "config.json",
                      {{"rope_parameters.beta", "beta"},
                       {"rope_parameters.original_max_position_embeddings", "original"}});
  };
  for (const char *json :
       {R"({"rope_scaling": {"type": "default", "beta": 0.1, "original_max_position_embeddings": 8}})",
        R"({"original_max_position_embeddings": 8,
            "text_config": {"rope_parameters": {"rope_type": "default", "beta": 0.1}}})"}) {
    ConfigView view = config(json);
    EXPECT_EQ(view.use("beta", "b")->asDouble(), 0.1);
    EXPECT_EQ(view.use("original", "o")->integer, 8);
    EXPECT_EQ(view.rope({8, 10000.0, "", "rope"}).type, RopeType::Default);
    EXPECT_TRUE(view.finish({}).unknown.empty());
  }
  // Of one type of layers only, it is no key of the model.
  EXPECT_EQ(config(R"({"rope_parameters": {"full_attention": {"beta": 0.1}}})").use("beta", "b"),
            nullptr);
}

TEST(ConfigView, AlphaOfTheDynamicBase) {
  RopeRecord rope = ropeOf(R"({"rope_scaling": {"type": "dynamic", "alpha": 16.0, "factor": 1.0,
                               "beta_fast": 32, "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0}})");
  EXPECT_EQ(rope.type, RopeType::Default);
  // 16 ** (8 / 6)
  EXPECT_NEAR(rope.theta, 10000.0 * 40.317473596635935, 1e-6);
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "dynamic", "alpha": -1}})"),
                     HasSubstr("alpha"));
}

TEST(ConfigView, YarnDefaults) {
  RopeRecord rope = ropeOf(
      R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
                           "original_max_position_embeddings": 32}})");
  EXPECT_EQ(rope.betaFast, 32);
  EXPECT_EQ(rope.betaSlow, 1);
  EXPECT_TRUE(rope.truncate);
  EXPECT_DOUBLE_EQ(rope.attentionFactor, 0.1 * std::log(4.0) + 1);
  EXPECT_DOUBLE_EQ(ropeOf(
                       R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
                               "original_max_position_embeddings": 32,
                              "mscale": 1.0, "mscale_all_dim": 0.5}})")
                       .attentionFactor,
                   (0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1));
  EXPECT_EQ(ropeOf(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "attention_factor": 1.5},
                       "max_position_embeddings": 64})")
                .attentionFactor,
            1.5);
  // The factor follows from the two lengths where it is not written.
  EXPECT_EQ(
      ropeOf(R"({"rope_scaling": {"rope_type": "yarn", "original_max_position_embeddings": 32},
                       "max_position_embeddings": 128})")
          .factor,
      4);
}

TEST(ConfigView, RopeErrorsNameTheKey) {
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "spiral", "factor": 2}})"),
                     HasSubstr("rope_scaling.type"), HasSubstr("spiral"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})"),
                     HasSubstr("dynamic"), HasSubstr("max_position_embeddings"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2],
                                "original_max_position_embeddings": 32}})"),
                     HasSubstr("longrope"), HasSubstr("'long_factor'"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2, 3, 4],
                                "long_factor": [1, 2, 3], "factor": 4,
                                "original_max_position_embeddings": 32}})"),
                     HasSubstr("long_factor has 3 numbers"), HasSubstr("needs 4"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 0, 3, 4],
                                "long_factor": [1, 2, 3, 4], "factor": 4,
                                "original_max_position_embeddings": 32}})"),
                     HasSubstr("rope_scaling.short_factor"), HasSubstr("positive"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_parameters": {"full": {"partial_rotary_factor": 1.5}}})",
                            "full"),
                     HasSubstr("partial_rotary_factor is 1.5"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "linear"}})"), HasSubstr("'factor'"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"type": "linear", "factor": "2"}})"),
                     HasSubstr("rope_scaling.factor"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_theta": -1})"), HasSubstr("rope_theta"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": 3})"), HasSubstr("rope_scaling"));
}

TEST(ConfigView, RopeValuesWithoutUsableFrequencies) {
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_parameters": {"rope_type": "llama3", "factor": 1e-320,
                                "low_freq_factor": 1, "high_freq_factor": 4,
                                "original_max_position_embeddings": 32}})"),
                     HasSubstr("rope_parameters.factor"), HasSubstr("e-320"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
                                "beta_fast": 1e-320, "original_max_position_embeddings": 32}})"),
                     HasSubstr("rope_scaling.beta_fast"), HasSubstr("e-320"));
  // Each in range, their product is not.
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_theta": 1e38, "rope_scaling": {"type": "proportional",
                                "factor": 1e30}})"),
                     HasSubstr("frequency"), HasSubstr("rope_scaling.factor = 1e"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4, "mscale": -1e9,
                                "mscale_all_dim": 1, "original_max_position_embeddings": 32}})"),
                     HasSubstr("attention factor"), HasSubstr("rope_scaling.mscale = "));
}

TEST(ConfigView, EmptyObjectsAndDottedKeysAreEntries) {
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_parameters": {"rope_theta": {}}})"),
                     HasSubstr("rope_parameters.rope_theta"));
  EXPECT_INPUT_ERROR(ropeOf(R"({"rope_theta": {}})"), HasSubstr("rope_theta"));
  ConfigView config = view(
      R"({"foo": {}, "rope_parameters": {"rope_type": "default", "factor": 1, "bar": {}, "rope_theta": 5.0, "x.y": 1},
          "rope_parameters.factor": 2, "rope_parameters.rope_theta": 3})");
  config.rope({8, 10000.0, "", "rope"});
  ConfigLedger ledger = config.finish({"rope_parameters.rope_theta"});
  std::vector<std::string> unknown;
  for (const auto &entry : ledger.unknown)
    unknown.push_back(entry.first);
  EXPECT_THAT(unknown, ElementsAre("'rope_parameters.factor'", "foo", "rope_parameters.'x.y'",
                                   "rope_parameters.bar"));
  EXPECT_THAT(ledger.accepted, ElementsAre(testing::Pair("'rope_parameters.rope_theta'", "3")));
}

TEST(ConfigView, ContradictionsBetweenSpellings) {
  EXPECT_INPUT_ERROR(view(R"({"rope_theta": 1, "rope_parameters": {"rope_theta": 2}})"),
                     HasSubstr("'rope_theta' is 1"), HasSubstr("rope_parameters.rope_theta"));
  EXPECT_INPUT_ERROR(view(
                         R"({"torch_dtype": "float16", "dtype": "float32", "n_layer": 1,
                   "num_hidden_layers": 2})"),
                     HasSubstr("n_layer"));
  EXPECT_NO_THROW(view(R"({"n_layer": 2, "num_hidden_layers": 2})"));
  EXPECT_INPUT_ERROR(view(R"({"text_config": {"hidden_size": 4}, "hidden_size": 5})"),
                     HasSubstr("text_config.hidden_size"));
}

TEST(ConfigView, LedgerKnowsEveryKey) {
  ConfigView config =
      view(R"({"text_config": {"hidden_size": 4, "mystery": null, "rope_scaling": null},
                               "model_type": "x", "use_cache": true, "fine": 1,
                               "rope_parameters": {"rope_theta": 5.0, "odd": 1}})");
  EXPECT_EQ(config.use("hidden_size", "D")->integer, 4);
  EXPECT_EQ(config.use("absent", "D"), nullptr);
  config.rope({8, 10000.0, "", "rope"});
  config.markIrrelevant("use_*");
  ConfigLedger ledger = config.finish({"fine"});
  EXPECT_THAT(ledger.used["text_config.hidden_size"], ElementsAre("D"));
  EXPECT_EQ(ledger.used.count("rope_parameters.rope_theta"), 1u);
  EXPECT_EQ(ledger.used.count("text_config.rope_scaling"), 1u);
  EXPECT_THAT(ledger.irrelevant, ElementsAre("use_cache"));
  EXPECT_THAT(ledger.accepted, ElementsAre(testing::Pair("fine", "1")));
  std::vector<std::string> unknown;
  for (const auto &entry : ledger.unknown)
    unknown.push_back(entry.first);
  EXPECT_THAT(unknown, ElementsAre("model_type", "rope_parameters.odd", "text_config.mystery"));
}

TEST(ConfigView, NearNames) {
  EXPECT_THAT(nearNames("num_hiden_layers", {"num_hidden_layers", "hidden_size", "vocab_size"}),
              ElementsAre("num_hidden_layers"));
  EXPECT_TRUE(nearNames("attention_temperature_profile", {"hidden_size"}).empty());
}

TEST(ConfigView, FieldsOfNamedObjects) {
  auto view = [](const std::string &json) {
    return ConfigView(parseJson(json, "config.json"), "config.json",
                      {{"mixer.heads", "linear_heads"}, {"mixer.width", "linear_width"}});
  };
  ConfigView config = view(R"({"mixer": {"heads": 4, "extra": 1}, "other": {"heads": 5}})");
  ASSERT_TRUE(config.use("linear_heads", "H"));
  EXPECT_EQ(config.peek("linear_heads")->integer, 4);
  EXPECT_EQ(config.peek("linear_width"), nullptr);
  ConfigLedger ledger = config.finish({});
  EXPECT_EQ(ledger.used.count("mixer.heads"), 1u);
  EXPECT_EQ(ledger.unknown.count("mixer.extra"), 1u);
  EXPECT_EQ(ledger.unknown.count("mixer"), 0u);
  EXPECT_EQ(ledger.unknown.count("other"), 1u);

  EXPECT_INPUT_ERROR(view(R"({"mixer": {"heads": 4}, "linear_heads": 5})"),
                     HasSubstr("'mixer.heads' is 4 but 'linear_heads'"));
  // A key with a dot in its name is not the field.
  ConfigView dotted = view(R"({"mixer.heads": 4, "mixer": {"a.b": 1}})");
  EXPECT_EQ(dotted.peek("linear_heads"), nullptr);
  EXPECT_EQ(dotted.finish({}).unknown.count("'mixer.heads'"), 1u);
  EXPECT_EQ(dotted.finish({}).unknown.count("mixer.'a.b'"), 1u);
}
