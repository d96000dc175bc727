//===- Requests.h - many prompts in one run of llmc -------------*- C++ -*-===//
#ifndef LLMC_TOOLS_LLMC_REQUESTS_H
#define LLMC_TOOLS_LLMC_REQUESTS_H

#include "Deployment.h"
#include "llmc/Runtime/ChatTemplate.h"

namespace llmc {

/// Flags of how a conversation becomes text.
struct TemplateFlags {
  std::string file, argumentsText;
  rt::EncodeChatOptions options;

  void add(CLI::App &command);
  /// Reads what the flags name into `options`. Throws InputError, UsageError.
  void read();
};

/// How a prompt becomes token ids.
struct PromptOptions {
  std::string system;
  /// Without the chat template.
  bool raw = false;
  /// Special tokens written out in a raw prompt are taken as such.
  bool parseSpecial = false;
  rt::EncodeChatOptions chat;
};

/// The ids of a prompt: through the chat template, unless it is raw or the
/// model has none (said once on standard error).
std::vector<int32_t> promptTokens(const rt::Artifact &artifact, const std::string &text,
                                  const PromptOptions &options);

/// A result as JSON: tokens, text, finish and, where asked for, scores.
nlohmann::json resultJson(const rt::Artifact &artifact, const std::vector<int32_t> &prompt,
                          const rt::GenerateResult &result);

struct JsonLines {
  std::string file; ///< "-": standard input
  rt::GenerateOptions defaults;
  PromptOptions prompt;
};

/// One request a line in, one result a line out, as they finish. A line that is
/// none gets an error with its number. Returns the number of those.
int64_t runJsonLines(const JsonLines &arguments, rt::Session &session);

} // namespace llmc

#endif // LLMC_TOOLS_LLMC_REQUESTS_H
