//===- HuggingFaceTokenizerTest.cpp ---------------------------------------===//
#include "TokenizerFixture.h"
#include "llmc/Runtime/Tokenizer.h"
#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>
#include <nlohmann/json.hpp>

using namespace llmc::rt;
using namespace llmc::rt::test;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

class HuggingFaceTokenizer : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    dir = std::filesystem::path(testing::TempDir()) / ("llmc-hf-tokenizer-" + name);
    std::filesystem::create_directories(dir);
    json vocab;
    for (const std::string &byte : byteAlphabet())
      vocab[byte] = vocab.size();
    for (const char *piece : {"he", "Ġt", "Ġthe"})
      vocab[piece] = vocab.size();
    file = {{"model",
             {{"type", "BPE"},
              {"vocab", vocab},
              {"merges", json::array({json::array({"h", "e"}), json::array({"Ġ", "t"}),
                                      json::array({"Ġt", "he"})})}}},
            {"normalizer", nullptr},
            {"pre_tokenizer",
             {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
            {"post_processor", {{"type", "ByteLevel"}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"added_tokens",
             json::array({added(259, "<s>", true), added(260, "</s>", true),
                          added(261, "<turn>", true), added(262, "<tool>", false)})}};
  }
  void TearDown() override { std::filesystem::remove_all(dir); }

  static json added(int id, const char *content, bool special) {
    return {{"id", id},         {"content", content}, {"special", special},
            {"lstrip", false},  {"rstrip", false},    {"single_word", false},
            {"normalized", false}};
  }
  void write(const char *name, const std::string &text) {
    std::ofstream(dir / name, std::ios::binary) << text;
  }
  TokenizerSpec read() {
    write("tokenizer.json", file.dump());
    return specFromHuggingFace(dir);
  }
  std::string message() {
    try {
      read();
    } catch (const llmc::InputError &error) {
      return error.what();
    }
    return "no error";
  }

  std::filesystem::path dir;
  json file;
};

TEST_F(HuggingFaceTokenizer, ReadsBothSpellingsOfMerges) {
  std::string fromPairs = read().toBytes();
  file["model"]["merges"] = {"h e", "Ġ t", "Ġt he"};
  EXPECT_EQ(read().toBytes(), fromPairs);
  Tokenizer tokenizer(read());
  EXPECT_THAT(tokenizer.encode("he the"), ElementsAre(256, 258));
  EXPECT_EQ(tokenizer.vocabSize(), 263);
}

TEST_F(HuggingFaceTokenizer, ReadsSpecialIdsFromTheConfigurations) {
  write("tokenizer_config.json",
        R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": "config"})");
  write("generation_config.json", R"({"eos_token_id": [260, 261]})");
  write("special_tokens_map.json", R"({"pad_token": "<turn>"})");
  TokenizerSpec spec = read();
  EXPECT_EQ(spec.bosId, 259);
  EXPECT_EQ(spec.eosId, 260);
  EXPECT_EQ(spec.padId, 261);
  EXPECT_THAT(spec.endOfGenerationIds, ElementsAre(260, 261));
  EXPECT_EQ(spec.chatTemplate, "config");
  write("chat_template.jinja", "file");
  EXPECT_EQ(read().chatTemplate, "file");
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "t"},
                              {"name": "default", "template": "d"}],
            "added_tokens_decoder": {"263": {"content": "<late>", "special": true}}})");
  std::filesystem::remove(dir / "chat_template.jinja");
  EXPECT_EQ(read().chatTemplate, "d");
  EXPECT_EQ(read().tokens.size(), 264u);
}

TEST_F(HuggingFaceTokenizer, ReadsPostProcessors) {
  json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  file["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       json::array({{{"type", "ByteLevel"}},
                    {{"type", "TemplateProcessing"},
                     {"single", json::array({bos, text})},
                     {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {259}}}}}}}})}};
  EXPECT_THAT(Tokenizer(read()).encode("he"), ElementsAre(259, 256));
  // A class that makes its own post-processor out of the configuration.
  write("tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>",
      "eos_token": "</s>", "add_bos_token": false, "add_eos_token": true})");
  EXPECT_THAT(Tokenizer(read()).encode("he"), ElementsAre(256, 260));
}

TEST_F(HuggingFaceTokenizer, ReadsPreTokenizerSequences) {
  file["normalizer"] = {{"type", "Sequence"}, {"normalizers", json::array({{{"type", "NFC"}}})}};
  file["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers",
       json::array({{{"type", "Split"},
                     {"pattern", {{"String", "."}}},
                     {"behavior", "MergedWithNext"},
                     {"invert", false}},
                    {{"type", "Digits"}, {"individual_digits", true}},
                    {{"type", "Punctuation"}},
                    {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}})}};
  TokenizerSpec spec = read();
  ASSERT_EQ(spec.steps.size(), 4u);
  EXPECT_EQ(spec.steps[0].pattern, "\\.");
  EXPECT_EQ(spec.steps[0].behavior, SplitBehavior::MergedWithNext);
  ASSERT_EQ(spec.normalizers.size(), 1u);
  EXPECT_EQ(spec.normalizers[0].kind, NormalizerStep::Kind::Nfc);
}

TEST_F(HuggingFaceTokenizer, RefusesWhatItCannotExpress) {
  json good = file;
  auto with = [&](auto change) {
    file = good;
    change(file);
    return message();
  };
  EXPECT_EQ(with([](json &) {}), "no error");
  EXPECT_THAT(with([](json &f) { f["model"]["type"] = "Unigram"; }), HasSubstr("list \"vocab\""));
  EXPECT_THAT(with([](json &f) { f["model"]["type"] = "WordPiece"; }), HasSubstr("\"WordPiece\""));
  EXPECT_THAT(with([](json &f) { f["normalizer"] = {{"type", "BertNormalizer"}}; }),
              HasSubstr("normalizer \"BertNormalizer\""));
  EXPECT_THAT(with([](json &f) { f["pre_tokenizer"] = {{"type", "UnicodeScripts"}}; }),
              HasSubstr("pre-tokenizer \"UnicodeScripts\""));
  EXPECT_THAT(with([](json &f) { f["pre_tokenizer"] = {{"type", "Metaspace"}}; }),
              HasSubstr("\"replacement\""));
  EXPECT_THAT(with([](json &f) { f["decoder"] = {{"type", "WordPiece"}}; }),
              HasSubstr("decoder \"WordPiece\""));
  EXPECT_THAT(with([](json &f) { f["model"]["end_of_word_suffix"] = "</w>"; }), HasSubstr("</w>"));
  EXPECT_THAT(with([](json &f) { f["model"]["vocab"]["x"] = 5; }), HasSubstr("id 5"));
  EXPECT_THAT(with([](json &f) { f["model"]["vocab"]["he"] = 1 << 30; }), HasSubstr("\"he\""));
  EXPECT_THAT(with([](json &f) { f["model"]["merges"].push_back("q q"); }), HasSubstr("\"qq\""));
  EXPECT_THAT(with([](json &f) { f["model"]["merges"].push_back(7); }), HasSubstr("Merge 3"));
  EXPECT_THAT(with([](json &f) { f["model"]["unk_token"] = "<gone>"; }), HasSubstr("<gone>"));
  EXPECT_THAT(with([](json &f) {
                json &node = f["normalizer"];
                for (int i = 0; i < 100; ++i)
                  node = {{"type", "Sequence"}, {"normalizers", json::array({node})}};
              }),
              HasSubstr("nested too deeply"));
  // Numbers that are no whole numbers, or do not fit.
  for (const json &number : {json(1e308), json(1.0), json(-1), json(int64_t(1) << 40),
                             json(UINT64_MAX), json("1"), json(nullptr)}) {
    EXPECT_THAT(with([&](json &f) {
                  f["post_processor"] = {{"type", "BertProcessing"},
                                         {"cls", json::array({"<s>", number})},
                                         {"sep", json::array({"</s>", 260})}};
                }),
                HasSubstr("(cls) is"));
    EXPECT_THAT(with([&](json &f) {
                  f["post_processor"] = {
                      {"type", "TemplateProcessing"},
                      {"single", json::array({{{"SpecialToken", {{"id", "<s>"}}}}})},
                      {"special_tokens", {{"<s>", {{"ids", json::array({number})}}}}}};
                }),
                HasSubstr("(special_tokens ids) is"));
    EXPECT_THAT(with([&](json &f) {
                  f["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", number}, {"stop", 0}};
                }),
                HasSubstr("(start) is"));
  }
  EXPECT_THAT(with([](json &f) { f.erase("model"); }), HasSubstr("no object \"model\""));
  std::filesystem::remove(dir / "tokenizer.json");
  EXPECT_THROW(specFromHuggingFace(dir), llmc::InputError);
}

} // namespace
