//===- InferMovesTest.cpp - what the files of unknown models show ----------===//
#include "TinyModel.h"
#include "llmc/Frontend/Infer.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;

namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// A model of an architecture that nobody knows, in llama's form.
struct UnknownModel : TinyModel {
  UnknownModel() : TinyModel("warped") {}

  Inference infer() {
    auto set = descriptions();
    auto source = std::make_shared<ModelSource>(ModelSource::open(write()));
    return inferDescription(source, set);
  }
  void eachMatrix(std::function<void(ZeroTensor &)> change) {
    for (ZeroTensor &tensor : tensors)
      if (tensor.name.starts_with("model.layers.") && tensor.shape.size() == 2)
        change(tensor);
  }
};

std::vector<std::string> entriesOf(const Inference &inference) {
  std::vector<std::string> out;
  for (const InferredPart &part : inference.parts)
    out.insert(out.end(), part.entries.begin(), part.entries.end());
  return out;
}

TEST(InferMovesTest, PlainModelNeedsNothing) {
  Inference inference = UnknownModel().infer();
  ASSERT_TRUE(inference.found());
  EXPECT_TRUE(inference.parts.empty());
  EXPECT_TRUE(inference.model->problems.empty());
}

TEST(InferMovesTest, NormsOfHeadsComeWithTheirSwitch) {
  UnknownModel model;
  for (const char *layer : {"model.layers.0.", "model.layers.1."})
    for (const char *role : {"q_norm", "k_norm"})
      model.tensors.push_back({std::string(layer) + "self_attn." + role + ".weight", {4}});
  Inference inference = model.infer();
  ASSERT_TRUE(inference.found());
  for (const WeightFamily &family : inference.model->families)
    if (family.role == "q_norm")
      EXPECT_EQ(family.shape, std::vector<int64_t>{4});
  EXPECT_TRUE(inference.model->tensorLedger.idleRoles.empty());
}

TEST(InferMovesTest, MatricesThatLieTheOtherWayRound) {
  UnknownModel model;
  model.eachMatrix([](ZeroTensor &tensor) { std::swap(tensor.shape[0], tensor.shape[1]); });
  Inference inference = model.infer();
  ASSERT_TRUE(inference.found());
  for (const WeightFamily &family : inference.model->families)
    if (family.perLayer && family.shape.size() == 2)
      EXPECT_TRUE(family.transposed) << family.publishedName;
  EXPECT_THAT(inference.assumptions, Contains(HasSubstr("self_attn.q_proj.weight' are taken to be "
                                                        "transposed like all others")));
}

TEST(InferMovesTest, SquareMatricesStayWhereOthersAreAsDescribed) {
  UnknownModel model;
  for (const char *layer : {"model.layers.0.", "model.layers.1."})
    std::swap(model.tensor(std::string(layer) + "mlp.down_proj.weight").shape[0],
              model.tensor(std::string(layer) + "mlp.down_proj.weight").shape[1]);
  Inference inference = model.infer();
  ASSERT_TRUE(inference.found());
  for (const WeightFamily &family : inference.model->families)
    EXPECT_EQ(family.transposed, family.role == "down_proj") << family.publishedName;
  EXPECT_THAT(inference.assumptions, Not(Contains(HasSubstr("square"))));
}

TEST(InferMovesTest, DimensionsOfOneDoNotMatter) {
  UnknownModel model;
  for (const char *layer : {"model.layers.0.", "model.layers.1."})
    model.tensor(std::string(layer) + "input_layernorm.weight").shape = {1, 8, 1};
  EXPECT_TRUE(model.infer().found());
  for (const char *layer : {"model.layers.0.", "model.layers.1."})
    model.tensor(std::string(layer) + "input_layernorm.weight").shape = {1, 7, 1};
  EXPECT_FALSE(model.infer().found());
}

TEST(InferMovesTest, KeysThatSayThatSomethingIsOff) {
  UnknownModel model;
  model.set("uses_warp", "false");
  Inference off = model.infer();
  ASSERT_TRUE(off.found());
  EXPECT_THAT(off.assumptions, Contains(HasSubstr("something is off: 'uses_warp'")));
  model.set("uses_warp", "true");
  Inference on = model.infer();
  EXPECT_FALSE(on.found());
  EXPECT_THAT(on.unexplained, Contains(HasSubstr("key 'uses_warp' has no meaning")));
}

TEST(InferMovesTest, WhatStandsBesideTheLanguageModel) {
  UnknownModel model;
  for (ZeroTensor &tensor : model.tensors)
    tensor.name = "language_model." + tensor.name;
  model.tensors.push_back({"vision_tower.layers.0.warp.weight", {3, 3}});
  Json text = model.config;
  model.config = Json::makeObject();
  model.set("model_type", "\"warped_images\"");
  model.set("warp_token_index", "9");
  model.set("vision_config", R"({"hidden_size": 3})");
  model.config.set("text_config", text);
  Inference beside = model.infer();
  ASSERT_TRUE(beside.found());
  EXPECT_THAT(beside.assumptions, Contains(HasSubstr("beside 'text_config'")));
  EXPECT_THAT(beside.assumptions, Contains(HasSubstr("'warp_token_index'")));

  text.set("warp_token_index", Json::makeInt(9));
  model.config.set("text_config", text);
  EXPECT_FALSE(model.infer().found());
}

TEST(InferMovesTest, NamesThatEndAlike) {
  UnknownModel model;
  for (ZeroTensor &tensor : model.tensors)
    if (size_t at = tensor.name.find("mlp."); at != std::string::npos)
      tensor.name.replace(at, 4, "warp.inner.");
  Inference inference = model.infer();
  ASSERT_TRUE(inference.found());
  EXPECT_THAT(entriesOf(inference), Contains("tensors.layer.gate_proj"));
  EXPECT_THAT(inference.assumptions,
              Contains(HasSubstr("'model.layers.{i}.warp.inner.gate_proj.weight' is what "
                                 "'model.layers.{i}.mlp.gate_proj.weight' is there")));
}

TEST(InferMovesTest, ATensorWithoutMeaningRefuses) {
  UnknownModel model;
  model.tensors.push_back({"model.layers.0.warp.core", {3, 5}});
  Inference inference = model.infer();
  EXPECT_FALSE(inference.found());
  EXPECT_THAT(inference.unexplained,
              Contains(HasSubstr("tensor 'model.layers.{i}.warp.core' [3, 5] is read by nothing")));
}

TEST(InferMovesTest, RotaryEmbeddingsOfAComposedModelMustBeSaid) {
  UnknownModel model;
  for (const char *layer : {"model.layers.0.", "model.layers.1."})
    std::swap(model.tensor(std::string(layer) + "mlp.down_proj.weight").shape[0],
              model.tensor(std::string(layer) + "mlp.down_proj.weight").shape[1]);
  std::erase_if(model.config.members,
                [](const JsonMember &member) { return member.first == "rope_theta"; });
  Inference inference = model.infer();
  EXPECT_FALSE(inference.found());
  EXPECT_THAT(inference.unexplained, Contains(HasSubstr("no key says")));
}

} // namespace
