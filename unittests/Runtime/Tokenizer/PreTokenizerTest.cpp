//===- PreTokenizerTest.cpp -----------------------------------------------===//
#include "PreTokenizer.h"

#include "llmc/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <sstream>

using namespace llmc::rt;
using testing::ElementsAre;
using Kind = PreTokenizerStep::Kind;

namespace {

std::vector<std::string> cut(const std::vector<PreTokenizerStep> &steps, std::string_view text) {
  PreTokenizer preTokenizer(steps);
  std::vector<std::string> pieces;
  PreTokenizer::Session(preTokenizer).run(text, /*first=*/true, [&](std::string_view piece) {
    pieces.emplace_back(piece);
  });
  return pieces;
}

std::vector<std::string> cutAs(const char *name, std::string_view text) {
  NamedPreTokenizer rules;
  EXPECT_TRUE(namedPreTokenizer(name, rules)) << name;
  return cut(rules.steps, text);
}

std::vector<std::string> split(const char *pattern, SplitBehavior behavior, bool invert,
                               std::string_view text) {
  return cut({{Kind::Split, pattern, behavior, invert}, {Kind::ByteLevel, ""}}, text);
}

TEST(PreTokenizer, Behaviors) {
  std::string_view text = "a--b-";
  EXPECT_THAT(split("-", SplitBehavior::Isolated, false, text),
              ElementsAre("a", "-", "-", "b", "-"));
  EXPECT_THAT(split("-", SplitBehavior::Removed, false, text), ElementsAre("a", "b"));
  EXPECT_THAT(split("-", SplitBehavior::Removed, true, text), ElementsAre("-", "-", "-"));
  EXPECT_THAT(split("-", SplitBehavior::Contiguous, false, text),
              ElementsAre("a", "--", "b", "-"));
  EXPECT_THAT(split("-", SplitBehavior::MergedWithPrevious, false, text),
              ElementsAre("a-", "-", "b-"));
  EXPECT_THAT(split("-", SplitBehavior::MergedWithNext, false, text),
              ElementsAre("a", "-", "-b", "-"));
}

TEST(PreTokenizer, EmptyMatchesCut) {
  EXPECT_THAT(split(R"((?=(\d{3})+(?!\d)))", SplitBehavior::Isolated, false, "1234567"),
              ElementsAre("1", "234", "567"));
  EXPECT_THAT(split("x*", SplitBehavior::Isolated, false, "éx"), ElementsAre("é", "x"));
}

TEST(PreTokenizer, StepsAfterByteLevelSeeTheSpelling) {
  // Byte 0xB2, the second one of "ò", is spelled "²", which is a digit.
  std::vector<PreTokenizerStep> steps{{Kind::ByteLevel, ""}, {Kind::Split, R"(\p{N})"}};
  EXPECT_THAT(cut(steps, "a\u00f2b"), ElementsAre("a\xC3", "\xB2", "b"));
}

TEST(PreTokenizer, PrefixSpace) {
  std::vector<PreTokenizerStep> steps{
      {Kind::PrefixSpace, ""}, {Kind::Split, gpt2Pattern}, {Kind::ByteLevel, ""}};
  EXPECT_THAT(cut(steps, "a b"), ElementsAre(" a", " b"));
  EXPECT_THAT(cut(steps, " a"), ElementsAre(" a"));
}

// What the published rules do with one line that tells them apart.
TEST(PreTokenizer, Families) {
  std::string_view text = "I'LL don't  x12345!!\n\n y";
  EXPECT_THAT(cutAs("gpt-2", text), ElementsAre("I", "'", "LL", " don", "'t", " ", " x", "12345",
                                                "!!", "\n\n", " y"));
  EXPECT_THAT(cutAs("smollm", text),
              ElementsAre("I", "'", "LL", " don", "'t", " ", " x", "1", "2", "3", "4", "5", "!!",
                          "\n\n", " y"));
  EXPECT_THAT(cutAs("llama-bpe", text),
              ElementsAre("I", "'LL", " don", "'t", " ", " x", "123", "45", "!!\n\n", " y"));
  EXPECT_THAT(cutAs("qwen2", text), ElementsAre("I", "'LL", " don", "'t", " ", " x", "1", "2",
                                                "3", "4", "5", "!!\n\n", " y"));
  EXPECT_THAT(cutAs("deepseek-v3", text),
              ElementsAre("I", "'LL", " don", "'t", " ", " x", "123", "45", "!!\n\n", " y"));
  EXPECT_THAT(cutAs("gpt-4o", "HelloWORLDs's camelCase"),
              ElementsAre("Hello", "WORLDs's", " camel", "Case"));
  EXPECT_THAT(cutAs("tekken", "HelloWorld a/b 12"),
              ElementsAre("Hello", "World", " a", "/b", " ", "1", "2"));
  EXPECT_THAT(cutAs("kimi-k2", "中文abc"), ElementsAre("中文", "abc"));
  EXPECT_THAT(cutAs("deepseek-coder", "a b中1\r"), ElementsAre("a", " b", "中", "1", "\r"));
  // The range from : to ~ in its rule for punctuation has the ASCII letters.
  EXPECT_THAT(cutAs("deepseek-llm", "a\u00e9\u0416 中12"),
              ElementsAre("a", "\u00e9\u0416", " ", "中", "12"));
  EXPECT_THAT(cutAs("falcon", "a,b 1234"), ElementsAre("a", ",", "b", " ", "123", "4"));
}

TEST(PreTokenizer, WhiteSpaceIsUnicodes) {
  // Mongolian vowel separator: white space for PCRE2, not for Unicode.
  EXPECT_THAT(split(R"(\s+)", SplitBehavior::Isolated, false, "a\u180e b"),
              ElementsAre("a\u180e", " ", "b"));
}

TEST(PreTokenizer, EveryNamedSequenceCompilesAndLosesNothing) {
  std::string text = "It's  12345 naïve 中文 かな 한글 😀 \t\n x_y(z); A\u0301 \u00a0end \r\n";
  std::istringstream names(namedPreTokenizerList());
  size_t count = 0;
  for (std::string name; names >> name; ++count) {
    std::string joined;
    for (const std::string &piece : cutAs(name.c_str(), text))
      joined += piece;
    EXPECT_EQ(joined, text) << name;
  }
  EXPECT_GT(count, 60u);
  NamedPreTokenizer rules;
  EXPECT_FALSE(namedPreTokenizer("", rules));
  EXPECT_FALSE(namedPreTokenizer("no-such", rules));
}

TEST(PreTokenizer, ReadsOnigurumaClasses) {
  EXPECT_THAT(split("[^(a|[.,])]+", SplitBehavior::Isolated, false, "xa.y"),
              ElementsAre("x", "a.", "y"));
  EXPECT_THAT(split("[a-f&&[^cd]]+", SplitBehavior::Isolated, false, "abcdef"),
              ElementsAre("ab", "cd", "ef"));
  EXPECT_THAT(split("[a[^a-y]]+", SplitBehavior::Removed, true, "abzc1"), ElementsAre("a", "z", "1"));
  EXPECT_THAT(split("[^a-f&&[b-z]&&[^c]]+", SplitBehavior::Removed, true, "abcdg1"),
              ElementsAre("a", "c", "g1"));
  for (const char *bad : {"(", "[a", "\\C", "a{2,1}", "(?x)a b", "[[:nope:]]", "\\Qa", "\\u12"})
    EXPECT_THROW(split(bad, SplitBehavior::Isolated, false, "x"), llmc::InputError) << bad;
}

} // namespace
