//===- TokenizerTest.cpp --------------------------------------------------===//
#include "llmc/Runtime/Tokenizer.h"

#include "TokenizerFixture.h"
#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace llmc::rt;
using namespace llmc::rt::test;
using testing::ElementsAre;

namespace {

Tokenizer tokenizerWith(std::vector<std::string> merges, const std::string &pre = "gpt-2") {
  return Tokenizer(specFromGguf(fieldsWith(std::move(merges), pre)));
}

/// The texts of the tokens that a text becomes.
std::vector<std::string> pieces(const Tokenizer &tokenizer, std::string_view text,
                                EncodeOptions options = {}) {
  std::vector<std::string> result;
  for (int32_t id : tokenizer.encode(text, options))
    result.emplace_back(tokenizer.tokenText(id));
  return result;
}

TEST(Tokenizer, MergesByRankThenFromTheLeft) {
  // "abc": b+c has the lower rank although a+b comes first in the text.
  EXPECT_THAT(pieces(tokenizerWith({"b c", "a b", "a bc"}), "abc"), ElementsAre("abc"));
  EXPECT_THAT(pieces(tokenizerWith({"b c", "a b"}), "abc"), ElementsAre("a", "bc"));
  EXPECT_THAT(pieces(tokenizerWith({"a a"}), "aaaaa"), ElementsAre("aa", "aa", "a"));
  EXPECT_THAT(pieces(tokenizerWith({"a a", "aa a"}), "aaaaa"), ElementsAre("aa", "aaa"));
}

// The merges of SmolLM2-135M-Instruct that can apply to the words below, in
// their order; the expected pieces are those the published tokenizer gives.
TEST(Tokenizer, AgreesWithAPublishedVocabulary) {
  Tokenizer tokenizer = tokenizerWith(
      {"h e",    "Ġ o",   "Ġ c",    "i t",      "i s",     "a l",     "a n",     "Ġo f",
       "Ġ n",    "v e",   "Ġ is",   "r a",      "c e",     "Ġ F",     "T he",    "a p",
       "an ce",  "Ġc a",  "T h",    "n ce",     "an c",    "it al",   "Ġc ap",   "o f",
       "a f",    "Ġ i",   "ĠF r",   "Ã ©",      "r an",    "n a",     "Ġcap ital", "t a",
       "c ap",   "ĠFr ance", "ap i", "ĠFr anc", "c a",     "it a",    "r ance",  "p i",
       "n c",    "Ġn a",  "Ġcap ita", "Ġca f",  "ĠF ra",   "F r",     "Ã ¯",     "p it",
       "ĠFr an", "cap ital", "F rance", "Fr anc", "Ġcaf Ã©", "t al",  "Ã¯ ve",   "Ġcap it"},
      "smollm");
  EXPECT_THAT(pieces(tokenizer, "The capital of France is"),
              ElementsAre("The", " capital", " of", " France", " is"));
  EXPECT_THAT(pieces(tokenizer, " naïve café 100"),
              ElementsAre(" na", "ïve", " café", " ", "1", "0", "0"));
}

TEST(Tokenizer, EveryByteSurvives) {
  Tokenizer tokenizer = tokenizerWith({"Ġ t", "h e"});
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), 0);
  for (std::string_view text : {std::string_view(all), std::string_view("\xC3"),
                                std::string_view("a\xF0\x9F\x98" "b\xFF\xC3\xA9")}) {
    std::string back;
    for (int32_t id : tokenizer.encode(text))
      back += tokenizer.tokenText(id);
    EXPECT_EQ(back, text);
  }
}

TEST(Tokenizer, DecodeReplacesBrokenCharacters) {
  Tokenizer tokenizer = tokenizerWith({});
  auto decode = [&](std::string_view text) { return tokenizer.decode(tokenizer.encode(text)); };
  EXPECT_EQ(decode("grün 😀"), "grün 😀");
  EXPECT_EQ(decode("a\xF0\x9F\x98" "b"), "a\uFFFDb"); // one for the maximal subpart
  EXPECT_EQ(decode("\xC0\xAF"), "\uFFFD\uFFFD");      // overlong
  EXPECT_EQ(decode("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD"); // a surrogate
}

TEST(Tokenizer, StreamHoldsBackPartsOfCharacters) {
  Tokenizer tokenizer = tokenizerWith({});
  StreamDecoder stream(tokenizer);
  std::vector<std::string> shown;
  for (int32_t id : tokenizer.encode("é😀"))
    shown.push_back(stream.append(id));
  EXPECT_THAT(shown, ElementsAre("", "é", "", "", "", "😀"));
  EXPECT_EQ(stream.flush(), "");

  EXPECT_EQ(stream.append(tokenizer.encode("\xF0")[0]), "");
  EXPECT_EQ(stream.append(tokenizer.encode("a")[0]), "\uFFFDa");
  EXPECT_EQ(stream.append(tokenizer.encode("\xE2")[0]), "");
  EXPECT_EQ(stream.flush(), "\uFFFD");
  EXPECT_EQ(stream.flush(), "");
}

TEST(Tokenizer, SpecialTokensOnlyWhenAskedFor) {
  Tokenizer tokenizer = tokenizerWith({});
  EXPECT_THAT(pieces(tokenizer, "a<|im_end|>", {.addSpecial = false, .parseSpecial = true}),
              ElementsAre("a", "<|im_end|>"));
  EXPECT_EQ(pieces(tokenizer, "<|im_end|>", {.addSpecial = false, .parseSpecial = false}).size(),
            10u);
  // A user-defined token is part of the text.
  EXPECT_THAT(pieces(tokenizer, "x<tool>y"), ElementsAre("x", "<tool>", "y"));

  auto ids = tokenizer.encode("a<|im_end|>b<tool>", {.addSpecial = false, .parseSpecial = true});
  EXPECT_EQ(tokenizer.decode(ids), "a<|im_end|>b<tool>");
  EXPECT_EQ(tokenizer.decode(ids, /*skipSpecial=*/true), "ab<tool>");
  EXPECT_TRUE(tokenizer.isSpecial(ids[1]));
  EXPECT_TRUE(tokenizer.isEndOfGeneration(ids[1]));
  EXPECT_FALSE(tokenizer.isSpecial(ids[3]));
  EXPECT_FALSE(tokenizer.isEndOfGeneration(ids[0]));
}

TEST(Tokenizer, AddsWhatTheModelExpects) {
  GgufTokenizerFields fields = fieldsWith({});
  fields.addBos = true;
  fields.addEos = true;
  Tokenizer tokenizer(specFromGguf(fields));
  EXPECT_THAT(pieces(tokenizer, "a"), ElementsAre("<s>", "a", "<|im_end|>"));
  EXPECT_THAT(pieces(tokenizer, "a", {.addSpecial = false}), ElementsAre("a"));
  EXPECT_THAT(pieces(tokenizer, ""), ElementsAre("<s>", "<|im_end|>"));
  EXPECT_TRUE(tokenizer.spec().addBos());
  // Llama 3 has it without the key.
  EXPECT_THAT(pieces(tokenizerWith({}, "llama-bpe"), "a"), ElementsAre("<s>", "a"));
}

TEST(Tokenizer, IgnoreMergesTakesWholeWords) {
  // "abc" is a piece that no merge leads to.
  GgufTokenizerFields fields = fieldsWith({"a b", "ab c"}, "llama-bpe");
  fields.merges.pop_back();
  fields.addBos = false;
  EXPECT_THAT(pieces(Tokenizer(specFromGguf(fields)), "abc"), ElementsAre("abc"));
  fields.pre = "gpt-2";
  EXPECT_THAT(pieces(Tokenizer(specFromGguf(fields)), "abc"), ElementsAre("ab", "c"));
}

TEST(Tokenizer, AddedTokensAreLeftmostThenLongestAndStrip) {
  TokenizerSpec spec = specFromGguf(fieldsWith({}));
  spec.addedTokens.clear();
  auto add = [&](const char *content, auto change) {
    AddedToken token;
    token.id = static_cast<int32_t>(spec.tokens.size());
    token.content = content;
    change(token);
    spec.tokens.push_back({content, TokenType::UserDefined});
    spec.addedTokens.push_back(token);
  };
  add("ab", [](AddedToken &) {});
  add("abc", [](AddedToken &) {});
  add("bcd", [](AddedToken &) {});
  add("L", [](AddedToken &t) { t.lstrip = true; });
  add("R", [](AddedToken &t) { t.rstrip = true; });
  add("word", [](AddedToken &t) { t.singleWord = true; });
  Tokenizer tokenizer(spec);
  EXPECT_THAT(pieces(tokenizer, "abcd"), ElementsAre("abc", "d"));
  EXPECT_THAT(pieces(tokenizer, "x \tLy"), ElementsAre("x", "L", "y"));
  EXPECT_THAT(pieces(tokenizer, "xR \u3000y"), ElementsAre("x", "R", "y"));
  EXPECT_THAT(pieces(tokenizer, "-word-"), ElementsAre("-", "word", "-"));
  EXPECT_EQ(pieces(tokenizer, "words").size(), 5u);
  EXPECT_EQ(pieces(tokenizer, "éword").size(), 6u);
}

TEST(Tokenizer, NormalizesWhereTheFamilyDoes) {
  // e and a combining acute accent become one character with Qwen2's rules.
  EXPECT_EQ(tokenizerWith({}, "qwen2").encode("e\u0301"), tokenizerWith({}).encode("\u00e9"));
  EXPECT_EQ(tokenizerWith({}, "gpt-2").encode("e\u0301").size(), 3u);
}

TEST(Tokenizer, BytesWithoutAPieceBecomeUnknownOrNothing) {
  TokenizerSpec spec = specFromGguf(fieldsWith({}));
  spec.tokens['z'] = {"", TokenType::Unused};
  EXPECT_THAT(pieces(Tokenizer(spec), "azzb"), ElementsAre("a", "b"));
  spec.modelUnknownId = spec.padId;
  EXPECT_THAT(pieces(Tokenizer(spec), "azzb"), ElementsAre("a", "<pad>", "<pad>", "b"));
  spec.fuseUnknown = true;
  EXPECT_THAT(pieces(Tokenizer(spec), "azzb"), ElementsAre("a", "<pad>", "b"));
}

TEST(Tokenizer, LongWordsTakeLinearTime) {
  // One word of a megabyte: a quadratic merge would not come back.
  Tokenizer tokenizer = tokenizerWith({"a a", "aa aa", "aaaa aaaa"}, "llama-bpe");
  EXPECT_EQ(tokenizer.encode(std::string(1 << 20, 'a'), {.addSpecial = false}).size(),
            size_t(1) << 17);
  for (const char *unit : {" ", "\n", " \n", "1", "!", "a ", "\u0301"}) {
    std::string text;
    while (text.size() < size_t(1) << 18)
      text += unit;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, {.addSpecial = false})), text);
  }
}

TEST(Tokenizer, RefusesIdsOutsideOfTheVocabulary) {
  Tokenizer tokenizer = tokenizerWith({});
  EXPECT_EQ(tokenizer.vocabSize(), 260);
  std::vector<int32_t> bad{260};
  EXPECT_THROW(tokenizer.decode(bad), llmc::InputError);
  EXPECT_THROW(tokenizer.tokenText(-1), llmc::InputError);
}

} // namespace
