//===- ChatTemplate.h - renders the chat templates of models ----*- C++ -*-===//
//
// Models bring the text around a conversation as a Jinja template. This is an
// interpreter of the part of Jinja that published templates use, with the
// settings of Hugging Face transformers: trim_blocks and lstrip_blocks on, a
// sandbox without changes to values, `break` and `continue`, `{% generation %}`
// as a block without effect, and the functions raise_exception and
// strftime_now. What prints prints as in Jinja2; what Jinja2 refuses is refused.
// Not there: other files (include, import, extends, block), autoescape, the tags
// of extensions, integers beyond 64 bits, the function cycler, and the filters
// filesizeformat, pprint, random, striptags, urlencode, urlize, wordwrap and
// xmlattr; the message names what is missing and its line. A template is not
// trusted: depth, steps and memory are bounded.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_CHATTEMPLATE_H
#define LLMC_RUNTIME_CHATTEMPLATE_H

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

struct TemplateLimits {
  size_t maxOutputBytes = size_t(64) << 20;
  /// Expressions evaluated and statements run.
  size_t maxSteps = 20'000'000;
  /// Bytes of all strings and lists made on the way.
  size_t maxWorkBytes = size_t(1) << 30;
};

struct ChatOptions {
  bool addGenerationPrompt = true;
  std::string bosToken, eosToken, unkToken, padToken;
  nlohmann::ordered_json tools;     ///< null: none
  nlohmann::ordered_json documents; ///< null: none
  /// More variables, as an object: what a model's template asks for.
  nlohmann::ordered_json extra;
  /// Seconds since the epoch for strftime_now; without it, the clock.
  std::optional<int64_t> now;
};

class ChatTemplate {
public:
  /// Throws InputError naming the line for a text that is not a template.
  explicit ChatTemplate(std::string_view source, TemplateLimits limits = {});
  ~ChatTemplate();
  ChatTemplate(ChatTemplate &&) noexcept;
  ChatTemplate &operator=(ChatTemplate &&) noexcept;

  /// Renders a list of {"role": ..., "content": ...} as transformers does.
  /// Throws InputError naming line and expression, or with the message of the
  /// template's own raise_exception.
  std::string renderChat(const nlohmann::ordered_json &messages,
                         const ChatOptions &options = {}) const;

  /// Renders with the members of \p variables alone.
  std::string render(const nlohmann::ordered_json &variables,
                     std::optional<int64_t> now = std::nullopt) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

class Artifact;

struct EncodeChatOptions {
  bool addGenerationPrompt = true;
  nlohmann::ordered_json tools;     ///< null: none
  nlohmann::ordered_json variables; ///< more of them for the template, as an object; null: none
  /// A template instead of the artifact's own.
  std::optional<std::string> chatTemplate;
};

/// The token ids of a conversation, by the artifact's template or that of the
/// options. Throws InputError where the artifact has no tokenizer, or there is
/// no template.
std::vector<int32_t> encodeChat(const Artifact &artifact, const nlohmann::ordered_json &messages,
                                const EncodeChatOptions &options = {});

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CHATTEMPLATE_H
