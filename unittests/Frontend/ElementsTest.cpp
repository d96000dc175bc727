//===- ElementsTest.cpp - arithmetic of tensors in descriptions -----------===//
#include "TinyModel.h"

#include "llmc/Frontend/Expression.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The tiny model with these statements in place of llama's feed-forward; x is [8].
InspectReport inspectWith(const std::string &statements) {
  TinyModel tiny("own");
  std::string file = tiny.folder.path("own.jsonc");
  tiny.folder.write("own.jsonc",
                    R"json({ "extends": "llama", "match": { "model_type": ["own"] },
    "blocks": { "gated_mlp(x)": [ "g, u = linear(x, gate_proj, up_proj)",
      "x = x + linear(gate(g, u, act: act), down_proj)", )json" +
                        statements + "] } }");
  auto set = TinyModel::descriptions();
  set.addFile(file);
  return inspectModel(std::make_shared<ModelSource>(ModelSource::open(tiny.write())), set);
}

void expectFine(const std::string &statements) {
  InspectReport report = inspectWith(statements);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Ready) << statements;
  EXPECT_THAT(report.reasons, IsEmpty()) << statements;
}

std::string reasonOf(const std::string &statements) {
  InspectReport report = inspectWith(statements);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid) << statements;
  return testing::PrintToString(report.reasons);
}

} // namespace

TEST(Elements, OperandsAreRepeated) {
  expectFine(R"s("h = split_heads(x, 2, 4)", "h = h * mean(h) - max(h)", "merge_heads(h)")s");
  expectFine(R"s("x * input_norm + weight_rows(post_norm) - 1.0")s");
  expectFine(R"s("h = split_heads(x, 2, 4)", "merge_heads(h * slice(x, 0, 2))")s");
  expectFine(R"s("h = split_heads(x, 2, 4)", "merge_heads(mix(softmax(slice(h, 0, 2)), h))")s");
  expectFine(R"s("1.0 / (2.0 - max(min(x, 1.0), -1.0)) + -x")s");
}

TEST(Elements, OperandsThatDoNotFit) {
  EXPECT_THAT(reasonOf(R"s("x + slice(x, 0, 3)")s"),
              HasSubstr("shapes [8] and [3] do not fit: dimensions must be equal or 1"));
  // A vector beside heads has one element a head, whatever else it might be.
  EXPECT_THAT(reasonOf(R"s("merge_heads(split_heads(x, 2, 4) * slice(x, 0, 4))")s"),
              HasSubstr("shapes [2, 4] and [4] do not fit"));
  EXPECT_THAT(reasonOf(R"s("merge_heads(mix(split_heads(x, 2, 4), split_heads(x, 2, 4)))")s"),
              HasSubstr("coefficients [2, 4] do not fit [2, 4]: they need a column for each"));
  EXPECT_THAT(reasonOf(R"s("concat(x, split_heads(x, 2, 4))")s"),
              HasSubstr("shapes [8] and [2, 4] must agree in all but the last dimension"));
}

TEST(Elements, RangesAndNumbers) {
  EXPECT_THAT(reasonOf(R"s("concat(slice(x, 6, 4), slice(x, 0, 4))")s"),
              HasSubstr("4 elements from 6 on do not lie in [8]"));
  EXPECT_THAT(reasonOf(R"s("h = split_heads(x, 2, 4)", "concat(take(h, 2), take(h, 0))")s"),
              HasSubstr("number 2 is none of the 2 there are"));
  // Two layers, so that the second one asks for number 2.
  EXPECT_THAT(reasonOf(R"s("h = split_heads(x, 2, 4)", "concat(take(h, 1, layer: true), take(h, 0))")s"),
              HasSubstr("number 2 is none of the 2 there are"));
  expectFine(R"s("h = split_heads(x, 2, 4)", "concat(take(h, 0, layer: true), take(h, 0))")s");
  EXPECT_THAT(reasonOf(R"s("merge_heads(put(split_heads(x, 2, 4), 0, x))")s"),
              HasSubstr("a row of 8 does not fit into [2, 4]"));
  EXPECT_THAT(reasonOf(R"s("clamp(x, 2, 1)")s"),
              HasSubstr("the lower bound 2 is above the upper one, 1"));
  EXPECT_THAT(reasonOf(R"s("clamp(x, null, null)")s"), HasSubstr("needs a bound that is not null"));
  EXPECT_THAT(reasonOf(R"s("x * position_scale(scale: 0.1, period: 0.5)")s"),
              HasSubstr("'period' must be a whole number from 1 up, it is 0.5"));
  EXPECT_THAT(reasonOf(R"s("x * position_scale(period: 8)")s"),
              HasSubstr("'scale' must be a number that is finite in f32, it is not given"));
}
