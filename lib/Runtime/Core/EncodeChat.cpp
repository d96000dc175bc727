//===- EncodeChat.cpp - a conversation as token ids -----------------------===//

#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/ChatTemplate.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {

std::vector<int32_t> encodeChat(const Artifact &artifact, const nlohmann::ordered_json &messages,
                                bool addGenerationPrompt, const nlohmann::ordered_json &tools) {
  const Tokenizer &tokenizer = artifact.tokenizer();
  const TokenizerSpec &spec = tokenizer.spec();
  if (spec.chatTemplate.empty())
    throw InputError(artifact.manifestPath() +
                     ": the model has no chat template; give it the text as it is to go on with");
  ChatOptions options;
  options.addGenerationPrompt = addGenerationPrompt;
  options.tools = tools;
  auto text = [&](const std::optional<int32_t> &id) {
    return id ? std::string(tokenizer.tokenText(*id)) : std::string();
  };
  options.bosToken = text(spec.bosId);
  options.eosToken = text(spec.eosId);
  options.unkToken = text(spec.unkId);
  options.padToken = text(spec.padId);
  // The template writes all special tokens itself.
  return tokenizer.encode(ChatTemplate(spec.chatTemplate).renderChat(messages, options),
                          {.addSpecial = false, .parseSpecial = true});
}

} // namespace llmc::rt
