//===- DescriptionTest.cpp - extending, matching and faulty descriptions --===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;

/// A complete model in one file: one matrix a layer.
static const char complete[] = R"json({
  // comments and trailing commas are allowed
  "match": { "model_type": ["tiny"] },
  "params": { "D": ["width", "int(1, 64)"], "L": ["depth", "int(1, 8)"], "V": "10",
              "double(n)": "2 * n", "C": "32" },
  "tensors": { "embed": ["embed.weight", "[V, D]"],
               "layer": { "w": ["layers.{i}.w.weight", "[double(D) // 2, D]"] } },
  "layers": { "count": "L", "block": "i == 0 ? 'first' : 'rest'" },
  "blocks": { "first": ["linear(x, w)"],
              "rest": ["x + twice(x)"],
              "twice(y)": ["z = linear(y, w)", "z * 2"] },
  "model": ["x = layers(embedding(tokens, embed))", "output_head(x, embed)"],
  "facts": { "context_length": "C", "vocab_size": "V", "hidden_size": "D" },
  "ledger": { "irrelevant": ["color"] },
  "config": { "width": 4, "depth": 3, "color": null },
})json";

class Descriptions : public testing::Test {
protected:
  std::shared_ptr<ResolvedModel> load(std::string text) {
    DescriptionSet set;
    return loadModel(folder.write("tiny.jsonc", text), set);
  }
  /// `complete` with a part replaced.
  std::string with(const std::string &from, const std::string &to) {
    std::string text = complete;
    size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }
  TempFolder folder;
};

TEST_F(Descriptions, CompleteModelInOneFile) {
  auto model = load(complete);
  EXPECT_THAT(model->schedule, ElementsAre(0, 1, 1));
  EXPECT_EQ(model->kinds[1].block, "rest");
  EXPECT_EQ(model->params.at("D"), Value(4));
  DescriptionSet set;
  auto source = std::make_shared<ModelSource>(ModelSource::open(folder.path("tiny.jsonc")));
  InspectReport report = inspectModel(source, set);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready) << report.toText();
  EXPECT_EQ(report.parametersTotal, 40 + 3 * 16);
  EXPECT_THAT(report.keysIrrelevant, ElementsAre("color"));
  Json json = parseJson(report.toJson(), "report");
  EXPECT_EQ(json.find("verdict")->text, "ready");
  EXPECT_EQ(json.find("tensors")->items[1].find("count")->integer, 3);
}

TEST_F(Descriptions, ExtendMergesAndRemoves) {
  folder.write("base.jsonc", complete);
  folder.write("child.jsonc", R"json({ "extends": "base", "match": { "model_type": ["child"] },
    "params": { "V": "20", "double(m)": "m + m" },
    "tensors": { "layer": { "w": null, "u": ["layers.{i}.u.weight", "[D, D]"] } },
    "blocks": { "first": ["linear(x, u)"], "twice(y)": ["linear(y, u)"] },
    "ledger": { "irrelevant": ["shade"] } })json");
  DescriptionSet set;
  set.addDirectory(folder.path());
  auto child = set.load("child");
  EXPECT_THAT(child->bases, ElementsAre("base"));
  EXPECT_THAT(child->modelTypes, ElementsAre("child"));
  EXPECT_THAT(child->irrelevantKeys, ElementsAre("color", "shade"));
  EXPECT_EQ(child->findTensor("w"), nullptr);
  EXPECT_NE(child->findTensor("u"), nullptr);
  EXPECT_TRUE(child->config.isNull());
  EXPECT_EQ(child->findParam("double")->formals.at(0), "m");
  // Positions stay those of the file that holds the text.
  EXPECT_THAT(child->findParam("D")->location.file, HasSubstr("base.jsonc"));
  EXPECT_THAT(child->findParam("V")->location.file, HasSubstr("child.jsonc"));
}

TEST_F(Descriptions, DefaultsStandForAbsentKeys) {
  TinyModel tiny("own");
  for (const char *key : {"hidden_size", "num_key_value_heads", "vocab_size"})
    std::erase_if(tiny.config.members, [&](const JsonMember &m) { return m.first == key; });
  folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "defaults": { "hidden_size": 8, "num_key_value_heads": 1, "vocab_size": 10 } })json");
  auto set = TinyModel::descriptions();
  set.addDirectory(folder.path());
  auto model = loadModel(tiny.write(), set);
  EXPECT_EQ(model->params.at("K"), Value(1));
  EXPECT_EQ(model->hiddenSize, 8);
  EXPECT_FALSE(model->configLedger.used.count("hidden_size"));
  // Null is a value: not what is absent.
  tiny.set("num_key_value_heads", "null");
  tiny.tensor("model.layers.0.self_attn.k_proj.weight").shape[0] = 8;
  tiny.tensor("model.layers.0.self_attn.v_proj.weight").shape[0] = 8;
  tiny.tensor("model.layers.1.self_attn.k_proj.weight").shape[0] = 8;
  tiny.tensor("model.layers.1.self_attn.v_proj.weight").shape[0] = 8;
  EXPECT_EQ(loadModel(tiny.write(), set)->params.at("K"), Value(2));
  // A parameter that is written anew says itself what an absent key means.
  tiny.set("model_type", "\"further\"");
  std::erase_if(tiny.config.members,
                [](const JsonMember &m) { return m.first == "num_key_value_heads"; });
  folder.write("further.jsonc", R"json({ "extends": "own", "match": { "model_type": ["further"] },
    "params": { "K": ["num_key_value_heads ?? H", "int(1, 65536)"] } })json");
  set.addDirectory(folder.path());
  EXPECT_EQ(loadModel(tiny.write(), set)->params.at("K"), Value(2));
  folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "defaults": { "hiden_size": 8 } })json");
  set.addDirectory(folder.path());
  EXPECT_INPUT_ERROR(set.load("own"), HasSubstr("own.jsonc:2:33"), HasSubstr("'hiden_size'"),
                     HasSubstr("did you mean 'hidden_size'?"));
}

TEST_F(Descriptions, InheritedTensorsAreRenamed) {
  folder.write("base.jsonc", complete);
  auto child = [&](const std::string &renamed) {
    folder.write("child.jsonc",
                 R"({ "extends": "base", "match": { "model_type": ["c"] }, "renamed": )" + renamed +
                     R"(, "tensors": { "layer": { "u": ["layers.{i}.u.weight", "[D]"] } } })");
    DescriptionSet set;
    set.addDirectory(folder.path());
    return set.load("child");
  };
  std::string before = child("{}")->findTensor("w")->nameTemplate;
  ASSERT_THAT(before, HasSubstr("layers.{i}."));
  auto renamed = child(R"({ "layers.": "x.", "layers.{i}.": "blocks.{i}." })");
  EXPECT_EQ(renamed->findTensor("w")->nameTemplate, "blocks" + before.substr(6));
  // Its own have the names that they say.
  EXPECT_EQ(renamed->findTensor("u")->nameTemplate, "layers.{i}.u.weight");
  EXPECT_INPUT_ERROR(child(R"({ "layer{i}.": "x." })"), HasSubstr("child.jsonc:1:"),
                     HasSubstr("begins with 'layer{i}.'"));
  EXPECT_INPUT_ERROR(child(R"({ "layers.": 1 })"), HasSubstr("'renamed.layers.' must be text"));
  EXPECT_INPUT_ERROR(child("[]"), HasSubstr("'renamed' must be an object"));
}

TEST_F(Descriptions, ExclusionHidesOnlyTheOneNamed) {
  TinyModel tiny("mistral");
  auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.write()));
  auto set = TinyModel::descriptions();
  set.exclude("llama");
  EXPECT_EQ(set.match(*source)->name, "mistral");
  EXPECT_THAT(set.names(), testing::Not(testing::Contains("llama")));
  set.exclude("mistral");
  EXPECT_EQ(set.match(*source), nullptr);
}

TEST_F(Descriptions, UsersFileWins) {
  TinyModel tiny("llama");
  auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.write()));
  auto set = TinyModel::descriptions();
  std::string own = folder.write("llama.jsonc",
                                 R"({ "extends": "llama", "match": { "model_type": ["llama"] } })");
  set.addFile(own);
  EXPECT_EQ(set.match(*source)->file, own);
  EXPECT_EQ(ResolvedModel::resolve(source, set.match(*source))->layerCount(), 2);
}

TEST_F(Descriptions, ErrorsPointAtFileLineAndText) {
  EXPECT_INPUT_ERROR(load(with("\"2 * n\"", "\"2 * \"")), HasSubstr("tiny.jsonc:5:"),
                     HasSubstr("2 * "));
  EXPECT_INPUT_ERROR(load(with("\"facts\"", "\"fatcs\"")), HasSubstr("fatcs"), HasSubstr("facts"));
  EXPECT_INPUT_ERROR(load(with("\"int(1, 64)\"", "\"int(1 64\"")), HasSubstr("int(low, high)"));
  EXPECT_INPUT_ERROR(load(with("\"z * 2\"", "\"z * twoo\"")), HasSubstr("tiny.jsonc:"),
                     HasSubstr("'twoo'"), testing::Not(HasSubstr("did you mean")));
  EXPECT_INPUT_ERROR(load(with("\"z * 2\"", "\"z + linear(y, embedd)\"")), HasSubstr("'embedd'"),
                     HasSubstr("'embed'"));
  EXPECT_INPUT_ERROR(load(with("\"z * 2\"", "\"twice(z)\"")), HasSubstr("recursion"));
  EXPECT_INPUT_ERROR(load(with("\"2 * n\"", "\"double(n)\"")), HasSubstr("recursion"));
  EXPECT_INPUT_ERROR(load(with("\"V\": \"10\"", "\"V\": \"W\", \"W\": \"V\"")),
                     HasSubstr("depends on itself"));
  EXPECT_INPUT_ERROR(load(with("[\"embed.weight\"", "[\"embed.{i}.weight\"")), HasSubstr("{i}"));
  EXPECT_INPUT_ERROR(load(with("'rest'", "'none'")), HasSubstr("'none'"));
  EXPECT_INPUT_ERROR(load(with("\"[V, D]\"", "\"[V, E]\"")), HasSubstr("'E'"));
  EXPECT_INPUT_ERROR(load(with("\"width\": 4", "\"width\": 65")), HasSubstr("width"),
                     HasSubstr("64"));
}

TEST_F(Descriptions, ValuesThatAreNeverUsed) {
  const std::string rest = "\"x + twice(x)\"";
  EXPECT_INPUT_ERROR(load(with("\"x = layers(embedding(tokens, embed))\", \"output_head(x",
                               "\"x = embedding(tokens, embed)\", \"y = layers(x)\", "
                               "\"output_head(x")),
                     HasSubstr("tiny.jsonc:12:"), HasSubstr("value 'y' is never used"),
                     HasSubstr("y = layers(x)"));
  EXPECT_INPUT_ERROR(load(with(rest, "\"y = twice(x)\", \"y = x\", \"y\"")),
                     HasSubstr("value 'y' is never used"));
  EXPECT_INPUT_ERROR(load(with(rest, "\"a, b = linear(x, w, w)\", \"x + a\"")),
                     HasSubstr("value 'b' is never used"));
  EXPECT_INPUT_ERROR(load(with(rest, "\"twice(x)\", \"x\"")), HasSubstr("never used"));
  // One that reads its own old value, a result with a name, and an observed value are fine.
  EXPECT_TRUE(load(with(rest, "\"y = twice(x)\", \"y = y + x\", \"observe(y, 'y')\", "
                              "\"out = y + x\"")));
}

TEST_F(Descriptions, WeightsThatNothingReads) {
  const std::string tail = "; use them in the statements, set roles";
  auto refused = [&](const std::string &from, const std::string &to, const std::string &roles) {
    std::string text = with(from, to);
    EXPECT_INPUT_ERROR(load(text), HasSubstr("tiny.jsonc: weights are declared and read by no "
                                             "statement: " + roles + tail));
    DescriptionSet set;
    auto source = std::make_shared<ModelSource>(ModelSource::open(folder.path("tiny.jsonc")));
    InspectReport report = inspectModel(source, set);
    EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid);
    EXPECT_THAT(report.reasons.at(0), HasSubstr(roles));
  };
  // In no layer, in those of one kind, and outside of layers.
  const std::string w = "\"w\": [\"layers.{i}.w.weight\", \"[double(D) // 2, D]\"]";
  refused(w, w + ", \"u\": [\"layers.{i}.u.weight\", \"[D]\"]", "'u' (layers.{i}.u.weight)");
  refused("[\"linear(x, w)\"]", "[\"x * 2\"]",
          "'w' (layers.{i}.w.weight, in 1 of 3 layers, such as layer 0)");
  refused("\"layer\":", "\"norm\": [\"norm.weight\", \"[D]\"], \"layer\":",
          "'norm' (norm.weight)");
  refused("layers(embedding(tokens, embed))", "embedding(tokens, embed)",
          "'w' (layers.{i}.w.weight)");
  // A bias is read with its weight where the operation adds it, and nowhere else.
  const std::string embed = "[\"embed.weight\", \"[V, D]\"";
  refused(embed, embed + ", { \"bias\": true }", "'embed.bias' (embed.bias)");
  EXPECT_TRUE(load(with("// 2, D]\"", "// 2, D]\", { \"bias\": true }")));
  // Tied: the copy needs no reader, and whoever reads the copy reads the weight.
  const std::string head =
      "\"head\": [\"head.weight\", \"[V, D]\", { \"tied\": \"'embed'\" }], \"layer\":";
  EXPECT_TRUE(load(with("\"layer\":", head)));
  // Layers that do not have it are not asked.
  EXPECT_TRUE(load(with(w, w + ", \"u\": [\"layers.{i}.u.weight\", \"[D, D]\", "
                               "{ \"when\": \"i > 5\" }]")));
}

TEST_F(Descriptions, WeightsOfTheBaseThatNothingReads) {
  TinyModel tiny("lama");
  auto set = TinyModel::descriptions();
  auto load = [&](const std::string &more) {
    set.addFile(folder.write("lama.jsonc", R"json({ "extends": "llama",
      "match": { "model_type": ["lama"] }, )json" + more + R"json(
      "blocks": { "decoder(x)": ["h = norm(x, input_norm)", "x = x + attention(h)"] } })json"));
    return loadModel(tiny.write(), set);
  };
  EXPECT_INPUT_ERROR(load(""), HasSubstr("lama.jsonc: weights are declared and read by no "
                                         "statement: 'gate_proj' (model.layers.{i}.mlp.gate_proj"),
                     HasSubstr("'up_proj'"), HasSubstr("'down_proj'"), HasSubstr("'post_norm'"),
                     HasSubstr("to null in \"tensors\""),
                     testing::Not(HasSubstr("'input_norm'")));
  // The remedy that it names; intermediate_size is then the width of nothing.
  for (const char *name : {"gate_proj", "up_proj", "down_proj"})
    for (const char *layer : {"0", "1"})
      tiny.drop("model.layers." + std::string(layer) + ".mlp." + name + ".weight");
  for (const char *layer : {"0", "1"})
    tiny.drop("model.layers." + std::string(layer) + ".post_attention_layernorm.weight");
  std::string removed = R"("tensors": { "layer": { "gate_proj": null, "up_proj": null,
    "down_proj": null, "post_norm": null } }, )";
  EXPECT_INPUT_ERROR(load(removed), HasSubstr("set it to null in 'gguf.tensors' as well"));
  removed += R"("gguf": { "tensors": { "gate_proj": null, "up_proj": null, "down_proj": null,
    "post_norm": null } }, )";
  EXPECT_INPUT_ERROR(load(removed), HasSubstr("key 'intermediate_size' = 6 is not known"));
  EXPECT_TRUE(load(removed + R"("ledger": { "irrelevant": ["intermediate_size"] }, )"));
}

TEST_F(Descriptions, ParametersThatNothingReads) {
  auto more = [&](const std::string &params) {
    return with("\"V\": \"10\"", "\"V\": \"10\", " + params);
  };
  EXPECT_INPUT_ERROR(load(more("\"gain\": \"color\"")), HasSubstr("tiny.jsonc:4:"),
                     HasSubstr("parameter 'gain' is declared and read by nothing"));
  // Not by one that nothing reads either, nor by a block that nothing runs, nor by a local name.
  EXPECT_INPUT_ERROR(load(more("\"gain\": \"2\", \"more\": \"gain\"")),
                     HasSubstr("parameter 'gain'"), HasSubstr("parameter 'more'"));
  std::string aside = more("\"gain\": \"2\"");
  aside.insert(aside.find("\"twice(y)\""), "\"aside(x)\": [\"x * gain\"], ");
  EXPECT_INPUT_ERROR(load(aside), HasSubstr("parameter 'gain'"));
  EXPECT_INPUT_ERROR(load(more("\"z\": \"2\"")), HasSubstr("parameter 'z'"));
  // A block that a layer is by a value and not by a literal counts.
  std::string byValue = with("i == 0 ? 'first' : 'rest'", "'f' + suffix");
  byValue.insert(byValue.find("\"V\":"), "\"suffix\": \"'irst'\", \"gain\": \"2\", ");
  byValue.replace(byValue.find("[\"linear(x, w)\"]"), 16, "[\"linear(x, w) * gain\"]");
  EXPECT_EQ(load(byValue)->params.at("gain"), Value(2));
}

TEST_F(Descriptions, KeysOfParametersThatNothingReadsAreUnknown) {
  TinyModel tiny("bare");
  auto set = TinyModel::descriptions();
  folder.write("part.jsonc", R"json({ "extends": "llama",
    "params": { "gain": ["default(residual_gain, 1.0)", "float(0, 10)"] } })json");
  set.addDirectory(folder.path());
  set.addFile(folder.write("bare.jsonc",
                           R"({ "extends": "part", "match": { "model_type": ["bare"] } })"));
  EXPECT_TRUE(loadModel(tiny.write(), set));
  tiny.set("residual_gain", "2.0");
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set), HasSubstr("key 'residual_gain' = 2"),
                     HasSubstr("is not known to description 'bare'"));
}

TEST_F(Descriptions, FilesGivenInVainAndTypesThatAreNotKnown) {
  TinyModel tiny("llama");
  auto set = TinyModel::descriptions();
  std::string part = folder.write("part.jsonc", R"({ "extends": "llama" })");
  std::string own = folder.write(
      "own.jsonc", R"({ "extends": "llama", "match": { "model_type": ["lama"] } })");
  set.addFile(part);
  set.addFile(own);
  auto notes = loadModel(tiny.write(), set)->unused;
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_THAT(notes[0], HasSubstr("own.jsonc matches model_type 'lama'; this model is 'llama'"));
  EXPECT_THAT(notes[0], HasSubstr("llama.jsonc: not used"));
  EXPECT_THAT(notes[1], HasSubstr("part.jsonc matches no model (it has no 'match', which is not "
                                  "inherited"));
  auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.folder.path()));
  InspectReport report = inspectModel(source, set);
  EXPECT_EQ(report.notes, notes);
  EXPECT_TRUE(report.reasons.empty());
  // One that another extends is used.
  folder.write("own.jsonc", R"({ "extends": "part", "match": { "model_type": ["llama"] } })");
  auto both = TinyModel::descriptions();
  both.addFile(part);
  both.addFile(own);
  EXPECT_TRUE(loadModel(tiny.write(), both)->unused.empty());

  tiny.config.set("model_type", Json::makeString("nova"));
  tiny.set("architectures", R"(["LlamaForCausalLM"])");
  EXPECT_THAT(tiny.load()->notes,
              ElementsAre(HasSubstr("config.json: model_type \"nova\" is not known; taken as "
                                    "'llama' because of architectures [\"LlamaForCausalLM\"]")));
  report = tiny.inspect();
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready);
  EXPECT_THAT(report.reasons, ElementsAre(HasSubstr("\"nova\" is not known")));
}

TEST_F(Descriptions, UsersFileThatMatchesNothingIsNamed) {
  TinyModel tiny("brand_new");
  auto set = TinyModel::descriptions();
  set.addFile(folder.write(
      "own.jsonc", R"({ "extends": "llama", "match": { "model_type": ["other"] } })"));
  EXPECT_INPUT_ERROR(loadModel(tiny.write(), set),
                     HasSubstr("own.jsonc was given, but its match names model_type 'other'"),
                     HasSubstr("--description FILE"));
}

TEST_F(Descriptions, EvaluationIsBounded) {
  auto repeated = [](const std::string &start, const std::string &more, size_t count) {
    std::string text = start;
    while (count--)
      text += more;
    return text;
  };
  auto width = [&](const std::string &text) {
    return with("\"V\": \"10\"", "\"V\": \"0 * W + 10\", \"W\": \"" + text + "\"");
  };
  for (const auto &[start, more] : std::map<std::string, std::string>{
           {"1", "+1"}, {"[1]", "[0]"}, {"true", "||true"}, {"null", "??null"}})
    EXPECT_INPUT_ERROR(load(width(repeated(start, more, 40000))), HasSubstr("tiny.jsonc:4:"),
                       HasSubstr("the longest allowed has 4096"));
  EXPECT_TRUE(load(width(repeated("1", "+1", 400))));
  EXPECT_INPUT_ERROR(load(width(repeated("1", "+1", 2047))), HasSubstr("tiny.jsonc:4:"),
                     HasSubstr("nested deeper than 512"));
  // A chain of parameters, of expressions that are deep themselves as well.
  for (const std::string &tail : {std::string(), repeated("", "+1", 100)}) {
    std::string chain = "0\"";
    for (int i = 0; i < 1000; ++i)
      chain = "a" + std::to_string(i) + tail + "\", \"a" + std::to_string(i) + "\": \"" + chain;
    chain.pop_back();
    EXPECT_INPUT_ERROR(load(width(chain)), HasSubstr("tiny.jsonc:4:"),
                       testing::AnyOf(HasSubstr("description 'tiny': more than 256 parameters"),
                                      HasSubstr("nested deeper")));
  }
  std::string functions = "f0(1)", blocks;
  for (int i = 0; i < 30; ++i) {
    std::string number = std::to_string(i), next = std::to_string(i + 1);
    functions += "\", \"f" + number + "(n)\": \"f" + next + "(n) + f" + next + "(n)";
    blocks += "\"b" + number + "(y)\": [\"b" + next + "(b" + next + "(y))\"], ";
  }
  EXPECT_INPUT_ERROR(load(width(functions + "\", \"f30(n)\": \"1")),
                     HasSubstr("description 'tiny': more than 1000000 calls"), HasSubstr("'f"));
  std::string text = with("\"x + twice(x)\"", "\"b0(x)\"");
  text.insert(text.find("\"twice(y)\""), blocks + "\"b30(y)\": [\"y\"], ");
  EXPECT_INPUT_ERROR(load(text), HasSubstr("description 'tiny': more than 1000000 calls"),
                     HasSubstr("'b"));
}

// Every list holds the one before twice: few characters, and all memory if nothing counts.
TEST_F(Descriptions, WhatIsHeldIsBounded) {
  auto width = [&](const std::string &text) {
    return with("\"V\": \"10\"", "\"V\": \"0 * W + 10\", \"W\": \"" + text + "\"");
  };
  std::string parameters = "len(p40)", sums = "len(s40)", texts = "t60 == 'x' ? 1 : 2";
  for (int i = 40; i > 0; --i) {
    std::string now = std::to_string(i), next = std::to_string(i - 1);
    parameters += "\", \"p" + now + "\": \"[p" + next + ", p" + next + "]";
    sums += "\", \"s" + now + "\": \"s" + next + " + s" + next;
  }
  for (int i = 60; i > 0; --i)
    texts += "\", \"t" + std::to_string(i) + "\": \"t" + std::to_string(i - 1) + " + t" +
             std::to_string(i - 1);
  EXPECT_INPUT_ERROR(load(width(parameters + "\", \"p0\": \"[1]")), HasSubstr("more than 1048576"));
  EXPECT_INPUT_ERROR(load(width(sums + "\", \"s0\": \"[1]")), HasSubstr("more than 1048576"));
  EXPECT_INPUT_ERROR(load(width(texts + "\", \"t0\": \"'x'")), HasSubstr("more than 1048576"));
  // In arguments of functions.
  std::string functions = "len(f0([1]))";
  for (int i = 0; i < 40; ++i) {
    std::string now = std::to_string(i), next = std::to_string(i + 1);
    functions += "\", \"f" + now + "(n)\": \"f" + next + "([n, n])";
  }
  EXPECT_INPUT_ERROR(load(width(functions + "\", \"f40(n)\": \"n")), HasSubstr("more than 1048576"));
}

TEST_F(Descriptions, MatchAndAboutOfTheWrongType) {
  TinyModel tiny;
  for (const char *text : {R"({ "extends": "llama", "match": 5 })",
                           R"({ "extends": "llama", "match": { "model_type": "llama" } })",
                           R"({ "extends": "llama", "match": { "model_type": [3] } })",
                           R"({ "extends": "llama", "about": [] })"}) {
    auto set = TinyModel::descriptions();
    set.addFile(folder.write("own.jsonc", text));
    EXPECT_INPUT_ERROR(
        loadModel(tiny.write(), set), HasSubstr("own.jsonc:1:"),
        HasSubstr(std::string(text).find("about") != std::string::npos ? "'about'" : "'match"));
  }
}

TEST_F(Descriptions, ShapesAndOperationsAreChecked) {
  auto verdict = [&](const std::string &text) {
    DescriptionSet set;
    auto source =
        std::make_shared<ModelSource>(ModelSource::open(folder.write("tiny.jsonc", text)));
    return inspectModel(source, set);
  };
  InspectReport wrong = verdict(with("[double(D) // 2, D]", "[D + 1, D]"));
  EXPECT_EQ(wrong.verdict, InspectReport::Verdict::Invalid);
  InspectReport unknown = verdict(with("\"linear(x, w)\"", "\"liner(x, w)\""));
  EXPECT_EQ(unknown.verdict, InspectReport::Verdict::Missing);
  EXPECT_THAT(unknown.reasons.at(0), HasSubstr("liner"));
  EXPECT_THAT(unknown.reasons.at(0), HasSubstr("the operations are linear, embedding"));
}

TEST_F(Descriptions, CyclesOfExtensionAreRefused) {
  folder.write("a.jsonc", R"({ "extends": "b", "match": { "model_type": ["a"] } })");
  folder.write("b.jsonc", R"({ "extends": "a" })");
  DescriptionSet set;
  set.addDirectory(folder.path());
  EXPECT_INPUT_ERROR(set.load("a"), HasSubstr("extends itself"));
  folder.write("c.jsonc", R"({ "extends": 5 })");
  set.addDirectory(folder.path());
  EXPECT_INPUT_ERROR(set.load("c"), HasSubstr("c.jsonc:1:14"), HasSubstr("extends"));
  EXPECT_INPUT_ERROR(set.load("aa"), HasSubstr("'aa'"), HasSubstr("near names: a"));
}

TEST_F(Descriptions, SourcesAreToldApart) {
  EXPECT_INPUT_ERROR(ModelSource::open(folder.path("none")), HasSubstr("no such file"));
  EXPECT_INPUT_ERROR(ModelSource::open(folder.path()), HasSubstr("config.json"));
  EXPECT_INPUT_ERROR(ModelSource::open(folder.write("x.txt", "")), HasSubstr("neither"));
  EXPECT_INPUT_ERROR(ModelSource::open(folder.write("x.jsonc", "{}")), HasSubstr("'config'"));
}
