//===- LedgerTest.cpp - what the ledgers of keys and tensors refuse -------===//
#include "TinyModel.h"
#include "llmc/Frontend/Catalogue.h"

#include <set>

using namespace llmc;
using namespace llmc::frontend;
using namespace llmc::test;
using testing::AnyOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

namespace {

using Verdict = InspectReport::Verdict;

/// Configs of all descriptions that the catalogue has a model of, one each.
std::vector<Catalogue::Model> oneModelOfEachKind(DescriptionSet &set) {
  Catalogue catalogue(sourceFolder() + "/models/catalogue");
  std::vector<Catalogue::Model> models;
  std::set<std::string> seen;
  for (const std::string &name : catalogue.names())
    if (auto description = set.match(*catalogue.open(name)))
      if (seen.insert(description->name).second)
        models.push_back(*catalogue.find(name));
  return models;
}

std::shared_ptr<const ModelSource> sourceOf(Json config) {
  auto source = std::make_shared<ModelSource>();
  source->kind = ModelSource::Kind::ConfigFile;
  source->path = source->configFile = "config.json";
  source->config = std::move(config);
  return source;
}

/// What is said of a config by the description that the model has as it is.
InspectReport reportOf(Json config, std::shared_ptr<const Description> description) {
  ResolveOptions options;
  options.collect = true;
  auto model = ResolvedModel::resolve(sourceOf(std::move(config)), std::move(description), options);
  InspectReport report;
  for (const Problem &problem : model->problems)
    report.reasons.push_back(problem.message);
  report.verdict = model->problems.empty() ? Verdict::Ready : Verdict::Invalid;
  for (const auto &entry : model->configLedger.used)
    report.keysUsed.push_back(entry.first);
  report.keysIrrelevant.assign(model->configLedger.irrelevant.begin(),
                               model->configLedger.irrelevant.end());
  return report;
}

std::string textOf(const std::vector<std::string> &reasons) {
  std::string text;
  for (const std::string &reason : reasons)
    text += reason + "\n";
  return text;
}

} // namespace

TEST(Ledger, SpellingsOfEveryDescriptionMustAgree) {
  auto set = TinyModel::descriptions();
  size_t count = 0;
  for (const std::string &name : set.names()) {
    auto description = set.load(name);
    for (const auto &[other, key] : description->synonyms) {
      if (other.find('.') != std::string::npos || key.find('.') != std::string::npos)
        continue;
      SCOPED_TRACE(name + ": " + other);
      Json config = Json::makeObject();
      config.set(key, Json::makeInt(3));
      config.set(other, Json::makeInt(3));
      EXPECT_NO_THROW(ConfigView(config, "config.json", description->synonyms));
      config.set(other, Json::makeInt(5));
      EXPECT_INPUT_ERROR(ConfigView(config, "config.json", description->synonyms),
                         HasSubstr("'" + key + "' is 3 but '" + other + "'"),
                         HasSubstr("is 5; make them agree or remove one"));
      config.set(other, Json());
      EXPECT_INPUT_ERROR(ConfigView(config, "config.json", description->synonyms),
                         HasSubstr("is null; make them agree"));
      ++count;
    }
  }
  EXPECT_GT(count, 10u);
}

/// Whatever a key means, an object that it has never been is no value of it, and no other key is to
/// blame.
TEST(Ledger, NoKeyTakesAnotherKindOfValue) {
  auto set = TinyModel::descriptions();
  Json odd = parseJson(R"({"odd": 1})", "fixture");
  for (const Catalogue::Model &model : oneModelOfEachKind(set)) {
    SCOPED_TRACE(model.name);
    auto description = set.match(*sourceOf(model.config));
    InspectReport whole = reportOf(model.config, description);
    EXPECT_TRUE(whole.ok()) << textOf(whole.reasons);
    for (const auto &[key, value] : model.config.members) {
      // How a model was found, and what changes nothing by name.
      if (key == "architectures" || key == "model_type" || value.isObject() ||
          std::count(whole.keysIrrelevant.begin(), whole.keysIrrelevant.end(), key))
        continue;
      Json config = model.config;
      config.set(key, odd);
      InspectReport report = reportOf(config, description);
      EXPECT_FALSE(report.ok()) << key;
      EXPECT_THAT(textOf(report.reasons), HasSubstr(key)) << key;
    }
  }
}

/// A key is there, null, or not there: the first two have their line in the ledger, and a refusal
/// names the key, or what was computed without it.
TEST(Ledger, NullIsAValueOfItsOwn) {
  std::map<std::string, std::string> computed = {{"topk_group", "'keep'"},
                                                 {"head_dim", "dimensions of a head"}};
  auto set = TinyModel::descriptions();
  for (const Catalogue::Model &model : oneModelOfEachKind(set)) {
    SCOPED_TRACE(model.name);
    auto description = set.match(*sourceOf(model.config));
    for (const auto &[key, value] : model.config.members) {
      Json config = model.config;
      config.set(key, Json());
      InspectReport report = reportOf(config, description);
      if (!report.ok())
        EXPECT_THAT(textOf(report.reasons), AnyOf(HasSubstr(key), HasSubstr(computed[key]))) << key;
      else if (!std::count(report.keysIrrelevant.begin(), report.keysIrrelevant.end(), key))
        EXPECT_THAT(report.keysUsed, Contains(key));
    }
  }
}

TEST(Ledger, TheTextPartIsTheSameModel) {
  TinyModel tiny;
  InspectReport flat = tiny.inspect();
  Json inner = tiny.config;
  tiny.config = Json::makeObject();
  tiny.config.set("model_type", *inner.find("model_type"));
  tiny.config.set("text_config", inner);
  InspectReport nested = tiny.inspect();
  EXPECT_EQ(nested.verdict, Verdict::Ready) << nested.toText();
  EXPECT_EQ(nested.parametersTotal, flat.parametersTotal);
  tiny.set("hidden_size", "16");
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("'text_config.hidden_size' is 8"),
                     HasSubstr("'hidden_size'"), HasSubstr("is 16"));
}

/// Each tensor is read: without it, under another name, or in another shape, the model is refused
/// by that tensor's name.
TEST(Ledger, EveryTensorIsNeeded) {
  for (const char *type : {"llama", "gemma2", "qwen3"}) {
    SCOPED_TRACE(type);
    auto make = [&] {
      TinyModel tiny(type);
      if (std::string(type) != "llama")
        tiny.set("tie_word_embeddings", "false");
      return tiny.config;
    };
    InspectReport report = inspectModel(sourceOf(make()),
                                        *std::make_unique<DescriptionSet>(TinyModel::descriptions()));
    std::vector<ZeroTensor> tensors;
    for (const InspectReport::Tensor &family : report.tensors)
      for (int64_t i = 0; i < family.count; ++i) {
        std::string name = family.name;
        if (size_t at = name.find("{i}"); at != std::string::npos)
          name.replace(at, 3, std::to_string(i));
        tensors.push_back({name, family.shape});
      }
    ASSERT_GT(tensors.size(), 15u) << report.toText();
    auto set = TinyModel::descriptions();
    auto inspect = [&](const std::vector<ZeroTensor> &given) {
      TinyModel tiny(type);
      tiny.config = make();
      tiny.tensors = given;
      return inspectModel(std::make_shared<ModelSource>(ModelSource::open(tiny.write())), set);
    };
    EXPECT_EQ(inspect(tensors).verdict, Verdict::Ready) << inspect(tensors).toText();
    for (size_t i = 0; i < tensors.size(); ++i) {
      std::string name = tensors[i].name;
      SCOPED_TRACE(name);
      auto without = tensors, renamed = tensors, larger = tensors;
      without.erase(without.begin() + ptrdiff_t(i));
      InspectReport missing = inspect(without);
      EXPECT_EQ(missing.verdict, Verdict::Invalid);
      EXPECT_THAT(textOf(missing.reasons), HasSubstr("lacks tensor '" + name + "'"));
      renamed[i].name.insert(renamed[i].name.size() - 7, "x");
      InspectReport unread = inspect(renamed);
      EXPECT_THAT(textOf(unread.reasons), AllOf(HasSubstr("lacks tensor '" + name + "'"),
                                                HasSubstr("near names there: " + renamed[i].name)));
      larger[i].shape.back() += 1;
      EXPECT_THAT(textOf(inspect(larger).reasons),
                  AllOf(HasSubstr("'" + name + "' has shape " + shapeText(larger[i].shape)),
                        HasSubstr("but the config gives " + shapeText(tensors[i].shape))));
    }
  }
}

TEST(Ledger, ManyOfOneSortAreCounted) {
  TinyModel tiny;
  tiny.set("num_hidden_layers", "4");
  // 18 tensors of two layers are missing, then 18 too many.
  EXPECT_INPUT_ERROR(tiny.load(), HasSubstr("10 more tensors are missing"));
  TinyModel more("llama", 4);
  more.set("num_hidden_layers", "2");
  EXPECT_INPUT_ERROR(more.load(), HasSubstr("10 more tensors are read by no parameter"));
  TinyModel keys;
  for (int i = 0; i < 20; ++i)
    keys.set("curious_" + std::to_string(i), "1");
  EXPECT_INPUT_ERROR(keys.load(), HasSubstr("... and 8 more"));
}

TEST(Ledger, ValuesThatARequirementDoesNotList) {
  auto set = TinyModel::descriptions();
  size_t count = 0;
  for (const Catalogue::Model &model : oneModelOfEachKind(set)) {
    SCOPED_TRACE(model.name);
    auto description = set.match(*sourceOf(model.config));
    for (const RequireDef &require : description->requires_) {
      if (require.key.find('.') != std::string::npos)
        continue;
      Json config = model.config;
      config.set(require.key, Json::makeString("another"));
      InspectReport report = reportOf(config, description);
      EXPECT_FALSE(report.ok()) << require.key;
      EXPECT_THAT(textOf(report.reasons),
                  AllOf(HasSubstr("'" + require.key + "' = \"another\""),
                        HasSubstr("is not supported by description '" + description->name +
                                  "', supported: " + require.allowed.front().dump(40))))
          << require.key;
      ++count;
    }
  }
  EXPECT_GT(count, 20u);
}

TEST(Ledger, PairsAreWhole) {
  auto refused = [](const std::string &tensor, const std::string &message) {
    TinyModel tiny;
    tiny.set("quantization_config", R"({"quant_method": "fp8", "weight_block_size": [4, 4]})");
    tiny.tensors.push_back({tensor, {2, 2}});
    EXPECT_INPUT_ERROR(tiny.load(), HasSubstr(message));
  };
  std::string q = "model.layers.0.self_attn.q_proj.weight";
  // A scale of what is not quantised, and quants beside the weight that they would be.
  refused(q + "_scale_inv", "'" + q + "_scale_inv' [2, 2] is read by no parameter");
  refused(q + "_packed",
          "tensor '" + q + "_packed' is quantised (fp8) and its tensor '" + q + "_scale' is missing");
  refused("model.layers.0.self_attn.q_proj.qweight",
          "its tensor 'model.layers.0.self_attn.q_proj.scales' is missing; get the whole checkpoint");
  // Without a config that says so, nothing is quantised.
  TinyModel silent;
  silent.tensors.push_back({q + "_scale_inv", {2, 2}});
  EXPECT_INPUT_ERROR(silent.load(), HasSubstr("_scale_inv' [2, 2] is read by no parameter"));
}

TEST(Ledger, WhatWasAcceptedIsRecorded) {
  TinyModel tiny;
  tiny.set("quantization_config", R"({"quant_method": "fp8", "curious": [1, 2]})");
  tiny.set("strange", "null");
  EXPECT_INPUT_ERROR(tiny.load(),
                     HasSubstr("key 'quantization_config.curious' = [1, 2] is not known for "
                               "quant_method fp8; if you know that it changes no value of a "
                               "weight, pass --accept-key quantization_config.curious"),
                     HasSubstr("key 'strange' = null"));
  ResolveOptions options;
  options.acceptKeys = {"quantization_config.curious", "strange"};
  EXPECT_THAT(tiny.load(options)->configLedger.accepted,
              ElementsAre(Pair("quantization_config.curious", "[1, 2]"), Pair("strange", "null")));
}

/// What is no id would let a text run past its end.
TEST(Ledger, IdsOfTokens) {
  auto load = [](const std::string &config, const std::string &generation) {
    TinyModel tiny;
    tiny.set("eos_token_id", config);
    tiny.folder.write("generation_config.json", generation);
    return tiny.load()->eosIds;
  };
  EXPECT_THAT(load("7", "{}"), ElementsAre(7));
  EXPECT_THAT(load("[7, 8]", "{}"), ElementsAre(7, 8));
  EXPECT_THAT(load("null", "{}"), ElementsAre());
  // The union of both files: either may be the one that knows the end of a turn.
  EXPECT_THAT(load("7", R"({"eos_token_id": [1, 2]})"), ElementsAre(1, 2, 7));
  EXPECT_THAT(load("[1, 106]", R"({"eos_token_id": 1})"), ElementsAre(1, 106));
  EXPECT_THAT(load("[1, 106]", R"({"eos_token_id": null})"), ElementsAre(1, 106));
  for (const char *value : {"\"7\"", "-1", "7.5", "true", "[7, null]", "[[7]]", "{\"id\": 7}"}) {
    EXPECT_INPUT_ERROR(load(value, "{}"), HasSubstr("config.json"),
                       HasSubstr(std::string("'eos_token_id' = ") + value), HasSubstr("or null"));
    EXPECT_INPUT_ERROR(load("7", std::string(R"({"eos_token_id": )") + value + "}"),
                       HasSubstr("generation_config.json:1:"), HasSubstr("'eos_token_id'"));
  }
}
