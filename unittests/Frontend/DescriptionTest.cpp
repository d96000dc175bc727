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
    return with("\"V\": \"10\"", "\"V\": \"10\", \"W\": \"" + text + "\"");
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
    return with("\"V\": \"10\"", "\"V\": \"10\", \"W\": \"" + text + "\"");
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
