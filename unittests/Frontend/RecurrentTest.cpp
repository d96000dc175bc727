//===- RecurrentTest.cpp - recurrent mixers in descriptions ---------------===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The tiny model with a convolution of 8 channels in every layer, 4 taps unless said.
struct Convolved : TinyModel {
  explicit Convolved(std::vector<int64_t> weight = {8, 1, 4}) : TinyModel("own") {
    std::string shape;
    for (int64_t dim : weight)
      shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
    declared = "[" + shape + "]";
    for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
      tensors.push_back({layer + "conv.weight", weight});
      tensors.push_back({layer + "conv.bias", {8}});
    }
  }

  /// With these statements in place of llama's attention.
  InspectReport inspectWith(const std::string &attention, const std::string &bias = "true") {
    folder.write("own.jsonc",
                 R"json({ "extends": "llama", "match": { "model_type": ["own"] },
      "tensors": { "layer": { "conv": ["model.layers.{i}.conv.weight", ")json" + declared +
                                  R"json(", { "bias": ")json" + bias + R"json(" }] } },
      "blocks": { "attention(x)": [
        "q, k, v = linear(x, q, k, v)", "q = rotary(split_heads(q, 2, 4), rope)",
        "k = split_heads(k, 1, 4)", "v = split_heads(v, 1, 4)", )json" + attention + R"json(,
        "linear(merge_heads(y), o)"] } })json");
    auto set = descriptions();
    set.addFile(folder.path("own.jsonc"));
    auto source = std::make_shared<ModelSource>(ModelSource::open(write()));
    return inspectModel(source, set);
  }
  std::string declared;
};

/// A head of two key heads is no form of the operation; queries are as many as keys here.
const std::string heads = R"s("c = split_heads(causal_conv(merge_heads(q), conv), 2, 4)",
  "g = activation(slice(x, 0, 2), 'sigmoid')", "k = concat(merge_heads(k), merge_heads(v))",
  "k = split_heads(k, 2, 4)", )s";

std::string attended(const std::string &call) { return heads + "\"y = " + call + "\""; }

std::string reasonOf(const std::string &statements, Convolved model = Convolved()) {
  InspectReport report = model.inspectWith(statements);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid);
  return testing::PrintToString(report.reasons);
}

} // namespace

TEST(Recurrent, StateIsCountedOnceASequence) {
  InspectReport report = Convolved().inspectWith(
      attended("linear_attention(c, k, c, g, beta: g, delta: true, scale: 0.5)"));
  EXPECT_THAT(report.reasons, IsEmpty());
  // Two layers: 8 channels of 3 inputs, two heads of 4 x 4.
  EXPECT_EQ(report.recurrentConvElements, 2 * 8 * 3);
  EXPECT_EQ(report.recurrentStateElements, 2 * 2 * 4 * 4);
  EXPECT_EQ(report.fullAttentionLayers, 0);
  EXPECT_THAT(report.toText(), HasSubstr("112 elements a sequence, 48 of them of convolutions"));
}

TEST(Recurrent, AWeightMayBeAMatrix) {
  InspectReport report =
      Convolved({8, 2}).inspectWith(attended("linear_attention(c, k, c, g)"));
  EXPECT_THAT(report.reasons, IsEmpty());
  EXPECT_EQ(report.recurrentConvElements, 2 * 8);
}

TEST(Recurrent, ArgumentsAreChecked) {
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, gamma: g)")),
              HasSubstr("has no argument 'gamma'"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, g)")),
              HasSubstr("takes queries, keys, values and decays, there are 3 arguments"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, delta: 1)")),
              HasSubstr("'delta' must be true or false, it is 1"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, scale: 0.0)")),
              HasSubstr("'scale' must be a number that is positive and finite in f32"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, beta: 1.0)")),
              HasSubstr("'beta' must be a tensor or null"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, beta: c)")),
              HasSubstr("'beta' of [2, 4] a token is not one for each of the 2 heads"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, x, beta: g)")),
              HasSubstr("decays of [8] a token are neither one for each of the 2 heads"));
  EXPECT_THAT(reasonOf(attended("linear_attention(k, c, v, g)")),
              HasSubstr("values [1, 4] do not fit together"));
}

TEST(Recurrent, TransitionsOfRankOne) {
  InspectReport report = Convolved().inspectWith(
      attended("linear_attention(c, k, c, g, rank_one: (c, k), before: true)"));
  EXPECT_THAT(report.reasons, IsEmpty());
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, rank_one: c)")),
              HasSubstr("'rank_one' must be a pair of tensors, (a, b), it is"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, rank_one: (c, 1.0))")),
              HasSubstr("'rank_one' must be a pair of tensors, (a, b), it is"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, rank_one: (c, g))")),
              HasSubstr("a factor of 'rank_one' of [2] a token is not of the shape of the keys"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, rank_one: (c, k), delta: true)")),
              HasSubstr("has 'delta' and 'rank_one'"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g, before: 1)")),
              HasSubstr("'before' must be true or false, it is 1"));
}

TEST(Recurrent, ShiftsAreRowsOfTheTokenBefore) {
  InspectReport report = Convolved().inspectWith(
      attended("linear_attention(c, k, split_heads(token_shift(x), 2, 4), g)"));
  EXPECT_THAT(report.reasons, IsEmpty());
  EXPECT_EQ(report.recurrentConvElements, 2 * 8 * 3 + 2 * 8);
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, split_heads(token_shift(x, x), 2, 4), g)")),
              HasSubstr("takes one tensor"));
}

TEST(Recurrent, AConvolutionIsOfEachChannel) {
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g)"), Convolved({8, 2, 4})),
              HasSubstr("is neither [channels, taps] nor [channels, 1, taps] for an input of 8"));
  EXPECT_THAT(reasonOf(attended("linear_attention(c, k, c, g)"), Convolved({8, 1})),
              HasSubstr("has one tap"));
  EXPECT_THAT(reasonOf(R"s("y = split_heads(causal_conv(merge_heads(q), conv, input_norm), 2, 4)",
                           "y = y + split_heads(merge_heads(concat(k, v)), 2, 4)")s"),
              HasSubstr("the weight 'conv' has a bias of its own, and another is given"));
}
