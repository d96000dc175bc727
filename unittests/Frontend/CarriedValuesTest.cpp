//===- CarriedValuesTest.cpp - what goes from layer to layer --------------===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::AllOf;
using testing::HasSubstr;

namespace {

/// The tiny model with another block of layers and another call of them.
struct Carried : TinyModel {
  Carried() : TinyModel("own", 3) {}

  std::string write(const std::string &blocks, const std::string &call) {
    return folder.write("own.jsonc", R"json({ "extends": "llama",
      "match": { "model_type": ["own"] }, "blocks": { )json" +
                                         blocks + R"json( },
      "model": ["x = observe(embedding(tokens, embed), 'hidden.0')", ")json" + call + R"json(",
        "x = observe(norm(x, final_norm), 'final_norm')",
        "observe(output_head(select_rows(x), head), 'logits')"] })json");
  }
  InspectReport inspectAs(const std::string &blocks, const std::string &call) {
    auto set = TinyModel::descriptions();
    set.addFile(write(blocks, call));
    return inspectModel(std::make_shared<ModelSource>(ModelSource::open(TinyModel::write())), set);
  }
  std::string reasonOf(const std::string &blocks, const std::string &call) {
    return testing::PrintToString(inspectAs(blocks, call).reasons);
  }
};

const char *twoStreams = R"json("decoder(x, s, p)": [
    "x = x + attention(norm(x, input_norm))", "x = x + gated_mlp(norm(x, post_norm)) + p",
    "(x, s + x)" ])json";

/// Layer 2 reads what layer `from` has kept.
std::string sharing(const std::string &from) {
  return R"json("decoder(x)": [ "x = x + (i == 2 ? shared(norm(x, input_norm)) : attention(norm(x, input_norm)))",
      "x + gated_mlp(norm(x, post_norm))" ],
    "shared(x)": ["q, k, v = linear(x, q, k, v)", "u = merge_heads(split_heads(k, K, Dh)) + v",
      "a = attend(split_heads(q, H, Dh), null, null, 'paged', from: )json" +
         from + R"json(, scale: 0.5)", "linear(merge_heads(a), o) + concat(u, u)"])json";
}

} // namespace

TEST(CarriedValues, RowsThatWereChosenStayAmongThemselves) {
  auto reason = [&](const std::string &rows) {
    TinyModel tiny("own", 3);
    auto set = TinyModel::descriptions();
    set.addFile(tiny.folder.write("own.jsonc", R"json({ "extends": "llama",
      "match": { "model_type": ["own"] },
      "model": ["x = layers(observe(embedding(tokens, embed), 'hidden.0'))",
        "x = observe(norm(x, final_norm), 'final_norm')", "y = select_rows(x)",
        "observe(output_head()json" + rows + R"json(, head), 'logits')"] })json"));
    auto source = std::make_shared<ModelSource>(ModelSource::open(tiny.write()));
    return testing::PrintToString(inspectModel(source, set).reasons);
  };
  EXPECT_EQ(reason("y * final_norm + y"), "{}");
  EXPECT_EQ(reason("y * weight_rows(final_norm)"), "{}");
  EXPECT_THAT(reason("y + x"),
              HasSubstr("argument 1 has only the rows that select_rows chose, and argument 2 a row "
                        "for each token; call select_rows on both, or on the result"));
  EXPECT_THAT(reason("y + weight_rows(final_norm)"),
              AllOf(HasSubstr("own.jsonc:"), HasSubstr("in model, residual_add(...)"),
                    HasSubstr("add the weight itself, which fits any rows (x + w)")));
  EXPECT_THAT(reason("select_rows(y)"),
              HasSubstr("select_rows(...): needs a row for each token, and argument 1 has only the "
                        "rows that select_rows chose; call select_rows behind it"));
}

TEST(CarriedValues, SeveralAndThoseOfEveryLayer) {
  Carried tiny;
  InspectReport report =
      tiny.inspectAs(twoStreams, "x, s = layers(x, x * 2, with: x * 3)\", \"x = x + s");
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready) << report.toText();
  // Layers that hand on their values in another order are other layers.
  Carried turned;
  auto set = TinyModel::descriptions();
  set.addFile(turned.write(R"json("decoder(x, s)": [
      "x = x + attention(norm(x, input_norm))", "x = x + gated_mlp(norm(x, post_norm))",
      "i == 1 ? (s, x) : (x, s)" ])json",
                           "x, s = layers(x, x * 2)\", \"x = x + s"));
  EXPECT_EQ(loadModel(turned.TinyModel::write(), set)->kinds.size(), 2u);
}

TEST(CarriedValues, WhatIsRefused) {
  Carried tiny;
  EXPECT_THAT(tiny.reasonOf(twoStreams, "x = layers(x)"), HasSubstr("takes 3 values, but 'layers' "
                                                                    "has 1 for it"));
  EXPECT_THAT(tiny.reasonOf(twoStreams, "x = layers(x, with: (x, x))"),
              HasSubstr("gives 2 values, it must give the 1 tensors"));
  EXPECT_THAT(tiny.reasonOf(twoStreams, "x, s = layers(x, x, with: 3)\", \"x = x + s"),
              HasSubstr("'with' must be a tensor or a tuple of them"));
  EXPECT_THAT(tiny.reasonOf(twoStreams, "x, s = layers(x, x, given: x)\", \"x = x + s"),
              HasSubstr("has no argument 'given'"));
  EXPECT_THAT(tiny.reasonOf(R"json("decoder(x, s)": [
      "x = x + attention(norm(x, input_norm))", "x = x + gated_mlp(norm(x, post_norm))",
      "(x, concat(s, s))" ])json",
                            "x, s = layers(x, x)\", \"x = x + s"),
              HasSubstr("turns carried value 2, [8], into [16]"));
}

TEST(CarriedValues, StateOfAnEarlierLayer) {
  Carried tiny;
  InspectReport report = tiny.inspectAs(sharing("0"), "x = layers(x)");
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready) << report.toText();
  // Two of three layers keep keys and values, each of one head of 4.
  EXPECT_EQ(report.fullAttentionLayers, 2);
  EXPECT_EQ(report.fullAttentionBytesPerTokenBf16, 2 * 2 * 4 * 2);
  EXPECT_THAT(tiny.reasonOf(sharing("2"), "x = layers(x)"),
              HasSubstr("'from' is layer 2, which is none before layer 2"));
  EXPECT_THAT(tiny.reasonOf(sharing("-1"), "x = layers(x)"),
              HasSubstr("'from' must be null or the number of an earlier layer, got -1"));
  EXPECT_THAT(tiny.reasonOf(sharing("'a'"), "x = layers(x)"), HasSubstr("got 'a'"));
  EXPECT_THAT(tiny.reasonOf(sharing("null"), "x = layers(x)"),
              HasSubstr("needs keys, they are null"));
}
