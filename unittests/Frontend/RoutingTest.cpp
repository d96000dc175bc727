//===- RoutingTest.cpp - routers and experts in descriptions --------------===//
#include "TinyModel.h"

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// The tiny model with 6 experts of 5 rows in every layer, as Mixtral stores them.
struct Mixture : TinyModel {
  Mixture() : TinyModel("own") {
    set("num_local_experts", "6");
    set("intermediate_size", "5");
    for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
      for (const char *name : {"gate_proj", "up_proj", "down_proj"})
        drop(layer + "mlp." + name + ".weight");
      std::string moe = layer + "block_sparse_moe.";
      tensors.push_back({moe + "gate.weight", {6, 8}});
      for (int e = 0; e < 6; ++e) {
        std::string expert = moe + "experts." + std::to_string(e);
        tensors.push_back({expert + ".w1.weight", {5, 8}});
        tensors.push_back({expert + ".w3.weight", {5, 8}});
        tensors.push_back({expert + ".w2.weight", {8, 5}});
      }
    }
  }

  /// With these statements in place of mixtral's block of experts.
  InspectReport inspectWith(const std::string &moe, const std::string &more = {}) {
    std::string file = folder.path("own.jsonc");
    folder.write("own.jsonc", R"json({ "extends": "mixtral", "match": { "model_type": ["own"] },
      "params": { "normalise": null, "top": null },
      "blocks": { "routed(x)": null, "experts(x, choice)": null, "shared(x)": null, "moe(x)": [)json" +
                                  moe + "] }" + more + "}");
    auto set = descriptions();
    set.addFile(file);
    auto source = std::make_shared<ModelSource>(ModelSource::open(write()));
    return inspectModel(source, set);
  }
};

const std::string rest = R"s(, "g, u = expert_linear(x, choice, expert_gate, expert_up)",
  "y = expert_linear(gate(g, u, act: act), choice, expert_down)", "expert_sum(y, weights)")s";

std::string routed(const std::string &arguments) {
  return "\"choice, weights = route(linear(x, router)" + arguments + ")\"" + rest;
}

/// Why a model with these statements is invalid.
std::string reasonOf(const std::string &moe) {
  InspectReport report = Mixture().inspectWith(moe);
  EXPECT_EQ(report.verdict, InspectReport::Verdict::Invalid);
  return testing::PrintToString(report.reasons);
}

} // namespace

TEST(Routing, ActiveParametersLeaveOutWhatIsNotChosen) {
  InspectReport report = Mixture().inspectWith(routed(", score: 'softmax', top: 2"));
  EXPECT_THAT(report.reasons, IsEmpty());
  int64_t expert = 2 * 5 * 8 + 8 * 5;
  EXPECT_EQ(report.parametersTotal - report.parametersActive, 2 * (6 - 2) * expert);
  report = Mixture().inspectWith(routed(", score: 'softmax', top: 6"));
  EXPECT_EQ(report.parametersTotal, report.parametersActive);
}

TEST(Routing, ExpertsSeeOneVectorOrOneEach) {
  EXPECT_THAT(Mixture()
                  .inspectWith(R"s("choice, logits = route(linear(x, router), score: 'identity', top: 2)",
        "s = expert_spread(x, activation(logits, 'sigmoid'))",
        "g, u = expert_linear(s, choice, expert_gate, expert_up)",
        "expert_sum(expert_linear(gate(g, u, act: act), choice, expert_down))")s")
                  .reasons,
              IsEmpty());
}

TEST(Routing, ArgumentsOfARouteAreChecked) {
  EXPECT_THAT(reasonOf(routed("")), HasSubstr("needs 'top'"));
  EXPECT_THAT(reasonOf(routed(", top: 7")), HasSubstr("'top' must be from 1 to the 6 experts, it is 7"));
  EXPECT_THAT(reasonOf(routed(", top: 0")), HasSubstr("'top' must be from 1 to the 6 experts, it is 0"));
  EXPECT_THAT(reasonOf(routed(", top: 2.5")), HasSubstr("'top' must be an integer or null, it is 2.5"));
  EXPECT_THAT(reasonOf(routed(", top: 2, score: 'tanh'")),
              HasSubstr("'score' must be one of softmax, sigmoid, sqrt_softplus, identity"));
  EXPECT_THAT(reasonOf(routed(", top: 2, normalise: true")),
              HasSubstr("'normalise' must be one of none, sum, softmax, margin, it is true"));
  EXPECT_THAT(reasonOf(routed(", top: 2, grups: 2")), HasSubstr("has no argument 'grups'"));
  EXPECT_THAT(reasonOf(routed(", top: 2, scale: 1e39")), HasSubstr("finite in f32"));
  EXPECT_THAT(reasonOf(routed(", top: 2, bias: final_norm")),
              HasSubstr("'bias' of shape [8] is not one for each of 6 experts"));
  EXPECT_THAT(reasonOf(routed(", top: 2, bias: 3")), HasSubstr("'bias' must be a weight or null"));
  EXPECT_THAT(reasonOf(routed(", top: 2, groups: 4, keep: 2")), HasSubstr("6 experts are no 4 groups"));
  EXPECT_THAT(reasonOf(routed(", top: 2, groups: 3")), HasSubstr("needs 'keep'"));
  EXPECT_THAT(reasonOf(routed(", top: 2, groups: 3, keep: 4")),
              HasSubstr("'keep' must be from 1 to the 3 groups, it is 4"));
  EXPECT_THAT(reasonOf(routed(", top: 3, groups: 3, keep: 1")),
              HasSubstr("'top' (3) is more than the 2 experts of the groups that are kept"));
  EXPECT_THAT(reasonOf(routed(", top: 2, groups: 6, keep: 3, group_score: 'top2'")),
              HasSubstr("the score 'top2' needs two experts a group"));
  EXPECT_THAT(reasonOf(routed(", top: 2, table: router")),
              HasSubstr("needs a 'table' and the 'tokens' together"));
  const std::string margin = ", top: 2, normalise: 'margin'";
  EXPECT_THAT(reasonOf(routed(margin)), HasSubstr("and the 'margin' together, or neither"));
  EXPECT_THAT(reasonOf(routed(", top: 2, margin: 0.1")),
              HasSubstr("and the 'margin' together, or neither"));
  EXPECT_THAT(reasonOf(routed(margin + ", margin: 0.0")),
              HasSubstr("'margin' must be a number that is positive and finite in f32, it is 0"));
  EXPECT_THAT(reasonOf(routed(margin + ", margin: 0.1, groups: 3, keep: 2")),
              HasSubstr("has a margin, which goes without bias, groups and table"));
}

TEST(Routing, ExpertsFitTheirRouter) {
  std::string route = "\"choice, weights = route(linear(x, router), top: 2)\", ";
  EXPECT_THAT(reasonOf(route + R"s("y = expert_linear(choice, weights, expert_down)", "expert_sum(y, weights)")s"),
              HasSubstr("argument 2 must be the choice of a route"));
  EXPECT_THAT(reasonOf(route + R"s("y = expert_linear(x, choice, expert_down)", "expert_sum(y, weights)")s"),
              HasSubstr("weight 'expert_down' of shape [6, 8, 5] does not fit an input of 8"));
  EXPECT_THAT(reasonOf(route + R"s("y = expert_linear(x, choice)", "expert_sum(y, weights)")s"),
              HasSubstr("needs at least one weight"));
  EXPECT_THAT(reasonOf(R"s("choice, weights = route(x, top: 2)")s" + rest),
              HasSubstr("weight 'expert_gate' has 6 experts, the router chooses from 8"));
  EXPECT_THAT(reasonOf(route + R"s("y = expert_linear(split_heads(x, 4, 2), choice, expert_gate)",
                  "expert_sum(y, weights)")s"),
              HasSubstr("neither one vector nor one for each of the 2 chosen experts"));
  EXPECT_THAT(reasonOf(route + R"s("y = expert_linear(x, choice, expert_gate)", "expert_sum(y, x) + expert_sum(y, weights)")s"),
              HasSubstr("weights of [8] a token do not fit 2 chosen experts"));
}

TEST(Routing, TheClassTellsGenerationsOfOneTypeApart) {
  auto set = TinyModel::descriptions();
  TempFolder folder;
  auto described = [&](const char *classes) {
    folder.write("config.json", std::string(R"({"model_type": "bailing_moe", "architectures": [)") +
                                    classes + "]}");
    return set.match(ModelSource::open(folder.path()))->name;
  };
  EXPECT_EQ(described("\"BailingMoeForCausalLM\""), "bailing_moe");
  EXPECT_EQ(described("\"BailingMoeV2ForCausalLM\""), "bailing_moe_v2");
  EXPECT_EQ(described(""), "bailing_moe");
}
