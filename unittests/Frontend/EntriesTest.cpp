//===- EntriesTest.cpp - groups of tokens in descriptions -----------------===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

const std::string joint = "joint_attend(q, k, e, every: 3, rope: rope, values: 4, scale: 0.5, "
                          "window: 5, sinks: sinks)";
const std::string pool = "pool_tokens(v, g, place, overlap: true)";

/// The tiny model with a window of 5 tokens beside entries of 3, 4 channels wide.
InspectReport inspectWith(const std::string &entry, const std::string &attention) {
  TinyModel model("own");
  for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
    model.drop(layer + "self_attn.v_proj.weight");
    for (const ZeroTensor &tensor : std::vector<ZeroTensor>{
             {"pv", {8, 8}}, {"pg", {8, 8}}, {"place", {3, 8}}, {"one", {1, 8}}, {"sinks", {2}}})
      model.tensors.push_back({layer + tensor.name, tensor.shape});
  }
  model.folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
      "tensors": { "layer": { "v": null, "pv": ["model.layers.{i}.pv", "[8, 8]"],
        "pg": ["model.layers.{i}.pg", "[8, 8]"], "place": ["model.layers.{i}.place", "[3, 8]"],
        "one": ["model.layers.{i}.one", "[1, 8]"], "sinks": ["model.layers.{i}.sinks", "[2]"] } },
      "gguf": null,
      "blocks": { "attention(x)": [
        "q, k = linear(x, q, k)", "q = rotary(split_heads(q, 2, 4), rope)",
        "k = rotary(split_heads(k, 1, 4), rope)",
        "v, g = linear(x, pv, pg)", "v = v * linear(x, one)",
        "e = )json" + entry + R"json(", "a = )json" + attention + R"json(",
        "a = rotary(a, rope, inverse: true)",
        "linear(merge_heads(a), o)"] } })json");
  auto set = TinyModel::descriptions();
  set.addFile(model.folder.path("own.jsonc"));
  auto source = std::make_shared<ModelSource>(ModelSource::open(model.write()));
  return inspectModel(source, set);
}

} // namespace

TEST(Entries, StateIsSharedAmongTheTokensOfAGroup) {
  InspectReport report = inspectWith(pool, joint);
  EXPECT_THAT(report.reasons, IsEmpty());
  ASSERT_EQ(report.windows.size(), 1u);
  EXPECT_EQ(report.windows[0].window, 5);
  // Two layers of 4 channels in 2 bytes each, and a third of that for entries.
  EXPECT_EQ(report.windows[0].bytesPerTokenBf16, 2 * 4 * 2);
  EXPECT_EQ(report.fullAttentionLayers, 2);
  EXPECT_EQ(report.fullAttentionBytesPerTokenBf16, 6);
  // Values and gates, 8 wide, of the 5 rows before the last.
  EXPECT_EQ(report.recurrentBufferElements, 2 * 2 * 8 * 5);
  EXPECT_EQ(report.recurrentConvElements, 0);
  EXPECT_THAT(report.toText(), HasSubstr("160 elements a sequence of tokens that wait"));
}

TEST(Entries, MistakesAreNamed) {
  struct Case {
    std::string entry, attention, message;
  };
  auto with = [](std::string text, const std::string &what, const std::string &by) {
    return text.replace(text.find(what), what.size(), by);
  };
  const std::vector<Case> cases = {
      {with(pool, "place", "one"), joint, "is not [tokens of a group, at least 2; 8]"},
      {with(pool, "place", "sinks"), joint, "of shape [2] is not [tokens of a group"},
      {with(pool, "v, g", "v, concat(g, g)"), joint, "must be one vector of the same width each"},
      {with(pool, "true", "3"), joint, "'overlap' must be true or false, got 3"},
      {with(pool, "overlap", "overlaps"), joint, "has no argument 'overlaps'"},
      {with(pool, ", overlap: true", ""), joint, "do not fit together"},
      {pool, with(joint, "every: 3", "every: 1"), "'every', a whole number of at least 2, got 1"},
      {pool, with(joint, "every: 3, ", ""), "needs 'every'"},
      {pool, with(joint, "values: 4", "values: 5"), "do not fit together"},
      {pool, with(joint, "rope: rope", "from: 1"), "has 'from' and no 'rope'"},
      {pool, with(joint, "rope: rope", "rope: 3"), "'rope' must be a rope record or null"},
      {pool, with(joint, "rope: rope", "rope: rope, from: 2"), "does not fit entries of 4"},
      {pool, with(joint, "scale: 0.5", "scale: 0.0"), "needs 'scale', a number that is positive"},
      {pool, with(joint, "sinks: sinks", "sinks: place"), "is not one for each of 2 heads"},
      {pool, with(joint, "sinks: sinks", "selection: e"), "must be what select_entries gives"},
      {pool, "sinkhorn(q + k + split_heads(e, 1, 4), steps: 3, eps: 0.5)", "is not square"},
      {pool, "sinkhorn(q + k + split_heads(e, 1, 4), steps: 0, eps: 0.5)", "needs 'steps'"},
      {pool, "select_entries(q + k, x, e, every: 3, top: 2)", "do not fit together"},
  };
  for (const Case &mistake : cases) {
    InspectReport report = inspectWith(mistake.entry, mistake.attention);
    EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid) << mistake.message;
    EXPECT_THAT(testing::PrintToString(report.reasons), HasSubstr(mistake.message))
        << mistake.entry << "; " << mistake.attention;
  }
}
