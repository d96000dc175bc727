//===- AlteredManifestTest.cpp - every byte of a manifest changed ---------===//
//
// As it is, the seal refuses the file. Sealed anew, as by somebody who edits on
// purpose, it is refused, or it runs without leaving its memory; the build with
// sanitizers sees where it does not.
//
//===----------------------------------------------------------------------===//

#include "TinyArtifact.h"
#include "llmc/Support/Error.h"

#include <gtest/gtest.h>

#include <fstream>

namespace fs = std::filesystem;

namespace llmc::rt::test {
namespace {

using Change = void (*)(std::string &, size_t);

const Change changes[] = {
    [](std::string &text, size_t i) { text[i] ^= 1; },
    [](std::string &text, size_t i) { text[i] ^= 0x20; },
    [](std::string &text, size_t i) { text[i] = text[i] == '9' ? '0' : char(text[i] + 1); },
    [](std::string &text, size_t i) { text.erase(i, 1); },
    [](std::string &text, size_t i) { text.insert(i, 1, text[i]); },
};

std::vector<float> logitsOf(const fs::path &folder, const ReadOptions &read) {
  SessionOptions options;
  options.threads = 1;
  Session session(Artifact::open(folder, read), options);
  int32_t sequence = session.addSequence();
  std::vector<int32_t> tokens = tinyTokens(6);
  StepInput input{sequence, tokens, Logits::All, 0};
  StepOutput output = session.step({&input, 1});
  std::vector<float> logits;
  for (int64_t row = 0; row < output.rows; ++row)
    logits.insert(logits.end(), output.row(row).begin(), output.row(row).end());
  return logits;
}

class AlteredManifest : public testing::TestWithParam<size_t> {};

TEST_P(AlteredManifest, IsRefusedOrStaysInItsMemory) {
  TemporaryFolder folder;
  writeTiny(folder.path());
  fs::path path = folder.path() / "manifest.json";
  std::string text = sealManifest(nlohmann::json::parse(std::ifstream(path)).dump());
  writeFile(path, text);
  EXPECT_EQ(logitsOf(folder.path(), {}).size(), size_t(6 * vocab));
  size_t accepted = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string altered = text;
    changes[GetParam()](altered, i);
    if (altered == text)
      continue;
    EXPECT_THROW(checkSeal(altered), InputError) << i;
    try {
      parseManifest(altered);
    } catch (const InputError &) {
      continue;
    }
    ++accepted;
    writeFile(path, altered);
    try {
      logitsOf(folder.path(), {.verifySeal = false});
    } catch (const InputError &) {
    }
  }
  // Names of the producer may change, for example: the test ran what was accepted.
  EXPECT_GT(accepted, 20u);
}

INSTANTIATE_TEST_SUITE_P(Ways, AlteredManifest, testing::Range<size_t>(0, std::size(changes)));

} // namespace
} // namespace llmc::rt::test
