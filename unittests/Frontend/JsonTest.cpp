//===- JsonTest.cpp - the JSON reader -------------------------------------===//
#include "llmc/Frontend/Json.h"
#include "TestFiles.h"

using namespace llmc::frontend;
using testing::HasSubstr;

TEST(Json, KeepsPositionsAndOrder) {
  Json json =
      parseJson("// head\n{\n  \"b\": 1, /* x */\n  \"a\": [true, null, -2.5e1],\n}", "f", true);
  ASSERT_EQ(json.members.size(), 2u);
  EXPECT_EQ(json.members[0].first, "b");
  EXPECT_EQ(json.find("a")->line, 4u);
  EXPECT_EQ(json.find("a")->column, 8u);
  EXPECT_EQ(json.find("a")->items[2].number, -25.0);
  EXPECT_EQ(json.dump(), "{\"b\": 1, \"a\": [true, null, -25]}");
}

TEST(Json, KeepsIntegersExact) {
  EXPECT_EQ(parseJson("9223372036854775807", "f").integer, INT64_MAX);
  // Beyond 64 bits it is a number and no integer.
  EXPECT_EQ(parseJson("92233720368547758070", "f").kind, Json::Kind::Double);
}

TEST(Json, ReadsWhatPythonWrites) {
  EXPECT_EQ(parseJson("[Infinity, -Infinity, NaN]", "f").dump(), "[Infinity, -Infinity, NaN]");
}

TEST(Json, ReadsEscapes) {
  EXPECT_EQ(parseJson(R"("\u00e9\n\ud83d\ude00")", "f").text, "é\n😀");
  EXPECT_INPUT_ERROR(parseJson(R"("\ud83d")", "f"), HasSubstr("surrogate"));
}

TEST(Json, RefusesWithPosition) {
  EXPECT_INPUT_ERROR(parseJson("{\"a\": 1,\n \"a\": 2}", "c.json"), HasSubstr("c.json:2:"),
                     HasSubstr("\"a\" stands twice"));
  EXPECT_INPUT_ERROR(parseJson("{\"a\": }", "c.json"), HasSubstr("c.json:1:7"));
  EXPECT_INPUT_ERROR(parseJson("// no comments in a config\n1", "c.json"), HasSubstr("1:1"));
  EXPECT_INPUT_ERROR(parseJson("[1, 2", "c.json"), HasSubstr("text ends"));
  EXPECT_INPUT_ERROR(parseJson("01", "c.json"), HasSubstr("start with 0"));
  EXPECT_INPUT_ERROR(parseJson("1 2", "c.json"), HasSubstr("after the end"));
  EXPECT_INPUT_ERROR(parseJson(std::string(100000, '['), "c.json"), HasSubstr("deep"));
  EXPECT_INPUT_ERROR(parseJson("\"a", "c.json"), HasSubstr("not closed"));
}

TEST(Json, ComparesNumbersByValueAndObjectsWithoutOrder) {
  EXPECT_EQ(parseJson("{\"a\": 1, \"b\": 2}", "f"), parseJson("{\"b\": 2.0, \"a\": 1}", "f"));
  EXPECT_FALSE(parseJson("null", "f") == parseJson("false", "f"));
}
