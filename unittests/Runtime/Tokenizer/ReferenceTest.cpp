//===- ReferenceTest.cpp - ids and texts of the published libraries -------===//
//
// Replays what utils/make_tokenizer_references.py wrote: thousands of strings through tokenizers
// of every family, without any of the libraries.
//
//===----------------------------------------------------------------------===//
#include "ReferenceData.h"
#include "llmc/Runtime/Tokenizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <fstream>

using namespace llmc::rt;
using namespace llmc::rt::test;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

fs::path dataFolder() {
  const char *other = std::getenv("LLMC_TEST_TOKENIZER_DATA");
  return other ? fs::path(other) : fs::path(LLMC_TOKENIZER_TEST_DATA);
}

/// The published file with what a case changes in it, in a folder of its own.
class TemporaryFolder {
public:
  explicit TemporaryFolder(const std::string &name)
      : dir(fs::path(testing::TempDir()) / ("llmc-tokenizer-reference-" + name)) {
    fs::create_directories(dir);
  }
  ~TemporaryFolder() { fs::remove_all(dir); }
  fs::path dir;
};

json mergedFile(const json &test) {
  json file = json::parse(readTestFile(dataFolder() / test.at("file").get<std::string>()));
  file.update(test.at("overlay"));
  file["model"].update(test.at("overlay_model"));
  return file;
}

TokenizerSpec specOf(const json &test) {
  std::string name = test.at("file");
  TemporaryFolder folder(test.at("name"));
  if (name.ends_with(".model"))
    fs::copy_file(dataFolder() / name, folder.dir / "tokenizer.model");
  else
    std::ofstream(folder.dir / "tokenizer.json") << mergedFile(test).dump();
  return specFromHuggingFace(folder.dir);
}

/// The same tokenizer as a GGUF file has it.
GgufTokenizerFields ggufOf(const json &test) {
  TokenizerSpec spec = specOf(test);
  GgufTokenizerFields fields;
  for (const TokenEntry &token : spec.tokens) {
    fields.tokens.push_back(token.text);
    fields.tokenTypes.push_back(static_cast<int32_t>(token.type));
  }
  fields.scores = spec.scores;
  fields.charsmap = spec.charsmap;
  if (spec.sentencePiece()) {
    fields.model = spec.kind == TokenizerKind::SentencePieceBpe ? "llama" : "t5";
    fields.addSpacePrefix = spec.normalizers[0].addDummyPrefix;
    fields.removeExtraWhitespaces = spec.normalizers[0].removeExtraWhitespaces;
    fields.addBos = fields.addEos = false;
    return fields;
  }
  fields.model = "gpt2";
  fields.pre = test.at("gguf_pre");
  for (const BpeMerge &merge : spec.merges)
    fields.merges.push_back(spec.tokens[merge.left].text + " " + spec.tokens[merge.right].text);
  fields.bosId = *spec.prefixIds.begin();
  fields.addBos = true;
  return fields;
}

std::vector<json> casesWith(const char *key) {
  std::vector<json> found;
  for (json &test : json::parse(readTestFile(dataFolder() / "cases.json")))
    if (test.contains(key))
      found.push_back(test);
  return found;
}

class Reference : public testing::TestWithParam<json> {
protected:
  const json &test() const { return GetParam(); }
  bool isText() const { return test().at("file").get<std::string>().ends_with(".json"); }

  /// GGUF has no flags beside the text of an added token; strings with them are left out.
  void compare(const Tokenizer &tokenizer, bool withAddedTokens) {
    EncodeOptions options{.addSpecial = isText(), .parseSpecial = isText()};
    Comparison comparison(dataFolder(), test());
    comparison.run(tokenizer, options, [&](std::string_view text) {
      if (!withAddedTokens)
        for (const char *flagged : {"<L>", "<R>", "[WORD]", "clair"})
          if (text.find(flagged) != std::string_view::npos)
            return false;
      return true;
    });
    EXPECT_GE(comparison.compared, withAddedTokens ? 2000u : 1900u);
  }
};

TEST_P(Reference, SameIdsAndTexts) { compare(Tokenizer(specOf(test())), true); }

TEST_P(Reference, SurvivesItsFile) {
  compare(Tokenizer(TokenizerSpec::fromBytes(specOf(test()).toBytes())), true);
}

TEST_P(Reference, StreamsWhatItDecodes) {
  Tokenizer tokenizer(specOf(test()));
  for (const TestString &string : readTestStrings(dataFolder())) {
    std::vector<int32_t> ids = tokenizer.encode(string.text);
    StreamDecoder stream(tokenizer, /*skipSpecial=*/true);
    std::string text;
    for (int32_t id : ids) {
      std::string piece = stream.append(id);
      EXPECT_TRUE(isUtf8(piece)) << testing::PrintToString(piece);
      text += piece;
    }
    text += stream.flush();
    ASSERT_EQ(text, tokenizer.decode(ids, /*skipSpecial=*/true));
  }
}

std::string nameOf(const testing::TestParamInfo<json> &info) {
  std::string name = info.param.at("name");
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Reference, testing::ValuesIn(casesWith("file")), nameOf);

class GgufReference : public Reference {};

TEST_P(GgufReference, SameIdsAndTexts) {
  if (test().contains("gguf_pre") ? test().at("gguf_pre") == ""
                                  : specOf(test()).normalizers[0].whitespaceAsSuffix)
    return; // GGUF cannot say this
  compare(Tokenizer(specFromGguf(ggufOf(test()))), !test().contains("gguf_pre"));
}

std::vector<json> ggufCases() {
  std::vector<json> found = casesWith("gguf_pre");
  for (json &test : casesWith("file"))
    if (test.at("file").get<std::string>().ends_with(".model"))
      found.push_back(test);
  return found;
}

INSTANTIATE_TEST_SUITE_P(Files, GgufReference, testing::ValuesIn(ggufCases()), nameOf);

} // namespace
