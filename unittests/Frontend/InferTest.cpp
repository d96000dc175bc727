//===- InferTest.cpp - descriptions put together from others --------------===//
#include "TinyModel.h"
#include "llmc/Frontend/Infer.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::Contains;
using testing::HasSubstr;

namespace {

/// llama, and one with a matrix before the feed-forward in the layers that `forks` says: all.
DescriptionSet forkedAndLlama(const TempFolder &folder) {
  DescriptionSet set;
  set.addFile(sourceFolder() + "/models/llama.jsonc");
  set.addFile(folder.write("forked.jsonc", R"json({
    "extends": "llama",
    "match": { "model_type": ["forked"] },
    "params": { "forks(i)": ["true", "bool"] },
    "tensors": { "layer": {
      "side": ["model.layers.{i}.side.weight", "[D, D]", { "when": "forks(i)" }],
      "other": ["model.layers.{i}.other.weight", "[D, D]", { "when": "forks(i)" }]
    } },
    "blocks": { "decoder(x)": [
      "x = x + scaled(attention(norm(x, input_norm)), residual_scale)",
      "h = norm(x, post_norm)",
      "x = x + scaled(gated_mlp(forks(i) ? linear(linear(h, side), other) : h), residual_scale)",
      "observe(x, 'hidden.{i+1}')"
    ] },
    "gguf": null
  })json"));
  return set;
}

Inference inferred(TinyModel &model, const std::vector<int64_t> &side,
                   const std::vector<int64_t> &other) {
  auto add = [&](const std::vector<int64_t> &layers, const std::string &name) {
    for (int64_t layer : layers)
      model.tensors.push_back(
          {"model.layers." + std::to_string(layer) + "." + name + ".weight", {8, 8}});
  };
  add(side, "side");
  add(other, "other");
  TempFolder folder;
  DescriptionSet set = forkedAndLlama(folder);
  return inferDescription(
      std::make_shared<const ModelSource>(ModelSource::open(model.write())), set);
}

std::string forksOf(const Inference &inference) {
  const Json *params = inference.text.find("params");
  const Json *forks = params ? params->find("forks(i)") : nullptr;
  return forks ? forks->items.at(0).text : "";
}

TEST(InferTest, TensorsSayInWhichLayersAConditionHolds) {
  TinyModel last("nova", 3);
  Inference inference = inferred(last, {1, 2}, {1, 2});
  ASSERT_TRUE(inference.found());
  EXPECT_EQ(inference.base, "forked");
  EXPECT_EQ(forksOf(inference), "i >= 1");
  EXPECT_THAT(inference.assumptions, Contains(HasSubstr("by the tensors that are there")));

  TinyModel some("nova", 3);
  inference = inferred(some, {0, 2}, {0, 2});
  ASSERT_TRUE(inference.found());
  EXPECT_EQ(forksOf(inference), "contains([0, 2], i)");
  EXPECT_EQ(inference.model->kinds.size(), 2u);
}

TEST(InferTest, TensorsThatDisagreeDecideNothing) {
  TinyModel model("nova", 3);
  Inference inference = inferred(model, {0, 2}, {0, 1});
  EXPECT_FALSE(inference.found());
  EXPECT_FALSE(inference.unexplained.empty());
}

TEST(InferTest, WhatFitsAsItIsIsLeftAsItIs) {
  TinyModel model("nova", 3);
  Inference inference = inferred(model, {0, 1, 2}, {0, 1, 2});
  ASSERT_TRUE(inference.found());
  EXPECT_EQ(inference.base, "forked");
  EXPECT_TRUE(inference.parts.empty());
  EXPECT_EQ(forksOf(inference), "");
}

} // namespace
