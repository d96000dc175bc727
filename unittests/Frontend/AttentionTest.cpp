//===- AttentionTest.cpp - attention and its state in descriptions --------===//
#include "TinyModel.h"
#include "llmc/Frontend/AttentionSettings.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The tiny model, of 2 query heads and one kv head of width 4, with these statements for what
/// is attended and further members of the description.
InspectReport inspectWith(const std::string &attended, const std::string &more = {}) {
  TinyModel tiny("own");
  std::string file = tiny.folder.path("own.jsonc");
  tiny.folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "params": { "attn_scale": null, "attn_softcap": null, "window(i)": null, "qk_norm": null, "turns(i)": null,
                "rope_of(i)": null, "rope": "rope_record(dim: 2, theta: 10000.0)" },
    "blocks": { "attention(x)": [ "q, k, v = linear(x, q, k, v)", "q = split_heads(q, H, Dh)",
      "k = split_heads(k, K, Dh)", "v = split_heads(v, K, Dh)", "q = rotary(q, rope)", )json" +
                                     attended + "] }" + more + "}");
  auto set = TinyModel::descriptions();
  set.addFile(file);
  auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.write()));
  return inspectModel(source, set);
}

InspectReport attends(const std::string &arguments) {
  return inspectWith("\"linear(merge_heads(attend(" + arguments + ")), o)\"");
}

/// Why a model with these arguments is invalid.
std::string reasonOf(const std::string &arguments) {
  InspectReport report = attends(arguments);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid);
  return testing::PrintToString(report.reasons);
}

} // namespace

TEST(Attention, SlopesOfAnyNumberOfHeads) {
  auto exponents = [](int64_t heads, double most, double factor) {
    std::vector<double> list;
    for (float slope : alibiSlopes(heads, most, factor))
      list.push_back(std::log2(double(slope)));
    return list;
  };
  EXPECT_THAT(exponents(4, 8, 1), ElementsAre(-2, -4, -6, -8));
  EXPECT_THAT(exponents(3, 8, 1), ElementsAre(-4, -8, -2));
  EXPECT_THAT(exponents(6, 8, 1), ElementsAre(-2, -4, -6, -8, -1, -3));
  EXPECT_THAT(exponents(2, 4, 0.5), ElementsAre(-3, -5));
  EXPECT_THAT(exponents(1, 8, 1), ElementsAre(-8));
}

TEST(Attention, KeysAloneAreKeptOnce) {
  InspectReport plain = attends("q, k, v, 'paged', scale: 0.5, alibi: 8");
  EXPECT_THAT(plain.reasons, IsEmpty());
  EXPECT_EQ(plain.fullAttentionBytesPerTokenBf16, 2 * 2 * (4 + 4));
  // The latent of a layer and the keys of its indexer, which are no layer of their own.
  InspectReport sparse = inspectWith(R"s("p = select_positions(q, slice(x, 0, 2), v, top: 3)",
    "linear(merge_heads(attend(q, k, null, 'latent', values: 4, scale: 0.5, selection: p)), o)")s");
  EXPECT_THAT(sparse.reasons, IsEmpty());
  EXPECT_EQ(sparse.fullAttentionLayers, 2);
  EXPECT_EQ(sparse.fullAttentionBytesPerTokenBf16, 2 * 2 * (4 + 4));
}

TEST(Attention, ArgumentsAreChecked) {
  std::string good = "q, k, v, 'paged', scale: 0.5";
  EXPECT_THAT(reasonOf(good + ", windw: 3"), HasSubstr("has no argument 'windw'"));
  EXPECT_THAT(reasonOf("q, k, v, 'pages', scale: 0.5"),
              HasSubstr("state kind 'pages' is not known; there are paged and latent"));
  EXPECT_THAT(reasonOf("q, k, v, 'latent', values: 4, scale: 0.5"),
              HasSubstr("a latent state keeps keys alone: its values must be null"));
  EXPECT_THAT(reasonOf(good + ", values: 4"), HasSubstr("got 4 for a paged state"));
  EXPECT_THAT(reasonOf("q, k, v, 'paged'"), HasSubstr("'scale' must be a number"));
  EXPECT_THAT(reasonOf("q, k, v, 'paged', scale: 0"),
              HasSubstr("'scale' must be a number that is positive and finite in f32, got 0"));
  EXPECT_THAT(reasonOf(good + ", window: 0"),
              HasSubstr("'window' must be null or a positive number of positions, got 0"));
  EXPECT_THAT(reasonOf(good + ", chunk: 2.5"), HasSubstr("'chunk' must be null or a positive"));
  EXPECT_THAT(reasonOf(good + ", sinks: 3"), HasSubstr("'sinks' must be a weight or null"));
  EXPECT_THAT(reasonOf(good + ", sinks: input_norm"),
              HasSubstr("'sinks' of shape [8] is not one for each of 2 heads"));
  EXPECT_THAT(reasonOf(good + ", selection: x"),
              HasSubstr("'selection' must be what select_positions gives"));
  EXPECT_THAT(reasonOf(good + ", alibi: 0"), HasSubstr("the greatest exponent of its slopes"));
  EXPECT_THAT(reasonOf(good + ", alibi_factor: 2"),
              HasSubstr("'alibi_factor' has no 'alibi' to multiply"));
}

TEST(Attention, LatentKeysHoldTheirValues) {
  auto latent = [](const std::string &values) {
    InspectReport report = inspectWith(
        "\"k = concat(k, v)\", \"linear(merge_heads(slice(attend(concat(q, q), k, null, 'latent', "
        "scale: 0.5" + values + "), 0, 4)), o)\"");
    return testing::PrintToString(report.reasons);
  };
  EXPECT_EQ(latent(", values: 8"), "{}");
  EXPECT_THAT(latent(""), HasSubstr("a latent state needs 'values'"));
  EXPECT_THAT(latent(", values: 9"),
              HasSubstr("queries [2, 8], keys [1, 8] and values [1, 9] do not fit together"));
}

TEST(Attention, SelectionsAreChecked) {
  auto selects = [](const std::string &arguments) {
    return testing::PrintToString(
        inspectWith("\"p = select_positions(" + arguments + ")\", \"linear(merge_heads(attend(q, k,"
                    " null, 'latent', values: 4, scale: 0.5, selection: p)), o)\"")
            .reasons);
  };
  EXPECT_THAT(selects("q, slice(x, 0, 2), v"), HasSubstr("needs 'top'"));
  EXPECT_THAT(selects("q, slice(x, 0, 3), v, top: 3"),
              HasSubstr("queries [2, 4], weights [3] and keys [1, 4] do not fit together"));
  EXPECT_THAT(selects("q, slice(x, 0, 2), concat(v, v), top: 3"), HasSubstr("keys [1, 8] do not fit"));
  EXPECT_THAT(testing::PrintToString(
                  inspectWith("\"p = no_positions(0)\", \"linear(merge_heads(attend(q, k, v, "
                              "'paged', scale: 0.5, selection: p)), o)\"")
                      .reasons),
              HasSubstr("a positive number"));
}

TEST(Attention, RotaryStaysInsideTheHead) {
  auto turns = [](const std::string &from) {
    return testing::PrintToString(
        inspectWith("\"k = rotary(k, rope, from: " + from +
                    ")\", \"linear(merge_heads(attend(q, k, v, 'paged', scale: 0.5)), o)\"")
            .reasons);
  };
  EXPECT_EQ(turns("2"), "{}");
  EXPECT_THAT(turns("3"),
              HasSubstr("a rotation of 2 dimensions from 3 on does not fit heads of 4"));
  EXPECT_THAT(turns("-1"), HasSubstr("'from' must be null or the first channel that turns, got -1"));
}

TEST(Attention, ProductsOfHeadsFit) {
  auto products = [](const std::string &part) {
    return testing::PrintToString(
        inspectWith("\"take(head_linear(attend(q, k, v, 'paged', scale: 0.5), ho), 0)\"",
                    R"s(, "tensors": { "layer": { "o": ["model.layers.{i}.self_attn.o_proj.weight",
                       "[8, 8]", { "groups": "2", "parts": { "ho": )s" + part + " } }] } }")
            .reasons);
  };
  EXPECT_EQ(products(R"({ "rows": "4", "transposed": true })"), "{}");
  EXPECT_THAT(products("\"4\""),
              HasSubstr("weight 'ho' of shape [2, 4, 8] does not fit heads [2, 4]"));
}

TEST(Attention, ConfigsWithoutARecordMeanThatOfTheClass) {
  auto record = [](const std::string &key, const std::string &value) {
    TinyModel tiny("own");
    std::erase_if(tiny.config.members, [](const auto &member) { return member.first == "rope_theta"; });
    if (!key.empty())
      tiny.set(key, value);
    std::string file = tiny.folder.path("own.jsonc");
    tiny.folder.write("own.jsonc", R"json({ "extends": "llama", "match": { "model_type": ["own"] },
      "params": { "rope": "rope_record(dim: Dh, interleaved: true, otherwise: [['rope_type', 'yarn'], ['rope_theta', 500.0], ['factor', 4.0], ['original_max_position_embeddings', 16]])" } })json");
    auto set = TinyModel::descriptions();
    set.addFile(file);
    return loadModel(tiny.write(), set)->ropes.at(0);
  };
  RopeRecord own = record("rope_parameters", R"({ "rope_type": "yarn", "rope_theta": 500.0,
    "factor": 4.0, "original_max_position_embeddings": 16 })");
  EXPECT_EQ(own.theta, 500.0);
  EXPECT_EQ(own.factor, 4.0);
  EXPECT_TRUE(own.interleaved);
  EXPECT_EQ(record("", ""), own);
  EXPECT_EQ(record("rope_parameters", "null"), own);
  // Any field of its own makes it a record.
  EXPECT_EQ(record("rope_theta", "100.0").type, RopeType::Default);
  EXPECT_EQ(record("rope_theta", "100.0").theta, 100.0);
}
