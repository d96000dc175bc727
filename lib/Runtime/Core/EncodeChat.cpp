//===- EncodeChat.cpp - a conversation as token ids -----------------------===//

#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/ChatTemplate.h"
#include "llmc/Runtime/LeftOut.h"
#include "llmc/Support/Error.h"

namespace llmc::rt {

std::vector<int32_t> encodeChat(const Artifact &artifact, const nlohmann::ordered_json &messages,
                                const EncodeChatOptions &given) {
  const Tokenizer &tokenizer = artifact.tokenizer();
  const TokenizerSpec &spec = tokenizer.spec();
  const std::string &source = given.chatTemplate ? *given.chatTemplate : spec.chatTemplate;
  if (std::string why = artifact.whyLeftOut(leftOutChatTemplate); source.empty() && !why.empty())
    throw InputError(artifact.manifestPath() +
                     ": the compilation left the model's chat template out: " + why +
                     "; give it another template, or the text as it is to go on with");
  if (source.empty())
    throw InputError(artifact.manifestPath() +
                     ": the model has no chat template; give it the text as it is to go on with");
  ChatOptions options;
  options.addGenerationPrompt = given.addGenerationPrompt;
  options.tools = given.tools;
  options.extra = given.variables;
  auto text = [&](const std::optional<int32_t> &id) {
    return id ? std::string(tokenizer.tokenText(*id)) : std::string();
  };
  options.bosToken = text(spec.bosId);
  options.eosToken = text(spec.eosId);
  options.unkToken = text(spec.unkId);
  options.padToken = text(spec.padId);
  // The template writes all special tokens itself.
  return tokenizer.encode(ChatTemplate(source).renderChat(messages, options),
                          {.addSpecial = false, .parseSpecial = true});
}

} // namespace llmc::rt
