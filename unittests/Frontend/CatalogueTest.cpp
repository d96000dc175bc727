//===- CatalogueTest.cpp - models by name ---------------------------------===//
#include "TinyModel.h"
#include "llmc/Frontend/Catalogue.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Catalogue, EveryModelIsWhatWasPublished) {
  Catalogue catalogue(sourceFolder() + "/models/catalogue");
  auto set = TinyModel::descriptions();
  ASSERT_GT(catalogue.names().size(), 50u);
  for (const std::string &name : catalogue.names()) {
    SCOPED_TRACE(name);
    const Catalogue::Model *model = catalogue.find(name);
    InspectReport report = inspectModel(catalogue.open(name), set);
    EXPECT_TRUE(report.ok()) << testing::PrintToString(report.reasons);
    EXPECT_TRUE(report.keysUnknown.empty()) << testing::PrintToString(report.keysUnknown);
    // The one fact that depends on all others.
    EXPECT_EQ(report.parametersTotal, model->parameters);
  }
}

/// A catalogue of one file.
static Catalogue catalogueOf(const std::string &json) {
  static TempFolder folder;
  folder.write("some.jsonc", json);
  return Catalogue(folder.path());
}

TEST(Catalogue, RowsLikenessAndValues) {
  Catalogue catalogue = catalogueOf(R"({
    "columns": ["num_hidden_layers", "hidden_size"],
    "config": {"model_type": "llama", "vocab_size": 10},
    "models": {
      "Small": {"row": [2, 8], "parameters": 7},
      "large": {"like": "Small", "row": [4, 16], "config": {"vocab_size": null, "rope_theta": 5}},
      "long": {"like": "large", "config": {"rope_theta": 6}},
    }})");
  EXPECT_THAT(catalogue.names(), ElementsAre("large", "long", "Small"));
  EXPECT_EQ(catalogue.find("small")->config.dump(),
            R"({"model_type": "llama", "vocab_size": 10, "num_hidden_layers": 2, "hidden_size": 8})");
  EXPECT_EQ(catalogue.find("SMALL")->parameters, 7);
  EXPECT_EQ(catalogue.find("long")->config.dump(),
            R"({"model_type": "llama", "vocab_size": null, "num_hidden_layers": 4, )"
            R"("hidden_size": 16, "rope_theta": 6})");
  EXPECT_EQ(catalogue.find("long")->parameters, -1);
  EXPECT_EQ(catalogue.find("tall"), nullptr);
  EXPECT_EQ(catalogue.open("LARGE")->path, "large");
  EXPECT_INPUT_ERROR(catalogue.open("larg"), HasSubstr("near are large"));
  EXPECT_INPUT_ERROR(catalogue.open("./larg"), HasSubstr("./larg: no such file or folder"));
  EXPECT_TRUE(Catalogue("/nowhere").names().empty());
}

TEST(Catalogue, FilesThatAreNone) {
  auto refuse = [](const std::string &json, const std::string &text) {
    EXPECT_INPUT_ERROR(catalogueOf(json), HasSubstr(text));
  };
  refuse(R"({"model": {}})", "'model' is no key of a catalogue");
  refuse(R"([])", "an object is expected");
  refuse(R"({"models": []})", "'models' is an object");
  refuse(R"({"columns": [1]})", "a column is the name of a config key");
  refuse(R"({"columns": ["a"], "models": {"m": {"row": [1, 2]}}})",
         "the row has 2 values for 1 columns");
  refuse(R"({"models": {"m": {"rows": []}}})", "'rows' is no key of a catalogue");
  refuse(R"({"models": {"m": {"like": "n"}}})", "'like' names another model of this file");
  refuse(R"({"models": {"m": {"like": "m"}}})", "back to itself");
  std::string chain = R"({"models": {"m0": {})";
  for (int i = 1; i < 100; ++i)
    chain += ", \"m" + std::to_string(i) + R"(": {"like": "m)" + std::to_string(i - 1) + "\"}";
  refuse(chain + "}}", "'like' goes through more than 16 models");
  refuse(R"({"models": {"m": {"parameters": 0}}})", "number of elements of all weights");
  refuse(R"({"models": {"m": {}, "M": {}}})", "stands twice");
}
