//===- TokenizerFields.h - from a GGUF file to a tokenizer ------*- C++ -*-===//
#ifndef LLMC_FRONTEND_TOKENIZERFIELDS_H
#define LLMC_FRONTEND_TOKENIZERFIELDS_H

#include "llmc/Frontend/Gguf.h"
#include "llmc/Runtime/TokenizerSpec.h"
#include "llmc/Support/Error.h"

namespace llmc::frontend {

/// What the reader of GGUF found, as the runtime's specFromGguf() takes it. Throws InputError
/// for an id that is out of range.
inline rt::GgufTokenizerFields tokenizerFields(const GgufTokenizer &tokenizer) {
  rt::GgufTokenizerFields fields;
  auto id = [](const std::optional<int64_t> &value) -> std::optional<uint32_t> {
    if (!value)
      return std::nullopt;
    if (*value < 0 || *value > UINT32_MAX)
      throw InputError("tokenizer id " + std::to_string(*value) + " is out of range");
    return uint32_t(*value);
  };
  fields.model = tokenizer.model;
  if (!tokenizer.pre.empty())
    fields.pre = tokenizer.pre;
  fields.tokens = tokenizer.tokens;
  fields.scores = tokenizer.scores;
  fields.tokenTypes = tokenizer.tokenTypes;
  fields.merges = tokenizer.merges;
  fields.bosId = id(tokenizer.bosId);
  fields.eosId = id(tokenizer.eosId);
  fields.unkId = id(tokenizer.unknownId);
  fields.padId = id(tokenizer.padId);
  fields.eotId = id(tokenizer.eotId);
  fields.eomId = id(tokenizer.eomId);
  fields.addBos = tokenizer.addBos;
  fields.addEos = tokenizer.addEos;
  fields.addSpacePrefix = tokenizer.addSpacePrefix;
  fields.removeExtraWhitespaces = tokenizer.removeExtraWhitespaces;
  fields.charsmap.assign(reinterpret_cast<const char *>(tokenizer.precompiledCharsmap.data()),
                         tokenizer.precompiledCharsmap.size());
  if (!tokenizer.chatTemplate.empty())
    fields.chatTemplate = tokenizer.chatTemplate;
  return fields;
}

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_TOKENIZERFIELDS_H
