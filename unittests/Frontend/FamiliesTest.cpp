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

TEST(Families, BaichuanIsTheFirstGenerationOnly) {
  auto config = [](const std::string &name) {
    return R"({"model_type": "baichuan", "architectures": [")" + name +
           R"("], "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
              "intermediate_size": 96, "vocab_size": 10})";
  };
  EXPECT_TRUE(inspectConfig(config("BaiChuanForCausalLM")).ok());
  InspectReport second = inspectConfig(config("BaichuanForCausalLM"));
  EXPECT_FALSE(second.ok());
  EXPECT_THAT(second.reasons, Contains(HasSubstr("divides the rows of the head")));
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
