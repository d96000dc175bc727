//===- SentencePieceTest.cpp - model files that are not as they should be -===//
#include "Charsmap.h"
#include "ReferenceData.h"
#include "TokenizerFixture.h"
#include "llmc/Runtime/Tokenizer.h"
#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <limits>

using namespace llmc::rt;
using namespace llmc::rt::test;
using testing::HasSubstr;

namespace {

std::string publishedModel(const char *name) {
  return readTestFile(std::filesystem::path(LLMC_TOKENIZER_TEST_DATA) / name);
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7F) | 0x80);
  return out += static_cast<char>(value);
}
std::string field(uint32_t number, const std::string &bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string field(uint32_t number, uint64_t value) { return varint(number << 3) + varint(value); }
std::string piece(const std::string &text, int type, float score = 0) {
  std::string bits(reinterpret_cast<const char *>(&score), 4);
  return field(1, field(1, text) + varint(2 << 3 | 5) + bits + field(3, uint64_t(type)));
}

TEST(SentencePiece, ReadsASmallModel) {
  std::string model = piece("<unk>", 2) + piece("a", 1, -1) + piece("b", 1, -2) +
                      piece("ab", 1, -3) + piece("\u2581", 1, -4) +
                      field(2, field(3, uint64_t(2))) + field(99, "a field of the future");
  Tokenizer tokenizer(specFromSentencePiece(model));
  EXPECT_THAT(tokenizer.encode(" ab  b c"), testing::ElementsAre(4, 3, 4, 2, 4, 0));
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("ab c")), "ab  \u2047 ");
}

TEST(SentencePiece, UnusedPiecesAreTakenApart) {
  std::string model = piece("<unk>", 2) + piece("a", 1, -1) + piece("b", 1, -2) +
                      piece("ab", 5, -3) + piece("abab", 1, -4) +
                      field(2, field(3, uint64_t(2))) + field(3, field(3, uint64_t(0)));
  Tokenizer tokenizer(specFromSentencePiece(model));
  EXPECT_THAT(tokenizer.encode("ababab"), testing::ElementsAre(4, 1, 2));
}

TEST(SentencePiece, RefusesByName) {
  std::string good = piece("<unk>", 2) + piece("a", 1);
  auto with = [&](const std::string &more) {
    return messageOf([&] { specFromSentencePiece(good + more); });
  };
  EXPECT_EQ(with(""), "no error");
  EXPECT_THAT(messageOf([&] { specFromSentencePiece(piece("a", 1)); }), HasSubstr("type unknown"));
  EXPECT_THAT(with(piece("a", 1)), HasSubstr("\"a\" twice"));
  EXPECT_THAT(with(piece("", 1)), HasSubstr("empty piece, number 2"));
  EXPECT_THAT(with(piece("\xFF", 1)), HasSubstr("token 2 is not UTF-8"));
  EXPECT_THAT(with(piece("b", 77)), HasSubstr("unknown type 77"));
  EXPECT_THAT(with(piece("b", 1, std::numeric_limits<float>::infinity())), HasSubstr("finite"));
  EXPECT_THAT(with(piece("<0x41>", 6)), HasSubstr("1 pieces of type byte"));
  EXPECT_THAT(with(field(2, field(3, uint64_t(4)))), HasSubstr("model_type 4 (characters)"));
  EXPECT_THAT(with(field(2, field(35, uint64_t(1)))), HasSubstr("byte_fallback"));
  EXPECT_THAT(with(field(2, field(3, "x"))), HasSubstr("wire type 2 and not 0"));
  EXPECT_THAT(with(field(5, field(2, "map"))), HasSubstr("denormalizer_spec"));
  EXPECT_THAT(with(field(3, field(2, "map"))), HasSubstr("precompiled_charsmap has 3 bytes"));
  EXPECT_THAT(with("\x0A\x7F"), HasSubstr("127 bytes where 0 are left"));
  EXPECT_THAT(with("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"), HasSubstr("does not end"));
  EXPECT_THAT(with("\x0B"), HasSubstr("wire type 3"));
}

/// Whatever the bytes: a tokenizer that works, or an InputError.
void tryModel(const std::string &bytes) {
  try {
    Tokenizer tokenizer(specFromSentencePiece(bytes));
    std::vector<int32_t> ids = tokenizer.encode("a \u00bd\u3000\xFF text, \uFF21 か\u3099");
    EXPECT_TRUE(isUtf8(tokenizer.decode(ids)));
  } catch (const llmc::InputError &) {
  }
}

TEST(SentencePiece, SurvivesDamage) {
  for (const char *name : {"sentencepiece-bpe-nfkc.model", "sentencepiece-unigram-t5.model"}) {
    std::string model = publishedModel(name);
    for (size_t size = 0; size < model.size(); size += 311)
      tryModel(model.substr(0, size));
    // The end of the file has the specs and the charsmap.
    for (size_t i = 1; i < 1600; i += 3) {
      std::string damaged = model;
      damaged[damaged.size() - i] = static_cast<char>(damaged[damaged.size() - i] ^ (i % 255 + 1));
      tryModel(damaged);
    }
  }
}

TEST(Charsmap, ChecksEveryStep) {
  auto u32 = [](uint32_t value) {
    return std::string(reinterpret_cast<const char *>(&value), 4);
  };
  auto blob = [&](const std::string &units, const std::string &texts) {
    return u32(static_cast<uint32_t>(units.size())) + units + texts;
  };
  EXPECT_EQ(Charsmap("").longestPrefix("a").length, 0u);
  for (const std::string &bad :
       {std::string("abc"), u32(400) + std::string(8, '\0'), u32(6) + std::string(12, '\0'),
        blob(u32(0), ""), blob(u32(0), "open"), blob(u32(0), std::string("\xFF\0", 2))})
    EXPECT_THROW(Charsmap{bad}, llmc::InputError);

  // A root whose children are at 1 ^ label; 'a' (0x61) has a leaf.
  std::string units(256 * 4, '\0');
  auto set = [&](size_t index, uint32_t unit) { std::memcpy(units.data() + index * 4, &unit, 4); };
  set(0, 1u << 10);
  set(1 ^ 'a', 2u << 10 | 1u << 8 | 'a');
  set((1 ^ 'a') ^ 2, 1u << 31 | 1);
  std::string map = blob(units, std::string("xyz\0", 4));
  EXPECT_EQ(Charsmap(map).longestPrefix("ab").replacement, "yz");
  EXPECT_EQ(Charsmap(map).longestPrefix("ba").length, 0u);
  set((1 ^ 'a') ^ 2, 1u << 31 | 4); // behind the texts
  map = blob(units, std::string("xyz\0", 4));
  EXPECT_THROW(Charsmap(map).longestPrefix("ab"), llmc::InputError);
  set(1 ^ 'a', 0x1FFFFFu << 10 | 1u << 9 | 1u << 8 | 'a'); // out of the trie
  map = blob(units, std::string("xyz\0", 4));
  EXPECT_THROW(Charsmap(map).longestPrefix("ab"), llmc::InputError);
}

TEST(SentencePiece, GgufNeedsTypesAndWholeBytes) {
  GgufTokenizerFields fields;
  fields.model = "llama";
  fields.tokens = {"<unk>", "<s>", "</s>", "a", "  "};
  fields.scores = {0, 0, 0, -1, 0};
  auto message = [&] { return messageOf([&] { specFromGguf(fields); }); };
  EXPECT_THAT(message(), HasSubstr("tokenizer.ggml.token_type"));
  fields.tokenTypes = {2, 3, 3, 1, 4};
  EXPECT_EQ(message(), "no error");
  // Spaces of a user-defined piece stand for themselves in the file; begin and end by default.
  Tokenizer tokenizer(specFromGguf(fields));
  EXPECT_THAT(tokenizer.encode("a  a"), testing::ElementsAre(1, 0, 3, 4, 3));
  fields.tokenTypes[3] = 6;
  EXPECT_THAT(message(), HasSubstr("type byte"));
  fields.scores.pop_back();
  EXPECT_THAT(message(), HasSubstr("4 scores"));
}

} // namespace
