//===- TokenizerSpecTest.cpp ----------------------------------------------===//
#include "llmc/Runtime/TokenizerSpec.h"

#include "TokenizerFixture.h"
#include "llmc/Runtime/Tokenizer.h"
#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace llmc::rt;
using namespace llmc::rt::test;
using nlohmann::json;
using testing::HasSubstr;

namespace {

TEST(TokenizerSpec, SurvivesItsFile) {
  GgufTokenizerFields fields = fieldsWith({"h e", "Ġ t", "Ġt he"}, "qwen2");
  fields.addBos = true;
  fields.chatTemplate = "{{ 'é' }}";
  TokenizerSpec spec = specFromGguf(fields);
  std::string bytes = spec.toBytes();
  TokenizerSpec back = TokenizerSpec::fromBytes(bytes);
  EXPECT_EQ(back.toBytes(), bytes);
  EXPECT_EQ(back.chatTemplate, "{{ 'é' }}");
  EXPECT_EQ(back.source, "gguf:qwen2");
  std::string sample = "the <|im_end|> they 12 e\u0301";
  EXPECT_EQ(Tokenizer(back).encode(sample, {true, true}),
            Tokenizer(spec).encode(sample, {true, true}));
}

/// A tokenizer's file, taken apart.
struct TokenizerFile {
  static constexpr size_t headerAt = 16;
  json header;
  std::string tables;

  explicit TokenizerFile(const std::string &bytes) {
    uint32_t size;
    std::memcpy(&size, bytes.data() + 12, 4);
    header = json::parse(bytes.substr(headerAt, size));
    tables = bytes.substr(headerAt + size);
  }
  std::string bytes(uint32_t version = 2) const {
    std::string text = header.dump(), out = "llmc-tok";
    for (uint32_t number : {version, static_cast<uint32_t>(text.size())})
      out.append(reinterpret_cast<const char *>(&number), 4);
    return out + text + tables;
  }
};

std::string messageOfFile(const std::string &bytes) {
  return messageOf([&] { TokenizerSpec::fromBytes(bytes, "x.bin"); });
}

TEST(TokenizerSpec, RefusesDamagedHeaders) {
  TokenizerFile good(specFromGguf(fieldsWith({"h e", "he l"})).toBytes());
  auto with = [&](auto change) {
    TokenizerFile file = good;
    change(file.header);
    return messageOfFile(file.bytes());
  };
  EXPECT_EQ(with([](json &) {}), "no error");
  EXPECT_THAT(messageOfFile(good.bytes(/*version=*/1)), HasSubstr("x.bin: "));
  EXPECT_THAT(messageOfFile(good.bytes(/*version=*/1)), HasSubstr("version is 1"));
  EXPECT_THAT(messageOfFile("{}"), HasSubstr("does not begin with"));
  EXPECT_THAT(with([](json &f) { f["truncation"] = 5; }), HasSubstr("\"/truncation\""));
  EXPECT_THAT(with([](json &f) { f["added_tokens"][0]["fuzzy"] = true; }),
              HasSubstr("\"/added_tokens/0/fuzzy\", which is not known"));
  EXPECT_THAT(with([](json &f) { f["kind"] = "word-piece"; }), HasSubstr("sentence-piece-bpe"));
  EXPECT_THAT(with([](json &f) { f["kind"] = "unigram"; }), HasSubstr("log_probabilities has 0"));
  EXPECT_THAT(with([](json &f) { f.erase("bos"); }), HasSubstr("\"bos\" is missing"));
  EXPECT_THAT(with([](json &f) { f["bos"] = 1000; }), HasSubstr("bos is 1000"));
  EXPECT_THAT(with([](json &f) { f["bos"] = -1; }), HasSubstr("bos"));
  EXPECT_THAT(with([](json &f) { f["bos"] = 1e30; }), HasSubstr("bos"));
  EXPECT_THAT(with([](json &f) { f["eos"] = uint64_t(1) << 63; }), HasSubstr("eos"));
  EXPECT_THAT(with([](json &f) { f["prefix"] = {5000}; }), HasSubstr("prefix is 5000"));
  EXPECT_THAT(with([](json &f) { f["added_tokens"][0]["id"] = 9999; }), HasSubstr("added token 0"));
  EXPECT_THAT(with([](json &f) { f["added_tokens"][0].erase("lstrip"); }),
              HasSubstr("added_tokens.lstrip"));
  EXPECT_THAT(with([](json &f) {
                f["pre_tokenizer"].push_back({{"step", "byte-level"}});
              }),
              HasSubstr("2 byte-level steps"));
  EXPECT_THAT(with([](json &f) { f["pre_tokenizer"][0]["pattern"] = "("; }),
              HasSubstr("not a regular expression"));
  EXPECT_THAT(with([](json &f) { f["normalizers"] = {{{"step", "sentence-piece"}}}; }),
              HasSubstr("normalizers.add_dummy_prefix"));
  EXPECT_THAT(with([](json &f) { f["normalizers"] = {{{"step", "guess"}}}; }),
              HasSubstr("strip-accents"));
  EXPECT_THAT(with([](json &f) { f["decoder"][0]["start"] = -1; }), HasSubstr("decoder.start"));
  EXPECT_THAT(with([](json &f) { f["decoder"][0]["step"] = "fuse"; }), HasSubstr("no error"));
  EXPECT_THAT(with([](json &f) { f["decoder"].push_back(f["decoder"][0]); }),
              HasSubstr("step 2"));
  EXPECT_THAT(with([](json &f) { f["chat_template"] = std::string(2 << 20, ' '); }),
              HasSubstr("chat_template"));
}

TEST(TokenizerSpec, RefusesDamagedTables) {
  TokenizerFile good(specFromGguf(fieldsWith({"h e", "he l"})).toBytes());
  auto sized = [&](const char *table, json size) {
    TokenizerFile file = good;
    file.header["tables"][table] = std::move(size);
    return messageOfFile(file.bytes());
  };
  EXPECT_THAT(sized("tokens", 5), HasSubstr("no token has"));
  EXPECT_THAT(sized("tokens", -5), HasSubstr("tables.tokens"));
  EXPECT_THAT(sized("tokens", uint64_t(1) << 60), HasSubstr("tables.tokens"));
  EXPECT_THAT(sized("tokens", 4000000), HasSubstr("bytes are needed"));
  EXPECT_THAT(sized("merges", 3), HasSubstr("bytes are needed"));
  EXPECT_THAT(sized("merges", 1), HasSubstr("bytes after the last table"));
  EXPECT_THAT(sized("charsmap_bytes", 12), HasSubstr("charsmap"));

  auto patched = [&](size_t at, uint32_t value) {
    TokenizerFile file = good;
    std::memcpy(file.tables.data() + at, &value, 4);
    return messageOfFile(file.bytes());
  };
  size_t tokens = good.header["tables"]["tokens"];
  size_t merges = good.tables.size() - 24;
  EXPECT_THAT(patched(0, 1 << 30), HasSubstr("token 0 has"));
  EXPECT_THAT(patched(0, 0), HasSubstr("no token has"));
  EXPECT_THAT(patched(tokens * 4, 9), HasSubstr("token 0 has the unknown type 9"));
  EXPECT_THAT(patched(tokens * 5, 0xFFFFFFFF), HasSubstr("token 0 is not UTF-8"));
  EXPECT_THAT(patched(merges, 99999), HasSubstr("merge 0"));
  EXPECT_THAT(patched(merges + 12, 0xFFFFFFFF), HasSubstr("merge 1"));
  EXPECT_THAT(patched(merges, 'e' - 33), HasSubstr("merge 0 joins"));

  // Every place where the file may end.
  std::string bytes = good.bytes();
  for (size_t size = 0; size < bytes.size(); size += 7)
    EXPECT_THAT(messageOfFile(bytes.substr(0, size)), HasSubstr("x.bin: ")) << size;
  EXPECT_THAT(messageOfFile(bytes + "x"), HasSubstr("1 bytes after the last table"));
}

TEST(GgufTokenizer, RefusesOtherKindsByName) {
  GgufTokenizerFields fields = fieldsWith({});
  auto messageFor = [&](const char *model) {
    fields.model = model;
    return messageOf([&] { specFromGguf(fields); });
  };
  EXPECT_THAT(messageFor("llama"), HasSubstr("tokenizer.ggml.scores"));
  EXPECT_THAT(messageFor("t5"), HasSubstr("tokenizer.ggml.scores"));
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
