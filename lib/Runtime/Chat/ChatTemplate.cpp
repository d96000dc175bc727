//===- ChatTemplate.cpp - renders the chat templates of models ------------===//
#include "llmc/Runtime/ChatTemplate.h"

#include "Ast.h"
#include "Interpreter.h"
#include "Lexer.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {

struct ChatTemplate::Impl {
  std::string source;
  TemplateLimits limits;
  chat::Block block;
};

ChatTemplate::ChatTemplate(std::string_view source, TemplateLimits limits)
    : impl(std::make_unique<Impl>()) {
  constexpr size_t maxSourceBytes = size_t(1) << 20;
  if (source.size() > maxSourceBytes)
    throw InputError("The chat template has " + std::to_string(source.size()) +
                     " bytes; the limit is " + std::to_string(maxSourceBytes) + ".");
  impl->source = chat::normalizedSource(source);
  impl->limits = limits;
  impl->block = chat::parse(impl->source);
}

ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate &&) noexcept = default;
ChatTemplate &ChatTemplate::operator=(ChatTemplate &&) noexcept = default;

std::string ChatTemplate::render(const nlohmann::ordered_json &variables,
                                 std::optional<int64_t> now) const {
  chat::Interpreter interpreter(impl->source, impl->limits, now);
  return interpreter.run(impl->block, variables);
}

std::string ChatTemplate::renderChat(const nlohmann::ordered_json &messages,
                                     const ChatOptions &options) const {
  if (!messages.is_array())
    throw UsageError("The messages of a conversation must be a list.");
  // An absent token is undefined and not an empty string: templates ask.
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  for (auto [name, token] : {std::pair("bos_token", &options.bosToken),
                             std::pair("eos_token", &options.eosToken),
                             std::pair("unk_token", &options.unkToken),
                             std::pair("pad_token", &options.padToken)})
    if (!token->empty())
      variables[name] = *token;
  variables["messages"] = messages;
  variables["tools"] = options.tools;
  variables["documents"] = options.documents;
  variables["add_generation_prompt"] = options.addGenerationPrompt;
  if (!options.extra.is_null() && !options.extra.is_object())
    throw UsageError("The additional variables of a chat template must be a JSON object.");
  for (const auto &[name, value] : options.extra.items())
    variables[name] = value;
  return render(variables, options.now);
}

} // namespace llmc::rt
