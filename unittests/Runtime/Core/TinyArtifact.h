//===- TinyArtifact.h - a hand-written artifact for tests -------*- C++ -*-===//

#ifndef LLMC_UNITTESTS_RUNTIME_TINYARTIFACT_H
#define LLMC_UNITTESTS_RUNTIME_TINYARTIFACT_H

#include "llmc/Runtime/Session.h"

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

namespace llmc::rt::test {

inline constexpr int64_t vocab = 16, hidden = 8, layers = 3, block = 4;

/// A folder that is removed at the end.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::filesystem::path &path() const { return folder; }

private:
  std::filesystem::path folder;
};

/// The manifest of the tiny model on \p ranks ranks.
nlohmann::json tinyManifest(int ranks = 1);

/// Gives the model a state of sequences beside the paged one: in each layer x becomes
/// h = h / 2 + x first.
void makeRecurrent(nlohmann::json &manifest);

/// Gives layers 0 and 2 a window of this many positions, for steps of at most 5 tokens: their state
/// is rings of 4 blocks.
inline constexpr int64_t tinyWindow = 6;
void makeWindowed(nlohmann::json &manifest);

/// Writes the folder's files; \p change may alter the manifest before.
void writeTiny(const std::filesystem::path &folder, int ranks = 1,
               const std::function<void(nlohmann::json &)> &change = {});

/// Opens it in one go.
std::shared_ptr<const Artifact> openTiny(const TemporaryFolder &folder, int ranks = 1);

/// Logits of every position, computed by the test itself.
std::vector<std::vector<float>> tinyReference(const std::vector<int32_t> &tokens, int ranks = 1,
                                              bool recurrent = false, bool windowed = false);

/// Tokens that look random.
std::vector<int32_t> tinyTokens(int64_t count, uint32_t seed = 1);

void writeFile(const std::filesystem::path &path, std::string_view content);

} // namespace llmc::rt::test

#endif // LLMC_UNITTESTS_RUNTIME_TINYARTIFACT_H
