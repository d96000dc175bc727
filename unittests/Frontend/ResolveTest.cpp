//===- ResolveTest.cpp - configs and checkpoints that do and do not fit ---===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Resolve, Llama) {
  TinyModel tiny;
  auto model = tiny.load();
  EXPECT_EQ(model->layerCount(), 2);
  ASSERT_EQ(model->kinds.size(), 1u);
  EXPECT_THAT(model->kinds[0].layers, ElementsAre(0, 1));
  EXPECT_EQ(model->vocabSize, 10);
  EXPECT_EQ(model->contextLength, 64);
  EXPECT_EQ(model->ropes.size(), 1u);
  EXPECT_EQ(model->ropes[0].dim, 4);
  EXPECT_EQ(model->tensorLedger.used, tiny.tensors.size());
  const WeightFamily *q = model->familiesOf("q").at(0);
  EXPECT_EQ(q->tensorOf(1)->name, "model.layers.1.self_attn.q_proj.weight");
  EXPECT_EQ(q->formatOf(0)->name, "f32");
  EXPECT_EQ(q->tensorOf(2), nullptr);
  EXPECT_NO_THROW(model->requireWeights());
}

TEST(Resolve, ConfigAlone) {
  TinyModel tiny;
  tiny.write();
  std::filesystem::remove(tiny.folder.path("model.safetensors"));
  auto set = TinyModel::descriptions();
  for (const char *name : {"", "config.json"}) {
    auto model = loadModel(tiny.folder.path(name), set);
    EXPECT_EQ(model->familiesOf("q").at(0)->formatOf(0), nullptr);
    EXPECT_INPUT_ERROR(model->requireWeights(), HasSubstr("--weights=none"));
  }
}

TEST(Resolve, TiedHead) {
  TinyModel tiny;
  tiny.set("tie_word_embeddings", "true");
  // Stored copies are allowed as long as they are copies.
  EXPECT_THAT(tiny.load()->tensorLedger.tied, ElementsAre("lm_head.weight"));
  tiny.drop("lm_head.weight");
  auto model = tiny.load();
  const WeightFamily *head = model->familiesOf("head").at(0);
  EXPECT_EQ(head->tensorOf(0)->name, "model.embed_tokens.weight");
  EXPECT_EQ(tiny.inspect().parametersWithTied - tiny.inspect().parametersTotal, 80);
}

TEST(Resolve, TiedHeadThatDiffers) {
  TinyModel tiny;
  tiny.set("tie_word_embeddings", "true");
  std::string folder = tiny.write();
  std::string bytes = zeroSafetensors(tiny.tensors);
  size_t dataStart = bytes.size() - [&] {
    size_t total = 0;
    for (const ZeroTensor &tensor : tiny.tensors) {
      size_t size = 4;
      for (int64_t dim : tensor.shape)
        size *= size_t(dim);
      total += size;
    }
    return total;
  }();
  bytes[dataStart + 3] = 0x40; // the embedding, not its copy
  tiny.folder.write("model.safetensors", bytes);
  auto set = TinyModel::descriptions();
  EXPECT_INPUT_ERROR(loadModel(folder, set), HasSubstr("lm_head.weight"), HasSubstr("ties"));
}

TEST(Resolve, Biases) {
  TinyModel tiny;
  tiny.set("attention_bias", "true");
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("self_attn.q_proj.bias"));
  for (int i : {0, 1})
    for (const auto &[name, size] :
         std::map<std::string, int64_t>{{"q", 8}, {"k", 4}, {"v", 4}, {"o", 8}})
      tiny.tensors.push_back(
          {"model.layers." + std::to_string(i) + ".self_attn." + name + "_proj.bias", {size}});
  auto model = tiny.load();
  EXPECT_EQ(model->familiesOf(biasRole("k")).at(0)->shape, (std::vector<int64_t>{4}));
}

TEST(Resolve, IgnoredBuffers) {
  TinyModel tiny;
  tiny.tensors.push_back({"model.layers.1.self_attn.rotary_emb.inv_freq", {2}});
  EXPECT_EQ(tiny.load()->tensorLedger.ignored.size(), 1u);
}

TEST(Resolve, KindsFollowWindows) {
  TinyModel tiny("qwen2", 4);
  for (int i = 0; i < 4; ++i)
    for (const auto &[name, size] : std::map<std::string, int64_t>{{"q", 8}, {"k", 4}, {"v", 4}})
      tiny.tensors.push_back(
          {"model.layers." + std::to_string(i) + ".self_attn." + name + "_proj.bias", {size}});
  tiny.set("sliding_window", "16");
  tiny.set("use_sliding_window", "true");
  tiny.set("max_window_layers", "3");
  auto model = tiny.load();
  EXPECT_THAT(model->schedule, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(model->kinds[1].name, "decoder_1");
  tiny.set("layer_types",
           R"(["sliding_attention", "full_attention", "sliding_attention", "full_attention"])");
  EXPECT_THAT(tiny.load()->schedule, ElementsAre(0, 1, 0, 1));
  InspectReport report = tiny.inspect();
  EXPECT_EQ(report.fullAttentionBytesPerTokenBf16, 2 * 2 * 4 * 2);
  ASSERT_EQ(report.windows.size(), 1u);
  EXPECT_EQ(report.windows[0].window, 16);
  EXPECT_EQ(report.windows[0].layers, 2);
  // A window the context cannot fill is none.
  tiny.set("sliding_window", "64");
  EXPECT_TRUE(tiny.inspect().windows.empty());
  tiny.set("layer_types", R"(["sliding_attention"])");
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("layer_types"));
  tiny.set("layer_types", R"(["sliding_attention", "full_attention", "odd", "full_attention"])");
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("layer_types"));
}

TEST(Resolve, NullAndAbsentWindowsDiffer) {
  TinyModel tiny("mistral");
  tiny.set("max_position_embeddings", "32768");
  EXPECT_EQ(tiny.inspect().windows.at(0).window, 4096);
  tiny.set("sliding_window", "null");
  EXPECT_TRUE(tiny.inspect().windows.empty());
  tiny.set("sliding_window", "7");
  EXPECT_EQ(tiny.inspect().windows.at(0).window, 7);
}

// Each fault must be refused by the name of its culprit.

static void refuse(const std::function<void(TinyModel &)> &change,
                   const std::vector<std::string> &words) {
  TinyModel tiny;
  change(tiny);
  std::string message = inputError([&] { tiny.load(); });
  for (const std::string &word : words)
    EXPECT_THAT(message, HasSubstr(word));
  InspectReport report = tiny.inspect();
  EXPECT_FALSE(report.ok());
  EXPECT_FALSE(report.reasons.empty());
}

TEST(Resolve, RefusesConfigs) {
  refuse([](TinyModel &t) { t.set("attention_temperature_profile", "0.37"); },
         {"attention_temperature_profile", "0.37",
          "if you know that it changes nothing that is computed, pass --accept-key "
          "attention_temperature_profile"});
  refuse(
      [](TinyModel &t) {
        t.set("num_local_experts", "8");
        t.set("curious", "1");
        t.set("further", "2");
      },
      {"mixture of experts is not", "of which you know that it changes nothing",
       "such as --accept-key further"});
  refuse([](TinyModel &t) { t.set("num_hiden_layers", "3"); },
         {"num_hiden_layers", "num_hidden_layers"});
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "\"four\""); },
         {"num_hidden_layers", "four", "integer"});
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "1000000000000000000"); },
         {"num_hidden_layers", "1000000000000000000", "10000"});
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "1e30"); }, {"num_hidden_layers"});
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "-1"); }, {"num_hidden_layers", "-1"});
  refuse([](TinyModel &t) { t.set("num_key_value_heads", "3"); }, {"num_key_value_heads"});
  refuse([](TinyModel &t) { t.set("hidden_act", "\"tanh\""); }, {"hidden_act", "tanh", "silu"});
  refuse([](TinyModel &t) { t.set("pretraining_tp", "2"); }, {"pretraining_tp"});
  refuse([](TinyModel &t) { t.set("rope_scaling", R"({"type": "spiral", "factor": 2})"); },
         {"spiral"});
  refuse([](TinyModel &t) { t.set("tie_word_embeddings", "\"yes\""); }, {"tie_word_embeddings"});
  refuse([](TinyModel &t) { t.set("rms_norm_eps", "null"); }, {"rms_norm_eps"});
  refuse(
      [](TinyModel &t) {
        std::erase_if(t.config.members,
                      [](const JsonMember &m) { return m.first == "hidden_size"; });
      },
      {"hidden_size", "absent"});
}

TEST(Resolve, RefusesValuesWithoutMeaning) {
  for (const char *value : {"0", "0.0", "1e-320"})
    refuse([&](TinyModel &t) { t.set("rms_norm_eps", value); },
           {"in decoder.norm, rms_norm: epsilon is", "key 'rms_norm_eps' = "});
  refuse([](TinyModel &t) { t.set("rope_scaling", R"({"type": "linear", "factor": 1e-320})"); },
         {"rope_scaling.factor", "e-320"});
  refuse([](TinyModel &t) { t.set("rope_parameters.factor", "2"); }, {"'rope_parameters.factor'"});
  refuse([](TinyModel &t) { t.set("rope_parameters", R"({"foo": {}})"); }, {"rope_parameters.foo"});
}

TEST(Resolve, RefusesTensors) {
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "3"); },
         {"layers.2.", "num_hidden_layers = 3"});
  refuse([](TinyModel &t) { t.set("num_hidden_layers", "1"); },
         {"layers.1.", "num_hidden_layers = 1"});
  refuse([](TinyModel &t) { t.set("vocab_size", "11"); },
         {"embed_tokens", "vocab_size = 11", "[10, 8]", "[11, 8]"});
  refuse([](TinyModel &t) { t.drop("model.layers.0.mlp.down_proj.weight"); },
         {"model.layers.0.mlp.down_proj.weight"});
  refuse(
      [](TinyModel &t) {
        t.tensors.push_back({"model.layers.0.mystery_gate.weight", {2}});
      },
      {"mystery_gate"});
  refuse(
      [](TinyModel &t) {
        t.tensor("model.norm.weight").shape = {8, 1};
      },
      {"model.norm.weight", "[8, 1]", "[8]"});
  refuse(
      [](TinyModel &t) {
        t.tensor("model.layers.0.mlp.up_proj.weight").name = "model.layers.0.mlp.up_porj.weight";
      },
      {"up_proj", "up_porj"});
  refuse(
      [](TinyModel &t) {
        t.set("hidden_size", "1048576");
        t.set("vocab_size", "16777216");
      },
      {"vocab_size", "larger"});
}

TEST(Resolve, OtherClassesOfATypeAreRefused) {
  refuse([](TinyModel &t) { t.set("architectures", R"(["LlamaForSequenceClassification"])"); },
         {"LlamaForSequenceClassification", "LlamaForCausalLM"});
}

TEST(Resolve, AcceptsKeysByRequest) {
  TinyModel tiny;
  tiny.set("curious", "1");
  ResolveOptions options;
  options.acceptKeys = {"curious"};
  EXPECT_THAT(tiny.load(options)->configLedger.accepted, ElementsAre(testing::Pair("curious", "1")));
}

TEST(Resolve, QuantizedConfigsAreListedButNotLoaded) {
  TinyModel tiny;
  tiny.set("quantization_config", R"({"quant_method": "bitsandbytes"})");
  InspectReport report = tiny.inspect();
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Missing);
  EXPECT_GT(report.parametersTotal, 0);
  EXPECT_INPUT_ERROR(tiny.load()->requireWeights(), HasSubstr("bitsandbytes"),
                     HasSubstr("from safetensors, f32, f16, bf16, f64, f8e4m3"),
                     HasSubstr("from GGUF, f32, f16"), HasSubstr("q4_k"));
}

TEST(Resolve, UnknownArchitectureNamesTheNearest) {
  TinyModel tiny("brand_new");
  tiny.tensors.push_back({"model.layers.0.self_attn.q_norm.weight", {4}});
  InspectReport report = tiny.inspect();
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Unknown);
  EXPECT_THAT(report.reasons.at(0), HasSubstr("brand_new"));
  EXPECT_THAT(testing::PrintToString(report.reasons), HasSubstr("q_norm"));
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("brand_new"), HasSubstr("nearest"));
}

TEST(Resolve, NearestIsNoReportOfTheModel) {
  TinyModel tiny("brand_new");
  tiny.set("num_local_experts", "8");
  tiny.set("curious", "1");
  tiny.set("further", "2");
  InspectReport report = tiny.inspect();
  std::string reasons = testing::PrintToString(report.reasons);
  EXPECT_THAT(reasons, HasSubstr("key 'num_local_experts' = 8: mixture of experts is not"));
  EXPECT_THAT(reasons, HasSubstr("key 'further' = 2 is not known"));
  // Accepting a key makes no description match.
  EXPECT_THAT(reasons, testing::Not(HasSubstr("--accept-key")));
  EXPECT_THAT(report.reasons.back(), HasSubstr("--description FILE"));
  EXPECT_THAT(report.toText(), HasSubstr("as if it were '" + report.asIf + "':"));
  Json json = parseJson(report.toJson(), "report");
  EXPECT_EQ(json.find("parameters")->find("total")->integer, 0);
  EXPECT_TRUE(json.find("tensors")->items.empty());
  EXPECT_EQ(json.find("state")->find("full_attention")->find("layers")->integer, 0);
  EXPECT_FALSE(json.find("config_keys")->find("used")->items.empty());
}

namespace {
/// Writes the calls down and gives every operation the results it has.
struct RecordingHooks : OpHooks {
  std::vector<std::string> calls;
  uint64_t next = 1;
  std::vector<Value> op(const OpCall &call) override {
    std::string text = call.path + " " + call.name;
    if (call.name == "observe")
      text += " " + textArg(call, 1);
    calls.push_back(text);
    size_t count = call.name == "linear" ? call.args.size() - 1 : 1;
    std::vector<Value> out;
    while (count--)
      out.push_back(Handle{next++});
    return out;
  }
};
} // namespace

TEST(Resolve, StatementsDriveHooks) {
  TinyModel tiny;
  auto model = tiny.load();
  RecordingHooks hooks;
  EXPECT_TRUE(model->emitModel(hooks, Handle{0}).is<Handle>());
  EXPECT_THAT(hooks.calls,
              ElementsAre("model embedding", "model observe hidden.0", "model layers",
                          "model.norm rms_norm", "model observe final_norm", "model select_rows",
                          "model output_head", "model observe logits"));
  RecordingHooks layer;
  EXPECT_TRUE(model->emitLayer(0, layer, Handle{0}).is<Handle>());
  EXPECT_THAT(layer.calls,
              ElementsAre("decoder.norm rms_norm", "decoder.attention linear",
                          "decoder.attention split_heads", "decoder.attention split_heads",
                          "decoder.attention split_heads", "decoder.attention rotary",
                          "decoder.attention rotary", "decoder.attention attend",
                          "decoder.attention merge_heads", "decoder.attention linear",
                          "decoder residual_add", "decoder.norm rms_norm", "decoder.gated_mlp linear",
                          "decoder.gated_mlp.gated gate", "decoder.gated_mlp linear",
                          "decoder residual_add", "decoder observe hidden.{i+1}"));
  RecordingHooks one;
  model->emitLayerAt(1, one, Handle{0});
  EXPECT_EQ(one.calls.back(), "decoder observe hidden.2");
}
