//===- Requests.h - many prompts in one run of llmc -------------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_REQUESTS_H
#define LLMC_TOOLS_LLMC_REQUESTS_H

#include "Deployment.h"

namespace llmc {

/// The ids of a prompt: through the model's chat template, unless \p raw or the
/// model has none (said once on standard error).
std::vector<int32_t> promptTokens(const rt::Artifact &artifact, const std::string &text,
                                  const std::string &system, bool raw);

/// A result as JSON: tokens, text, finish and, where asked for, scores.
nlohmann::json resultJson(const rt::Artifact &artifact, const std::vector<int32_t> &prompt,
                          const rt::GenerateResult &result);

struct JsonLines {
  std::string file; ///< "-": standard input
  rt::GenerateOptions defaults;
  std::string system;
  bool raw = false;
};

/// One request a line in, one result a line out, as they finish. A line that is
/// none gets an error with its number. Returns the number of those.
int64_t runJsonLines(const JsonLines &arguments, rt::Session &session);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_REQUESTS_H
