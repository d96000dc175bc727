//===- StopStringsTest.cpp ------------------------------------------------===//
#include "llmc/Runtime/StopStrings.h"

#include "llmc/Support/Error.h"
#include "gtest/gtest.h"

using namespace llmc::rt;

namespace {

/// All text shown when \p text arrives in pieces of \p size bytes.
std::string feed(StopStrings &stop, std::string_view text, size_t size) {
  std::string shown;
  for (size_t at = 0; at < text.size(); at += size)
    shown += stop.push(text.substr(at, size));
  return shown + stop.flush();
}

TEST(StopStrings, PassesEverythingWithoutStrings) {
  StopStrings stop;
  EXPECT_EQ(stop.push("abc"), "abc");
  EXPECT_EQ(stop.flush(), "");
  EXPECT_FALSE(stop.stopped());
}

TEST(StopStrings, HoldsBackABeginning) {
  StopStrings stop({"</end>"});
  EXPECT_EQ(stop.push("text </"), "text ");
  EXPECT_EQ(stop.push("en"), "");
  EXPECT_EQ(stop.push("x"), "</enx");
  EXPECT_EQ(stop.push("</en"), "");
  EXPECT_EQ(stop.push("d> more"), "");
  EXPECT_TRUE(stop.stopped());
  EXPECT_EQ(stop.push("more"), "");
  EXPECT_EQ(stop.flush(), "");
}

TEST(StopStrings, FlushGivesBackWhatWasHeld) {
  StopStrings stop({"STOP"});
  EXPECT_EQ(stop.push("a STO"), "a ");
  EXPECT_EQ(stop.flush(), "STO");
  EXPECT_FALSE(stop.stopped());
}

TEST(StopStrings, DoesNotDependOnHowTextIsCut) {
  struct Case {
    std::vector<std::string> strings;
    std::string text, shown;
    std::optional<size_t> index;
  } cases[] = {
      {{"abcd", "bc"}, "xabcd", "xa", 1},          // completed first
      {{"bc", "abc"}, "xabcd", "x", 1},            // completed at once: the longest
      {{"aab"}, "aaaab", "aa", 0},                 // fallback within the string
      {{"aab"}, "aaaa", "aaaa", std::nullopt},     //
      {{"\n\n", "User:"}, "one\nUser: two", "one\n", 1},
      {{"é"}, "caf\xC3\xA8 caf\xC3\xA9!", "caf\xC3\xA8 caf", 0}, // shared lead byte
      {{"ababac"}, "abababac", "ab", 0},
  };
  for (const Case &c : cases) {
    for (size_t size = 1; size <= c.text.size(); ++size) {
      StopStrings stop(c.strings);
      EXPECT_EQ(feed(stop, c.text, size), c.shown) << c.text << " in pieces of " << size;
      EXPECT_EQ(stop.matchedIndex(), c.index) << c.text << " in pieces of " << size;
    }
  }
}

TEST(StopStrings, ResetStartsAnew) {
  StopStrings stop({"x"});
  EXPECT_EQ(stop.push("ax"), "a");
  stop.reset();
  EXPECT_FALSE(stop.stopped());
  EXPECT_EQ(stop.push("b"), "b");
}

TEST(StopStrings, RefusesEmptyAndHuge) {
  EXPECT_THROW(StopStrings({"a", ""}), llmc::UsageError);
  EXPECT_THROW(StopStrings({std::string(20000, 'a')}), llmc::UsageError);
}

} // namespace
