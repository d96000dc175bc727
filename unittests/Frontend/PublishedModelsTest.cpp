//===- PublishedModelsTest.cpp - published configs and reference ledgers --===//
//
// Runs over the reference files beside the source tree where they are present.
//
//===----------------------------------------------------------------------===//
#include "TinyModel.h"

#include <set>

namespace fs = std::filesystem;
using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;

static InspectReport inspectPath(const std::string &path) {
  auto set = TinyModel::descriptions();
  auto source = std::make_shared<ModelSource>(ModelSource::open(path));
  return inspectModel(source, set);
}

/// Folders whose config names a model_type that the shipped descriptions match.
static std::vector<fs::path> describedFolders(const char *group) {
  std::vector<fs::path> out;
  if (sharedFolder().empty())
    return out;
  auto set = TinyModel::descriptions();
  for (const auto &entry : fs::directory_iterator(fs::path(sharedFolder()) / group)) {
    std::error_code error;
    if (!fs::is_regular_file(entry.path() / "config.json", error))
      continue;
    if (set.match(ModelSource::open((entry.path() / "config.json").string())))
      out.push_back(entry.path());
  }
  return out;
}

TEST(PublishedModels, AgreeWithTheirLedgers) {
  auto folders = describedFolders("models");
  if (folders.empty())
    GTEST_SKIP() << "no reference files";
  for (const fs::path &folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    fs::path file = fs::path(sharedFolder()) / "ledgers" / (folder.filename().string() + ".json");
    std::error_code error;
    if (!fs::is_regular_file(file, error))
      continue;
    Json want = readJsonFile(file.string());
    InspectReport report = inspectPath(folder.string());
    EXPECT_TRUE(report.keysUnknown.empty()) << testing::PrintToString(report.keysUnknown);
    EXPECT_EQ(report.parametersTotal, want.find("total_params")->integer);
    EXPECT_EQ(report.parametersWithTied, want.find("total_params_with_tied")->integer);
    std::set<std::string> got, expected;
    for (const auto &tensor : report.tensors)
      got.insert(tensor.name + shapeText(tensor.shape) + std::to_string(tensor.count));
    for (const Json &tensor : want.find("tensors")->items) {
      std::vector<int64_t> shape;
      for (const Json &dim : tensor.find("shape")->items)
        shape.push_back(dim.integer);
      expected.insert(tensor.find("name")->text + shapeText(shape) +
                      std::to_string(tensor.find("count")->integer));
    }
    EXPECT_EQ(got, expected);
    EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready)
        << testing::PrintToString(report.reasons);
  }
}

TEST(PublishedModels, OldAndNewSpellingsGiveOneModel) {
  auto folders = describedFolders("goldens");
  if (folders.empty())
    GTEST_SKIP() << "no reference files";
  for (const fs::path &folder : folders) {
    SCOPED_TRACE(folder.filename().string());
    auto set = TinyModel::descriptions();
    auto model = loadModel(folder.string(), set);
    EXPECT_NO_THROW(model->requireWeights());
    fs::path legacy = folder / "config.legacy.json";
    if (!fs::exists(legacy))
      continue;
    auto source = std::make_shared<ModelSource>(ModelSource::open(legacy.string()));
    auto old = ResolvedModel::resolve(source, set.match(*source));
    EXPECT_EQ(old->ropes, model->ropes);
    EXPECT_EQ(old->schedule, model->schedule);
    // Lists and objects say in either spelling what differs by layer; what they come to is compared.
    for (const auto &[name, value] : model->params)
      if (value.isNumber() || value.is<bool>()) {
        EXPECT_EQ(old->params.at(name), value) << name;
      }
    ASSERT_EQ(old->families.size(), model->families.size());
    for (size_t i = 0; i < model->families.size(); ++i) {
      EXPECT_EQ(old->families[i].publishedName, model->families[i].publishedName);
      EXPECT_EQ(old->families[i].shape, model->families[i].shape);
      EXPECT_EQ(old->families[i].layers, model->families[i].layers);
    }
  }
}
