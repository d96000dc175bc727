//===- RealVocabularyTest.cpp - published vocabularies --------------------===//
//
// The models that scripts/test.sh fetches. Their ids are those of the published libraries, given
// the same tables (utils/make_tokenizer_references.py --gguf).
//
//===----------------------------------------------------------------------===//
#include "ReferenceData.h"
#include "llmc/Frontend/TokenizerFields.h"
#include "llmc/Runtime/Tokenizer.h"
#include "gtest/gtest.h"

#include <chrono>

using namespace llmc::rt;
using namespace llmc::rt::test;
namespace fs = std::filesystem;

namespace {

class RealVocabulary : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    for (nlohmann::json &found :
         nlohmann::json::parse(readTestFile(fs::path(LLMC_TOKENIZER_TEST_DATA) / "cases.json")))
      if (found.at("name") == GetParam())
        test = found;
    ASSERT_FALSE(test.is_null()) << GetParam();
    fs::path model = fs::path(LLMC_TEST_MODELS) / test.at("gguf").get<std::string>();
    if (!fs::exists(model))
      GTEST_SKIP() << model << " is not there; scripts/test.sh fetches it";
    spec = specFromGguf(llmc::frontend::tokenizerFields(
        llmc::frontend::openGguf(model.string()).tokenizer));
  }
  nlohmann::json test;
  TokenizerSpec spec;
};

TEST_P(RealVocabulary, SameIdsAndTexts) {
  Comparison comparison(LLMC_TOKENIZER_TEST_DATA, test);
  // The library of SentencePiece knows no control tokens in a text; tokenizer.json has them.
  comparison.run(Tokenizer(spec), {.addSpecial = false, .parseSpecial = !spec.sentencePiece()});
  EXPECT_GE(comparison.compared, 2000u);
}

// Far above what it takes, and far below what a quadratic step would.
TEST_P(RealVocabulary, StartsAndEncodesInLinearTime) {
  using Clock = std::chrono::steady_clock;
  std::string bytes = spec.toBytes();
  auto begin = Clock::now();
  Tokenizer tokenizer(TokenizerSpec::fromBytes(bytes));
  auto started = Clock::now();
  for (const char *unit : {"a", " ", "\n", "\u3042", "\xE2", "word and 12 ", "\u2581"}) {
    std::string text;
    while (text.size() < size_t(1) << 20)
      text += unit;
    EXPECT_FALSE(tokenizer.encode(text, {.addSpecial = false}).empty());
  }
  auto encoded = Clock::now();
  RecordProperty("start_ms", int((started - begin) / std::chrono::milliseconds(1)));
  RecordProperty("encode_7_mb_ms", int((encoded - started) / std::chrono::milliseconds(1)));
  std::cout << "start " << (started - begin) / std::chrono::milliseconds(1) << " ms, 7 MiB "
            << (encoded - started) / std::chrono::milliseconds(1) << " ms\n";
  EXPECT_LT(encoded - begin, std::chrono::seconds(120));
}

INSTANTIATE_TEST_SUITE_P(Models, RealVocabulary, testing::Values("smollm2", "gemma3"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
