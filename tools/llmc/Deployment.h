//===- Deployment.h - what commands on artifacts share ----------*- C++ -*-===//

#ifndef LLMC_TOOLS_LLMC_DEPLOYMENT_H
#define LLMC_TOOLS_LLMC_DEPLOYMENT_H

#include "Validators.h"
#include "llmc/Runtime/Runtime.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

namespace llmc {

/// Flags of every command that runs an artifact.
struct DeploymentFlags {
  std::string artifact;
  int threads = 0;
  int64_t context = 0;
  bool pin = false;
  std::string variant, weights = "mapped";
  std::vector<std::string> plugins;

  void add(CLI::App &command, bool withContext = true);
  std::shared_ptr<const rt::Artifact> open(bool verifyHashes = false) const;
  /// For \p sequences that each may fill \p context tokens; 0: --context, or
  /// all that the artifact allows.
  rt::SessionOptions options(const rt::Artifact &artifact, int64_t sequences,
                             int64_t context = 0) const;
};

/// Flags of how tokens are chosen and when to stop.
struct GenerationFlags {
  rt::GenerateOptions options;

  void add(CLI::App &command, const std::string &defaultTokens);
};

/// While it lives, Ctrl-C cancels the session's step instead of ending the
/// program; a second one ends it.
class InterruptScope {
public:
  explicit InterruptScope(rt::Session &session);
  ~InterruptScope();
  InterruptScope(const InterruptScope &) = delete;
  InterruptScope &operator=(const InterruptScope &) = delete;

private:
  struct sigaction before;
};

nlohmann::json memoryJson(const rt::Session &session);
nlohmann::json timingJson(const rt::GenerateTiming &timing);
/// Planned and allocated bytes of every arena, and the total.
void printMemory(std::ostream &out, const rt::Session &session);
void printTiming(std::ostream &out, const rt::GenerateTiming &timing);

/// The whole content. Throws InputError.
std::string readTextFile(const std::string &path);
/// Text for people is only worth it on a terminal.
bool isTerminal(int descriptor);
int64_t peakResidentBytes();
void printJson(const nlohmann::json &value);
/// Throws InputError where standard output takes no more, as on a full disk.
void checkOutput();
} // namespace llmc

#endif // LLMC_TOOLS_LLMC_DEPLOYMENT_H
