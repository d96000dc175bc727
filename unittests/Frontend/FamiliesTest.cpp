//===- FamiliesTest.cpp - descriptions of families with cases of their own -===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

static std::shared_ptr<ResolvedModel> resolveConfig(const std::string &config,
                                                    const ResolveOptions &options = {}) {
  TempFolder folder;
  folder.write("config.json", config);
  auto set = TinyModel::descriptions();
  return loadModel(folder.path() + "/config.json", set, options);
}
static InspectReport inspectConfig(const std::string &config) {
  TempFolder folder;
  folder.write("config.json", config);
  auto set = TinyModel::descriptions();
  return inspectModel(std::make_shared<const ModelSource>(
                          ModelSource::open(folder.path() + "/config.json")),
                      set);
}
static std::string shapesOf(const ResolvedModel &model, const std::string &role) {
  std::string text;
  for (const WeightFamily *family : model.familiesOf(role))
    text += shapeText(family->shape) + "x" + std::to_string(family->count()) + " ";
  return text;
}

static std::string pruned(const std::string &mixer, const std::string &ffn) {
  return R"({"model_type": "nemotron-nas", "hidden_size": 384, "num_attention_heads": 4,
             "num_hidden_layers": 2, "vocab_size": 10, "intermediate_size": null,
             "num_key_value_heads": null, "block_configs": [
               {"attention": {"n_heads_in_group": 2, "no_op": false},
                "ffn": {"ffn_mult": 1.5, "no_op": false}},
               {"attention": )" +
         mixer + R"(, "ffn": )" + ffn + "}]}";
}

TEST(Families, PrunedLayersHaveTheirOwnWidths) {
  auto model = resolveConfig(pruned(R"({"n_heads_in_group": null, "no_op": true})",
                                    R"({"ffn_mult": 0.25, "no_op": false})"));
  EXPECT_EQ(model->kinds.size(), 2u);
  EXPECT_EQ(shapesOf(*model, "k"), "[192, 384]x1 ");
  // 2 * 1.5 * 384 / 3 = 384 and 64, in steps of 256.
  EXPECT_EQ(shapesOf(*model, "up_proj"), "[512, 384]x1 [256, 384]x1 ");
  EXPECT_EQ(shapesOf(*model, "input_norm"), "[384]x1 ");
  EXPECT_EQ(shapesOf(*model, "post_norm"), "[384]x2 ");
  model = resolveConfig(pruned(R"({"n_heads_in_group": 4, "no_op": false})",
                               R"({"ffn_mult": null, "no_op": true})"));
  EXPECT_EQ(shapesOf(*model, "k"), "[192, 384]x1 [96, 384]x1 ");
  EXPECT_EQ(shapesOf(*model, "up_proj"), "[512, 384]x1 ");
}

TEST(Families, PrunedLayersThatDoMore) {
  EXPECT_INPUT_ERROR(
      resolveConfig(pruned(R"({"n_heads_in_group": 2, "no_op": false, "window_length": 4})",
                           R"({"ffn_mult": 1.0, "no_op": false})")),
      HasSubstr("linear, windowed or sparse blocks"));
  EXPECT_INPUT_ERROR(resolveConfig(pruned(R"({"n_heads_in_group": 3, "no_op": false})",
                                          R"({"ffn_mult": 1.0, "no_op": false})")),
                     HasSubstr("n_heads_in_group must divide num_attention_heads"));
}

TEST(Families, BaichuanOfTheSecondGenerationDividesTheRowsOfItsHead) {
  auto config = [](const std::string &name, const std::string &more) {
    return R"({"model_type": "baichuan", "architectures": [")" + name +
           R"("], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
              "intermediate_size": 96, )" + more + "}";
  };
  auto headOf = [](const std::string &json) {
    EXPECT_TRUE(inspectConfig(json).ok());
    return resolveConfig(json)->familiesOf("head").at(0)->checkpointName;
  };
  const std::string rotary = R"("max_position_embeddings": 64, "vocab_size": 10)";
  EXPECT_EQ(headOf(config("BaiChuanForCausalLM", rotary)), "lm_head.weight");
  // 13B: no key of a context, and biases by distance.
  const std::string large = config("BaichuanForCausalLM", R"("model_max_length": 64, "vocab_size": 64000)");
  EXPECT_EQ(headOf(large), "lm_head.weight");
  EXPECT_EQ(resolveConfig(large)->contextLength, 64);
  EXPECT_EQ(headOf(config("BaichuanForCausalLM", rotary)), "unit_rows(lm_head.weight)");
}

static std::string minimax(const std::string &more) {
  return R"({"model_type": "minimax", "hidden_size": 64, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 10, "intermediate_size": 96, )" + more + "}";
}

TEST(Families, DecaysAreConstantsOfTheDescription) {
  auto model = resolveConfig(minimax(R"("num_hidden_layers": 4)"));
  std::vector<const WeightFamily *> decays = model->familiesOf("decay");
  ASSERT_EQ(decays.size(), 1u);
  EXPECT_EQ(decays[0]->layers, (std::vector<int64_t>{1, 3}));
  ASSERT_EQ(decays[0]->constants.size(), 8u);
  // -(2^-2) (1 - 1 / (3 + 1e-5) + 1e-5), and of the last layer's last head -(2^-8) of almost nothing.
  EXPECT_FLOAT_EQ(decays[0]->constants[0], -0.16666944f);
  EXPECT_NEAR(decays[0]->constants[7], -5.2083e-08, 1e-11);
  for (const PublishedTensor &tensor : model->published)
    EXPECT_EQ(tensor.name.find("decay"), std::string::npos) << tensor.name;
  // Two kinds of layers, whatever the constants.
  EXPECT_EQ(model->kinds.size(), 2u);
  EXPECT_INPUT_ERROR(
      resolveConfig(R"({"model_type": "minimax", "hidden_size": 262144, "num_attention_heads": 16384,
                        "num_key_value_heads": 2, "vocab_size": 10, "intermediate_size": 96,
                        "num_hidden_layers": 100})"),
      HasSubstr("there may be 1048576 of them in all"));
}

TEST(Families, ConstantsStandAlone) {
  auto resolveWith = [](const std::string &attributes) {
    TempFolder folder;
    folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
      "tensors": { "layer": { "factor": ["factor.{i}", "[D]", )json" + attributes + R"json(] } },
      "blocks": { "attention(x)": ["linear(x * factor, q)"] },
      "params": { "H": ["1", "int(1, 1)"], "Dh": ["D", "int(1, 65536)"] } })json");
    folder.write("config.json", R"({"model_type": "own", "hidden_size": 8, "num_hidden_layers": 1,
      "num_attention_heads": 1, "vocab_size": 10, "intermediate_size": 16})");
    auto set = TinyModel::descriptions();
    set.addFile(folder.path("own.jsonc"));
    return loadModel(folder.path("config.json"), set);
  };
  EXPECT_INPUT_ERROR(resolveWith(R"({ "values": "n", "stored": "[1, D]" })"),
                     HasSubstr("beside it stands only 'when'"));
  EXPECT_INPUT_ERROR(resolveWith(R"({ "values": "'n'" })"),
                     HasSubstr("constants must be numbers that are finite in f32, element 0 is"));
  EXPECT_INPUT_ERROR(resolveWith(R"({ "values": "1e300" })"),
                     HasSubstr("constants must be numbers that are finite in f32"));
}

TEST(Families, LayersOfFalconByItsSwitches) {
  auto config = [](const std::string &switches) {
    return R"({"model_type": "falcon", "hidden_size": 32, "num_attention_heads": 4,
               "num_hidden_layers": 2, "vocab_size": 10)" +
           switches + "}";
  };
  EXPECT_EQ(shapesOf(*resolveConfig(config("")), "qkv"), "[48, 32]x2 ");
  EXPECT_EQ(shapesOf(*resolveConfig(config("")), "mlp_norm"), "");
  auto newer = resolveConfig(config(R"(, "new_decoder_architecture": true, "num_kv_heads": 2)"));
  EXPECT_EQ(shapesOf(*newer, "qkv"), "[64, 32]x2 ");
  EXPECT_EQ(shapesOf(*newer, "mlp_norm"), "[32]x2 ");
  auto serial = resolveConfig(config(R"(, "multi_query": false, "parallel_attn": false)"));
  EXPECT_EQ(shapesOf(*serial, "qkv"), "[96, 32]x2 ");
  EXPECT_EQ(shapesOf(*serial, "post_norm"), "[32]x2 ");
  EXPECT_INPUT_ERROR(resolveConfig(config(R"(, "alibi": true)")), HasSubstr("alibi"));
}

TEST(Families, LayersOfGptNeoMustAddUp) {
  auto config = [](const std::string &layers) {
    return R"({"model_type": "gpt_neo", "hidden_size": 32, "num_heads": 4, "vocab_size": 10,
               "attention_types": [[["global", "local"], 2]], "num_layers": )" +
           layers + "}";
  };
  EXPECT_EQ(resolveConfig(config("4"))->kinds.size(), 2u);
  EXPECT_INPUT_ERROR(resolveConfig(config("5")), HasSubstr("attention_types"));
}

TEST(Families, LayersWithoutPositions) {
  auto config = [](const std::string &more) {
    return R"({"model_type": "smollm3", "hidden_size": 32, "num_attention_heads": 4,
               "num_hidden_layers": 4, "intermediate_size": 32, "vocab_size": 10)" +
           more + "}";
  };
  auto model = resolveConfig(config(""));
  ASSERT_EQ(model->kinds.size(), 2u);
  EXPECT_EQ(model->kinds[1].layers, std::vector<int64_t>{3});
  EXPECT_EQ(resolveConfig(config(R"(, "no_rope_layers": [1, 1, 1, 1])"))->kinds.size(), 1u);
  EXPECT_INPUT_ERROR(resolveConfig(config(R"(, "no_rope_layers": [1])")),
                     HasSubstr("outside of the list of 1 values"));
}

TEST(Families, SwitchesThatAreNotSupported) {
  const char *refused[] = {
      R"({"model_type": "cohere2", "use_qk_norm": true})",
      R"({"model_type": "stablelm", "qk_layernorm": true})",
      R"({"model_type": "opt", "layer_norm_elementwise_affine": false})",
      R"({"model_type": "bloom", "apply_residual_connection_post_layernorm": true})",
      R"({"model_type": "gpt_bigcode", "multi_query": false})",
  };
  for (const char *config : refused) {
    SCOPED_TRACE(config);
    InspectReport report = inspectConfig(config);
    EXPECT_EQ(report.verdict, InspectReport::Verdict::Missing)
        << testing::PrintToString(report.reasons);
    EXPECT_THAT(report.reasons, Contains(HasSubstr("is not supported by description")));
  }
}
