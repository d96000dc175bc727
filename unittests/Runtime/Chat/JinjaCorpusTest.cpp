//===- JinjaCorpusTest.cpp - Jinja2's answers, replayed -------------------===//
//
// utils/make_chat_template_tests.py made the expected texts with Jinja2.
//
//===----------------------------------------------------------------------===//
#include "llmc/Runtime/ChatTemplate.h"

#include "llmc/Support/Error.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>

using namespace llmc::rt;
using nlohmann::ordered_json;

namespace {

std::string readData(const std::string &name) {
  std::ifstream file(LLMC_CHAT_TEST_DATA "/" + name, std::ios::binary);
  if (!file)
    throw std::runtime_error(name + ": cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class JinjaCorpus : public testing::Test {
protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

TEST_F(JinjaCorpus, Expressions) {
  ordered_json variables = ordered_json::parse(readData("variables.json"));
  ordered_json cases = ordered_json::parse(readData("expressions.json"));
  ASSERT_GT(cases.size(), 500u);
  for (const ordered_json &one : cases) {
    auto source = one["template"].get<std::string>();
    SCOPED_TRACE(source);
    try {
      std::string text = ChatTemplate(source).render(variables, 1735689600);
      if (one.contains("error"))
        ADD_FAILURE() << "Jinja2 has " << one["error"] << ", not: " << text;
      else
        EXPECT_EQ(text, one["text"].get<std::string>());
    } catch (const llmc::InputError &error) {
      if (!one.contains("error"))
        ADD_FAILURE() << error.what();
    }
  }
}

TEST_F(JinjaCorpus, Families) {
  ordered_json data = ordered_json::parse(readData("families.json"));
  ASSERT_GE(data["texts"].size(), 20u);
  for (const auto &[family, texts] : data["texts"].items()) {
    ChatTemplate chat(readData(family + ".jinja"));
    size_t rendered = 0;
    for (const auto &[name, expected] : texts.items()) {
      SCOPED_TRACE(family + ", " + name);
      const ordered_json &variables = data["variables"][name];
      try {
        std::string text = chat.render(variables, data["now"].get<int64_t>());
        if (expected.is_null())
          ADD_FAILURE() << "Jinja2 refuses this";
        else
          EXPECT_EQ(text, expected.get<std::string>());
        ++rendered;
      } catch (const llmc::InputError &error) {
        if (!expected.is_null())
          ADD_FAILURE() << error.what();
      }
    }
    EXPECT_GE(rendered, 5u) << family;
  }
}

} // namespace
