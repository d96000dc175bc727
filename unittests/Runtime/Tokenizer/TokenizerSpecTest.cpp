//===- TokenizerSpecTest.cpp ----------------------------------------------===//
#include "llmc/Runtime/TokenizerSpec.h"

#include "TokenizerFixture.h"
#include "llmc/Runtime/Tokenizer.h"
#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

using namespace llmc::rt;
using namespace llmc::rt::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

template <typename Fn> std::string messageOf(Fn fn) {
  try {
    fn();
  } catch (const llmc::InputError &error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenizerSpec, SurvivesJson) {
  GgufTokenizerFields fields = fieldsWith({"h e", "Ġ t", "Ġt he"}, "qwen2");
  fields.addBos = true;
  fields.chatTemplate = "{{ 'é' }}";
  TokenizerSpec spec = specFromGguf(fields);
  std::string text = spec.toJson();
  TokenizerSpec back = TokenizerSpec::fromJson(text);
  EXPECT_EQ(back.toJson(), text);
  EXPECT_EQ(back.chatTemplate, "{{ 'é' }}");
  EXPECT_EQ(back.source, "gguf:qwen2");
  std::string sample = "the <|im_end|> they 12 e\u0301";
  EXPECT_EQ(Tokenizer(back).encode(sample, {true, true}),
            Tokenizer(spec).encode(sample, {true, true}));
}

TEST(TokenizerSpec, RefusesDamagedJson) {
  json good = json::parse(specFromGguf(fieldsWith({"h e", "he l"})).toJson());
  auto with = [&](auto change) {
    json file = good;
    change(file);
    return messageOf([&] { TokenizerSpec::fromJson(file.dump(), "x.json"); });
  };
  EXPECT_THAT(with([](json &f) { f["version"] = 2; }), HasSubstr("x.json: "));
  EXPECT_THAT(with([](json &f) { f["version"] = 2; }), HasSubstr("version is 2"));
  EXPECT_THAT(with([](json &f) { f["format"] = "other"; }), HasSubstr("format"));
  EXPECT_THAT(with([](json &f) { f["kind"] = "unigram"; }), HasSubstr("byte-level-bpe"));
  EXPECT_THAT(with([](json &f) { f.erase("bos"); }), HasSubstr("\"bos\" is missing"));
  EXPECT_THAT(with([](json &f) { f["bos"] = 1000; }), HasSubstr("bos is 1000"));
  EXPECT_THAT(with([](json &f) { f["bos"] = -1; }), HasSubstr("bos"));
  EXPECT_THAT(with([](json &f) { f["bos"] = 1e30; }), HasSubstr("bos"));
  EXPECT_THAT(with([](json &f) { f["eos"] = uint64_t(1) << 63; }), HasSubstr("eos"));
  EXPECT_THAT(with([](json &f) { f["prefix"] = {5000}; }), HasSubstr("prefix is 5000"));
  EXPECT_THAT(with([](json &f) { f["tokens"].clear(); }), HasSubstr("entries"));
  EXPECT_THAT(with([](json &f) { f["tokens"][3] = 7; }), HasSubstr("token 3"));
  EXPECT_THAT(with([](json &f) { f["token_types"][3] = 9; }), HasSubstr("token 3"));
  EXPECT_THAT(with([](json &f) { f["merges"][0][0] = 99999; }), HasSubstr("merge 0"));
  EXPECT_THAT(with([](json &f) { f["merges"][1] = f["merges"][0][0]; }), HasSubstr("three ids"));
  EXPECT_THAT(with([](json &f) { std::swap(f["merges"][0][0], f["merges"][0][1]); }),
              HasSubstr("merge 0 joins \"e\" and \"h\" to \"he\""));
  EXPECT_THAT(with([](json &f) { f["added_tokens"][0]["id"] = 9999; }), HasSubstr("added token 0"));
  EXPECT_THAT(with([](json &f) { f["added_tokens"][0].erase("lstrip"); }),
              HasSubstr("added_tokens.lstrip"));
  EXPECT_THAT(with([](json &f) { f["pre_tokenizer"].clear(); }), HasSubstr("0 byte-level steps"));
  EXPECT_THAT(with([](json &f) { f["pre_tokenizer"][0]["pattern"] = "("; }),
              HasSubstr("not a regular expression"));
  EXPECT_THAT(with([](json &f) { f["chat_template"] = std::string(2 << 20, ' '); }),
              HasSubstr("chat_template"));
  EXPECT_THAT(messageOf([&] { TokenizerSpec::fromJson(good.dump().substr(0, 500)); }),
              HasSubstr("not JSON"));
  EXPECT_THAT(messageOf([&] { TokenizerSpec::fromJson("[]"); }), HasSubstr("not an object"));
}

TEST(GgufTokenizer, RefusesOtherKindsByName) {
  GgufTokenizerFields fields = fieldsWith({});
  auto messageFor = [&](const char *model) {
    fields.model = model;
    return messageOf([&] { specFromGguf(fields); });
  };
  EXPECT_THAT(messageFor("llama"), HasSubstr("SentencePiece BPE"));
  EXPECT_THAT(messageFor("t5"), HasSubstr("unigram"));
  EXPECT_THAT(messageFor("bert"), HasSubstr("WordPiece"));
  EXPECT_THAT(messageFor("something"), HasSubstr("not known"));
  fields.model = "gpt2";
  fields.pre = "no-such";
  EXPECT_THAT(messageOf([&] { specFromGguf(fields); }), HasSubstr("smollm"));
}

TEST(GgufTokenizer, RefusesFieldsThatDoNotFit) {
  GgufTokenizerFields good = fieldsWith({"h e"});
  auto with = [&](auto change) {
    GgufTokenizerFields fields = good;
    change(fields);
    return messageOf([&] { specFromGguf(fields); });
  };
  EXPECT_EQ(with([](auto &) {}), "no error");
  EXPECT_THAT(with([](auto &f) { f.merges.push_back("h"); }), HasSubstr("Merge 1"));
  EXPECT_THAT(with([](auto &f) { f.merges.push_back("h "); }), HasSubstr("Merge 1"));
  EXPECT_THAT(with([](auto &f) { f.merges.push_back("h h"); }), HasSubstr("\"hh\""));
  EXPECT_THAT(with([](auto &f) { f.tokenTypes.pop_back(); }), HasSubstr("token_type"));
  EXPECT_THAT(with([](auto &f) { f.tokenTypes[2] = 42; }), HasSubstr("token 2"));
  EXPECT_THAT(with([](auto &f) { f.eosId = 70000; }), HasSubstr("eos_token_id is 70000"));
  EXPECT_THAT(with([](auto &f) { f.tokens[0] = "\xFF"; }), HasSubstr("not UTF-8"));
  EXPECT_THAT(with([](auto &f) { f.bosId.reset(), f.addBos = true; }), HasSubstr("add_bos_token"));
  EXPECT_EQ(with([](auto &f) { f.padId = 0xFFFFFFFF; }), "no error");
}

TEST(GgufTokenizer, EndsWithTurnsEvenIfTheFileNamesOneEnd) {
  GgufTokenizerFields fields = fieldsWith({});
  fields.eosId = fields.bosId; // "<s>"; "<|im_end|>" is found by its name
  TokenizerSpec spec = specFromGguf(fields);
  EXPECT_THAT(spec.endOfGenerationIds,
              testing::ElementsAre(int32_t(*fields.bosId), int32_t(*fields.bosId) + 1));
}

} // namespace
