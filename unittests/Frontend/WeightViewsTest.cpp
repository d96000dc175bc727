//===- WeightViewsTest.cpp - experts, groups of rows, forms, MTP ----------===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Experts in place of the tiny model's MLP: 3 of 6 rows. `tensors` are members of "layer" beside
/// the router; `more` other sections.
std::string expertModel(const std::string &tensors, const std::string &more = {}) {
  return R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "params": { "E": "num_experts" },
    "tensors": { "layer": { "gate_proj": null, "up_proj": null, "down_proj": null,
      "router": ["model.layers.{i}.mlp.gate.weight", "[E, D]"],)json" +
         tensors + R"json(} },
    "gguf": null,
    "blocks": { "decoder(x)": [
      "x = x + attention(norm(x, input_norm))", "x = x + experts(norm(x, post_norm))",
      "observe(x, 'hidden.{i+1}')" ],
      "experts(x)": ["choice, weights = route(linear(x, router), score: 'softmax', top: 2)",
        "g, u = expert_linear(x, choice, gate_e, up_e)",
        "y = expert_linear(gate(g, u, act: 'silu'), choice, down_e)", "expert_sum(y, weights)"] })json" +
         more + "}";
}

const char *each = R"(
  "gate_e": ["model.layers.{i}.mlp.experts.{e}.gate_proj.weight", "[F, D]", { "experts": "E" }],
  "up_e": ["model.layers.{i}.mlp.experts.{e}.up_proj.weight", "[F, D]", { "experts": "E" }],
  "down_e": ["model.layers.{i}.mlp.experts.{e}.down_proj.weight", "[D, F]", { "experts": "E" }])";

struct Experts : TinyModel {
  Experts() : TinyModel("own") {
    set("num_experts", "3");
    for (int i : {0, 1}) {
      for (const char *name : {"gate_proj", "up_proj", "down_proj"})
        drop("model.layers." + std::to_string(i) + ".mlp." + name + ".weight");
      add("mlp.gate.weight", {3, 8});
    }
  }
  void add(const std::string &name, std::vector<int64_t> shape) {
    for (int i : {0, 1}) {
      std::string full = "model.layers." + std::to_string(i) + "." + name;
      if (std::none_of(tensors.begin(), tensors.end(),
                       [&](const ZeroTensor &tensor) { return tensor.name == full; }))
        tensors.push_back({full, shape});
    }
  }
  void addEach() {
    for (int e : {0, 1, 2}) {
      std::string stem = "mlp.experts." + std::to_string(e);
      add(stem + ".gate_proj.weight", {6, 8});
      add(stem + ".up_proj.weight", {6, 8});
      add(stem + ".down_proj.weight", {8, 6});
    }
  }
  std::shared_ptr<ResolvedModel> loadAs(const std::string &description) {
    auto set = TinyModel::descriptions();
    set.addFile(folder.write("own.jsonc", description));
    return loadModel(write(), set);
  }
  InspectReport inspectAs(const std::string &description) {
    auto set = TinyModel::descriptions();
    set.addFile(folder.write("own.jsonc", description));
    return inspectModel(std::make_shared<ModelSource>(ModelSource::open(write())), set);
  }
  std::string errorOf(const std::string &description) {
    return inputError([&] { loadAs(description); });
  }
};

std::vector<std::string> listed(const std::vector<InspectReport::Tensor> &tensors) {
  std::vector<std::string> out;
  for (const auto &tensor : tensors)
    out.push_back(tensor.name + " " + shapeText(tensor.shape) + " x" +
                  std::to_string(tensor.count));
  return out;
}

} // namespace

TEST(WeightViews, ATensorForEachExpert) {
  Experts tiny;
  tiny.addEach();
  auto model = tiny.loadAs(expertModel(each));
  const WeightFamily *down = model->familiesOf("down_e").at(0);
  EXPECT_TRUE(down->perExpert);
  EXPECT_FALSE(down->needsView);
  EXPECT_THAT(down->shape, ElementsAre(3, 8, 6));
  EXPECT_THAT(down->storedShape(), ElementsAre(8, 6));
  EXPECT_EQ(down->tensorOf(1)->name, "model.layers.1.mlp.experts.0.down_proj.weight");
  EXPECT_EQ(model->tensorLedger.used, tiny.tensors.size());
  InspectReport report = tiny.inspectAs(expertModel(each));
  EXPECT_THAT(listed(report.tensors),
              Contains("model.layers.{i}.mlp.experts.{e}.down_proj.weight [8, 6] x6"));
  // Two of three experts take part.
  EXPECT_EQ(report.parametersTotal - report.parametersActive, 2 * 3 * 48);
}

TEST(WeightViews, AnExpertThatIsMissingOrOfAnotherShape) {
  Experts tiny;
  tiny.addEach();
  tiny.tensor("model.layers.1.mlp.experts.2.up_proj.weight").shape = {6, 7};
  EXPECT_THAT(tiny.errorOf(expertModel(each)),
              HasSubstr("'model.layers.1.mlp.experts.2.up_proj.weight' has shape [6, 7], but the "
                        "config gives [6, 8]"));
  tiny.drop("model.layers.1.mlp.experts.2.up_proj.weight");
  EXPECT_THAT(tiny.errorOf(expertModel(each)),
              HasSubstr("lacks tensor 'model.layers.1.mlp.experts.2.up_proj.weight'"));
  tiny.set("num_experts", "2");
  EXPECT_THAT(tiny.errorOf(expertModel(each)),
              HasSubstr("experts.2.down_proj.weight' [8, 6] is read by no parameter"));
}

TEST(WeightViews, StackedAndFusedExperts) {
  struct Case {
    const char *attributes;
    std::vector<int64_t> stored;
    int64_t first;
    std::vector<int64_t> strides;
  };
  // The second part of [3, 2 * 6, 8]: halves or alternating rows, plain or transposed.
  for (const Case &c : std::vector<Case>{
           {R"("parts": { "gate_e": "F", "up_e": "F" })", {3, 12, 8}, 48, {96, 8, 1}},
           {R"("parts": { "gate_e": "F", "up_e": "F" }, "interleave": true)",
            {3, 12, 8}, 8, {96, 16, 1}},
           {R"("parts": { "gate_e": "F", "up_e": "F" }, "transposed": true)",
            {3, 8, 12}, 6, {96, 1, 12}},
           {R"("parts": { "gate_e": "F", "up_e": "F" }, "interleave": true, "transposed": true)",
            {3, 8, 12}, 1, {96, 2, 12}}}) {
    SCOPED_TRACE(c.attributes);
    Experts tiny;
    tiny.add("mlp.experts.gate_up_proj", c.stored);
    tiny.add("mlp.experts.down_proj", {3, 8, 6});
    std::string description = expertModel(
        R"("gate_up": ["model.layers.{i}.mlp.experts.gate_up_proj", "[2 * F, D]",
                       { "experts": "E", )" +
        std::string(c.attributes) + R"(}],
        "down_e": ["model.layers.{i}.mlp.experts.down_proj", "[D, F]", { "experts": "E" }])");
    auto model = tiny.loadAs(description);
    const WeightFamily *up = model->familiesOf("up_e").at(0);
    EXPECT_THAT(up->shape, ElementsAre(3, 6, 8));
    EXPECT_FALSE(up->perExpert);
    EXPECT_TRUE(up->needsView);
    EXPECT_EQ(up->view.stored, c.stored);
    EXPECT_EQ(up->view.first, c.first);
    EXPECT_EQ(up->view.strides, c.strides);
    EXPECT_FALSE(model->familiesOf("down_e").at(0)->needsView);
    EXPECT_EQ(model->tensorLedger.used, tiny.tensors.size());
    EXPECT_THAT(listed(tiny.inspectAs(description).tensors),
                Contains("model.layers.{i}.mlp.experts.gate_up_proj " + shapeText(c.stored) +
                         " x2"));
  }
}

TEST(WeightViews, BiasesOfExpertsUnderTheirOwnName) {
  Experts tiny;
  tiny.add("mlp.experts.gate_up_proj", {3, 8, 12});
  tiny.add("mlp.experts.gate_up_proj_bias", {3, 12});
  tiny.add("mlp.experts.down_proj", {3, 8, 6});
  auto model = tiny.loadAs(expertModel(
      R"("gate_up": ["model.layers.{i}.mlp.experts.gate_up_proj", "[2 * F, D]",
           { "experts": "E", "parts": { "gate_e": "F", "up_e": "F" }, "interleave": true,
             "transposed": true, "bias": true,
             "bias_name": "model.layers.{i}.mlp.experts.gate_up_proj_bias" }],
         "down_e": ["model.layers.{i}.mlp.experts.down_proj", "[D, F]", { "experts": "E" }])"));
  const WeightFamily *bias = model->familiesOf("up_e.bias").at(0);
  EXPECT_THAT(bias->shape, ElementsAre(3, 6));
  EXPECT_THAT(bias->view.stored, ElementsAre(3, 12));
  EXPECT_EQ(bias->view.first, 1);
  EXPECT_THAT(bias->view.strides, ElementsAre(12, 2));
  EXPECT_EQ(bias->tensorOf(0)->name, "model.layers.0.mlp.experts.gate_up_proj_bias");
}

TEST(WeightViews, RowsOfEachHead) {
  // 2 heads of 3 + 1 rows; the first part is read with columns and rows exchanged.
  TinyModel tiny("own");
  std::string description = R"({ "extends": "llama", "match": { "model_type": ["own"] },
    "tensors": { "layer": { "q": null,
      "both": ["model.layers.{i}.self_attn.q_proj.weight", "[D, D]", { "groups": "H",
        "parts": { "turned": { "rows": "3", "transposed": true }, "plain": "1" } }] } },
    "gguf": null })";
  auto set = TinyModel::descriptions();
  set.addFile(tiny.folder.write("own.jsonc", description));
  auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.write()));
  ResolveOptions options;
  options.collect = true;
  auto model = ResolvedModel::resolve(source, set.match(*source), options);
  const WeightFamily *turned = model->familiesOf("turned").at(0);
  EXPECT_THAT(turned->shape, ElementsAre(2, 8, 3));
  EXPECT_THAT(turned->view.stored, ElementsAre(8, 8));
  EXPECT_EQ(turned->view.first, 0);
  EXPECT_THAT(turned->view.strides, ElementsAre(32, 1, 8));
  const WeightFamily *plain = model->familiesOf("plain").at(0);
  EXPECT_THAT(plain->shape, ElementsAre(2, 1, 8));
  EXPECT_EQ(plain->view.first, 24);
  EXPECT_THAT(plain->view.strides, ElementsAre(32, 8, 1));
}

TEST(WeightViews, StoredOtherwise) {
  // A convolution's weight has a dimension of one more, and only some rows of a vector count.
  TinyModel tiny("own");
  for (int i : {0, 1}) {
    tiny.tensor("model.layers." + std::to_string(i) + ".mlp.down_proj.weight").shape = {8, 1, 6, 1};
    tiny.tensor("model.layers." + std::to_string(i) + ".input_layernorm.weight").shape = {11};
  }
  auto set = TinyModel::descriptions();
  set.addFile(tiny.folder.write("own.jsonc", R"({ "extends": "llama",
    "match": { "model_type": ["own"] }, "tensors": { "layer": {
      "input_norm": ["model.layers.{i}.input_layernorm.weight", "[D]", { "stored": "[11]" }],
      "down_proj": ["model.layers.{i}.mlp.down_proj.weight", "[D, F]", { "stored": "[D, 1, F, 1]" }]
    } } })"));
  auto model = loadModel(tiny.write(), set);
  EXPECT_THAT(model->familiesOf("down_proj").at(0)->shape, ElementsAre(8, 6));
  EXPECT_THAT(model->familiesOf("down_proj").at(0)->storedShape(), ElementsAre(8, 1, 6, 1));
  EXPECT_THAT(model->familiesOf("input_norm").at(0)->shape, ElementsAre(8));
  set.addFile(tiny.folder.write("own.jsonc", R"({ "extends": "llama",
    "match": { "model_type": ["own"] }, "tensors": { "layer": {
      "down_proj": ["model.layers.{i}.mlp.down_proj.weight", "[D, F]", { "stored": "[F, D]" }]
    } } })"));
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set), HasSubstr("is stored as [6, 8]"),
                     HasSubstr("of which a weight of [8, 6]"), HasSubstr("is no leading part"));
}

TEST(WeightViews, FormsOfOneFamily) {
  std::string description = expertModel(each, R"(, "forms": [{ "when": "E == 4", "tensors": { "layer": {
      "gate_e": null, "up_e": null,
      "gate_up": ["model.layers.{i}.mlp.experts.gate_up_proj", "[2 * F, D]",
                  { "experts": "E", "parts": { "gate_e": "F", "up_e": "F" } }],
      "down_e": ["model.layers.{i}.mlp.experts.down_proj", "[D, F]", { "experts": "E" }] } } }])");
  Experts single;
  single.addEach();
  EXPECT_TRUE(single.loadAs(description)->familiesOf("up_e").at(0)->perExpert);
  Experts stacked;
  stacked.add("mlp.experts.gate_up_proj", {3, 12, 8});
  stacked.add("mlp.experts.down_proj", {3, 8, 6});
  auto model = stacked.loadAs(description);
  EXPECT_THAT(model->familiesOf("up_e").at(0)->storedShape(), ElementsAre(3, 12, 8));
  // What was published is the config's to say.
  EXPECT_THAT(listed(stacked.inspectAs(description).tensors),
              Contains("model.layers.{i}.mlp.experts.{e}.up_proj.weight [6, 8] x6"));
  stacked.set("num_experts", "4");
  EXPECT_THAT(listed(stacked.inspectAs(description).tensors),
              Contains("model.layers.{i}.mlp.experts.gate_up_proj [4, 12, 8] x2"));
}

TEST(WeightViews, LayersForMultiTokenPrediction) {
  TinyModel tiny("own");
  tiny.set("num_mtp", "1");
  std::string description = R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "params": { "mtp_layers": "default(num_mtp, 0)" },
    "mtp": { "count": "mtp_layers", "from": "L", "like": "L - 1", "without": ["o"],
      "renamed": { "model.layers.": "model.extra." },
      "tensors": { "layer": { "eh": ["model.extra.{i}.eh_proj.weight", "[D, 2 * D]"] },
                   "mtp_norm": ["model.extra_norm.weight", "[D]"] } } })json";
  auto set = TinyModel::descriptions();
  set.addFile(tiny.folder.write("own.jsonc", description));
  auto open = [&] { return std::make_shared<ModelSource>(ModelSource::open(tiny.write())); };
  InspectReport absent = inspectModel(open(), set);
  EXPECT_EQ(absent.verdict, InspectReport::Verdict::Ready) << absent.toText();
  EXPECT_THAT(listed(absent.mtp), Contains("model.extra.{i}.eh_proj.weight [8, 16] x1"));
  EXPECT_THAT(listed(absent.mtp), Contains("model.extra.{i}.mlp.down_proj.weight [8, 6] x1"));
  EXPECT_THAT(listed(absent.mtp), Not(Contains(HasSubstr("o_proj"))));
  tiny.tensors.push_back({"model.extra.2.eh_proj.weight", {8, 16}});
  auto model = loadModel(tiny.write(), set);
  EXPECT_THAT(model->tensorLedger.mtp, ElementsAre("model.extra.2.eh_proj.weight"));
  EXPECT_EQ(inspectModel(open(), set).parametersTotal, absent.parametersTotal);
  tiny.tensors.back().shape = {8, 15};
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set),
                     HasSubstr("'model.extra.2.eh_proj.weight' of a layer for multi-token "
                               "prediction has shape [8, 15], but the config gives [8, 16]"));
  // Another layer's is no such tensor.
  tiny.tensors.back() = {"model.extra.3.eh_proj.weight", {8, 16}};
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set),
                     HasSubstr("'model.extra.3.eh_proj.weight' [8, 16] is read by no parameter"));
  tiny.set("num_mtp", "-1");
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set), HasSubstr("num_mtp = -1"),
                     HasSubstr("must be an integer from 0"));
}

TEST(WeightViews, DescriptionsThatDoNotFit) {
  Experts tiny;
  tiny.addEach();
  struct Case {
    const char *tensors, *message;
  };
  for (const Case &c : std::vector<Case>{
           {R"("gate_e": ["l.{i}.{e}", "[F, D]"])", "needs the attribute 'experts'"},
           {R"("gate_e": ["l.{i}", "[F, D]", { "interleave": true }])", "and there are none"},
           {R"("gate_e": ["l.{i}", "[F, D]", { "groups": "2" }])", "and there are none"},
           {R"("w": ["l.{i}", "[F, D]", { "groups": "2", "interleave": true,
               "parts": { "gate_e": 3 } }])",
            "the rows of 'groups' do not alternate"},
           {R"("w": ["l.{i}", "[F, D]", { "parts": { "gate_e": { "rows": "6", "transposed": true } } }])",
            "only the parts of 'groups' are transposed"},
           {R"("w": ["l.{i}", "[F, D]", { "parts": { "gate_e": { "transposed": true } } }])",
            "a part needs its 'rows'"},
           {R"("gate_e": ["l.{i}", "[F, D]", { "experts": "E", "stored": "[F, D, 1]" }])",
            "'stored' stands for a plain tensor"},
           {R"("gate_e": ["l.{i}", "[F, D]", { "bias": true, "bias_name": "b" }])",
            "hold {i} both or neither"},
           {R"("gate_e": ["l.{i}.{e}", "[F, D]", { "experts": "0" }])", "gets 0 experts from"},
           {R"("w": ["l.{i}", "[F, D]", { "groups": "4", "parts": { "gate_e": 1 } }])",
            "are no 4 groups of one size"},
           {R"("w": ["l.{i}", "[F, D]", { "interleave": true, "parts": { "gate_e": 2, "x": 4 } }])",
            "must have equally many then"}}) {
    SCOPED_TRACE(c.tensors);
    EXPECT_THAT(tiny.errorOf(expertModel(c.tensors)), HasSubstr(c.message));
  }
  auto withSection = [&](const char *section) {
    return tiny.errorOf(expertModel(each, section));
  };
  EXPECT_THAT(withSection(R"(, "forms": [{ "tensors": { "layer": { "up_e": null,
                "w": ["model.layers.{i}.w", "[F, D]"] } } }])"),
              HasSubstr("only one of the two has 'up_e', 'w'"));
  EXPECT_THAT(withSection(R"(, "forms": [{ "tensors": {} }])"), HasSubstr("needs 'tensors'"));
  EXPECT_THAT(withSection(R"(, "mtp": { "from": "L" })"), HasSubstr("'mtp' needs 'count'"));
  EXPECT_THAT(withSection(R"(, "mtp": { "count": "1", "without": ["x"] })"),
              HasSubstr("'x' in 'without' is no role"));
}
