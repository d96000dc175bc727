//===- StoredWeightsTest.cpp - parts, transposed tensors, other names -----===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;

/// Tensors as phi3 has them, in the sizes of the tiny model: 2 query heads, 1 key head of 4, 6 feed-forward rows.
static void fuse(TinyModel &tiny) {
  for (int i : {0, 1}) {
    std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char *name : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                             "mlp.gate_proj", "mlp.up_proj"})
      tiny.drop(layer + name + ".weight");
    tiny.tensors.push_back({layer + "self_attn.qkv_proj.weight", {16, 8}});
    tiny.tensors.push_back({layer + "mlp.gate_up_proj.weight", {12, 8}});
  }
}

TEST(StoredWeights, PartsOfOneTensor) {
  TinyModel tiny("phi3");
  fuse(tiny);
  auto model = tiny.load();
  const WeightFamily *q = model->familiesOf("q").at(0), *v = model->familiesOf("v").at(0);
  EXPECT_THAT(q->shape, ElementsAre(8, 8));
  EXPECT_EQ(q->firstRow, 0);
  EXPECT_THAT(v->shape, ElementsAre(4, 8));
  EXPECT_EQ(v->firstRow, 12);
  EXPECT_EQ(v->storedRows, 16);
  EXPECT_EQ(v->tensorOf(1), q->tensorOf(1));
  EXPECT_EQ(v->tensorOf(1)->name, "model.layers.1.self_attn.qkv_proj.weight");
  EXPECT_THAT(v->storedShape(), ElementsAre(16, 8));
  // The tensor itself is no role, and is counted once.
  EXPECT_TRUE(model->familiesOf("qkv").empty());
  EXPECT_EQ(model->tensorLedger.used, tiny.tensors.size());
  InspectReport report = tiny.inspect();
  int64_t elements = 0, fused = 0;
  for (const auto &tensor : report.tensors) {
    elements += int64_t(*elementCount(tensor.shape)) * tensor.count;
    if (tensor.name == "model.layers.{i}.self_attn.qkv_proj.weight") {
      ++fused;
      EXPECT_THAT(tensor.shape, ElementsAre(16, 8));
    }
  }
  EXPECT_EQ(fused, 1);
  EXPECT_EQ(elements, report.parametersTotal);
}

TEST(StoredWeights, FusedTensorOfTheWrongShapeOrAbsent) {
  TinyModel tiny("phi3");
  fuse(tiny);
  tiny.tensor("model.layers.1.self_attn.qkv_proj.weight").shape = {15, 8};
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("model.layers.1.self_attn.qkv_proj.weight"),
                     HasSubstr("[15, 8]"), HasSubstr("[16, 8]"));
  tiny.drop("model.layers.1.self_attn.qkv_proj.weight");
  std::string message = inputError([&] { tiny.load(); });
  size_t first = message.find("lacks tensor");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(message.find("lacks tensor", first + 1), std::string::npos) << message;
}

static std::string inspectWith(TinyModel &tiny, const std::string &tensors,
                               const std::string &more = {}) {
  std::string own = tiny.folder.write(
      "own.jsonc", R"({ "extends": "llama", "match": { "model_type": ["own"] }, "tensors": {)" +
                       tensors + "}" + more + "}");
  auto set = TinyModel::descriptions();
  set.addFile(own);
  return inputError([&] { loadModel(tiny.write(), set); });
}

TEST(StoredWeights, PartsAreAllOfTheirTensor) {
  TinyModel tiny("own");
  auto withRows = [&](const std::string &k) {
    return inspectWith(tiny, R"("layer": { "q": null, "k": null, "v": null,
      "qkv": ["model.layers.{i}.self_attn.qkv_proj.weight", "[16, D]",
              { "parts": { "q": 8, "k": ")" + k + R"(", "v": 4 } }] })");
  };
  EXPECT_THAT(withRows("3"), HasSubstr("have 15 rows, the tensor has 16"));
  EXPECT_THAT(withRows("5"), HasSubstr("part 'v' of tensor"));
  EXPECT_THAT(withRows("0"), HasSubstr("part 'k' of tensor"));
  EXPECT_THAT(inspectWith(tiny, R"("layer": { "o": ["model.layers.{i}.o", "[D, D]",
                                    { "parts": { "a": 4, "b": 4 } }] })"),
              HasSubstr("'o' is stored in parts"));
  EXPECT_THAT(inspectWith(tiny, R"("layer": { "input_norm": ["model.layers.{i}.n", "[D]",
                                    { "transposed": true }] })"),
              HasSubstr("must be [rows, columns]"));
  EXPECT_THAT(inspectWith(tiny, R"("layer": { "o": ["model.layers.{i}.o", "[D, D]",
                                    { "transposed": 1 }] })"),
              HasSubstr("'transposed' is true or false"));
}

TEST(StoredWeights, Transposed) {
  TinyModel tiny("own");
  for (int i : {0, 1})
    tiny.tensor("model.layers." + std::to_string(i) + ".mlp.down_proj.weight").shape = {6, 8};
  std::string own = tiny.folder.write("own.jsonc", R"({ "extends": "llama",
    "match": { "model_type": ["own"] }, "tensors": { "layer": {
      "down_proj": ["model.layers.{i}.mlp.down_proj.weight", "[D, F]", { "transposed": true }]
    } } })");
  auto set = TinyModel::descriptions();
  set.addFile(own);
  auto model = loadModel(tiny.write(), set);
  const WeightFamily *down = model->familiesOf("down_proj").at(0);
  EXPECT_THAT(down->shape, ElementsAre(8, 6));
  EXPECT_THAT(down->storedShape(), ElementsAre(6, 8));
  EXPECT_TRUE(down->transposed);
  tiny.tensor("model.layers.1.mlp.down_proj.weight").shape = {8, 6};
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set), HasSubstr("down_proj.weight"),
                     HasSubstr("[8, 6]"), HasSubstr("[6, 8]"));
}

TEST(StoredWeights, NamesWithAnotherBeginning) {
  TinyModel tiny("own");
  for (ZeroTensor &tensor : tiny.tensors)
    if (tensor.name.starts_with("model."))
      tensor.name = "inner." + tensor.name;
  tiny.tensors.push_back({"vision.patches", {3, 3}});
  std::string own = tiny.folder.write("own.jsonc", R"({ "extends": "llama",
    "match": { "model_type": ["own"] },
    "prefixes": [{}, { "when": "D == 9", "model.": "outer.model." },
                 { "model.": "inner.model." }],
    "ledger": { "ignored_tensors": ["vision.*"] } })");
  auto set = TinyModel::descriptions();
  set.addFile(own);
  auto model = loadModel(tiny.write(), set);
  const WeightFamily *q = model->familiesOf("q").at(0);
  EXPECT_EQ(q->publishedName, "model.layers.{i}.self_attn.q_proj.weight");
  EXPECT_EQ(q->checkpointName, "inner.model.layers.{i}.self_attn.q_proj.weight");
  EXPECT_EQ(q->tensorOf(1)->name, "inner.model.layers.1.self_attn.q_proj.weight");
  EXPECT_THAT(model->tensorLedger.ignored, ElementsAre("vision.patches"));
}

TEST(StoredWeights, TextInsideAMultimodalConfig) {
  TinyModel tiny("gemma3");
  // Gemma 3 as published: the language model one level in, and vision beside it.
  Json text = tiny.config;
  text.set("model_type", Json::makeString("gemma3_text"));
  text.set("sliding_window", Json::makeInt(4));
  text.set("query_pre_attn_scalar", Json::makeInt(4));
  tiny.config = parseJson(R"({"model_type": "gemma3", "vision_config": {"hidden_size": 3},
      "architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 4})", "fixture");
  tiny.config.set("text_config", text);
  tiny.drop("lm_head.weight");
  for (int i : {0, 1}) {
    std::string layer = "model.layers." + std::to_string(i) + ".";
    for (const char *norm : {"pre_feedforward_layernorm", "post_feedforward_layernorm"})
      tiny.tensors.push_back({layer + norm + ".weight", {8}});
    for (const char *norm : {"q_norm", "k_norm"})
      tiny.tensors.push_back({layer + "self_attn." + norm + ".weight", {4}});
  }
  std::vector<ZeroTensor> plain = tiny.tensors;
  for (const char *outer : {"language_model.model.", "model.language_model."}) {
    SCOPED_TRACE(outer);
    tiny.tensors = plain;
    for (ZeroTensor &tensor : tiny.tensors)
      tensor.name = outer + tensor.name.substr(6);
    tiny.tensors.push_back({"vision_tower.patches.weight", {3, 3}});
    tiny.tensors.push_back({"vision_tower.patches.bias", {3}});
    auto model = tiny.load();
    EXPECT_EQ(model->familiesOf("q").at(0)->publishedName,
              "language_model.model.layers.{i}.self_attn.q_proj.weight");
    EXPECT_THAT(model->tensorLedger.ignored, ElementsAre("vision_tower.patches.weight", "vision_tower.patches.bias"));
    EXPECT_TRUE(model->configLedger.unknown.empty());
    // Left out, but not whatever it is.
    tiny.tensor("vision_tower.patches.weight").shape = {9, 1};
    EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("vision_tower.patches.weight"),
                       HasSubstr("[9, 1]"), HasSubstr("[3]"));
  }
}
