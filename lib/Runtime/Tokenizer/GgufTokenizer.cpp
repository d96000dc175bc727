//===- GgufTokenizer.cpp - a tokenizer from the keys of a GGUF file -------===//
#include "PreTokenizer.h"
#include "SpecBuilder.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <array>

namespace llmc::rt {
namespace {

/// What `tokenizer.ggml.model` names, apart from byte-level BPE.
struct ForeignModel {
  const char *name;
  const char *what;
};
constexpr ForeignModel foreignModels[] = {
    {"llama", "SentencePiece BPE with byte fallback"},
    {"gemma4", "SentencePiece-style BPE with byte fallback"},
    {"bert", "WordPiece"},
    {"t5", "SentencePiece unigram"},
    {"rwkv", "the RWKV trie"},
    {"plamo2", "the PLaMo 2 trie"},
    {"replit", "SentencePiece unigram"},
    {"none", "no tokenizer"},
};

/// Control tokens that end a turn, whatever the file's eos is: many files
/// name only one of the several a model was trained to stop with.
constexpr const char *endOfTurnNames[] = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>",   "<|end|>",           "<end_of_turn>",
    "<|endoftext|>", "<|end_of_text|>", "<EOT>", "_<EOT>", "<|return|>", "<|call|>",
    "<|end_of_turn|>", "<｜end▁of▁sentence｜>", "<|END_OF_TURN_TOKEN|>", "</s>", "[EOT]",
};

void refuseForeignModel(const std::string &model) {
  if (model == "gpt2")
    return;
  for (const ForeignModel &foreign : foreignModels)
    if (model == foreign.name)
      throw InputError("The GGUF file's tokenizer.ggml.model is \"" + model + "\" (" +
                       foreign.what + "), which is not supported; byte-level BPE (\"gpt2\") is.");
  throw InputError("The GGUF file's tokenizer.ggml.model is \"" + model +
                   "\", which is not known; byte-level BPE (\"gpt2\") is supported.");
}

} // namespace

TokenizerSpec specFromGguf(const GgufTokenizerFields &fields) {
  refuseForeignModel(fields.model);
  TokenizerSpec spec;
  // A file without the key is older than the key: the rules of that time.
  std::string pre = fields.pre.value_or("default");
  NamedPreTokenizer rules;
  if (!namedPreTokenizer(pre, rules))
    throw InputError("The GGUF file's tokenizer.ggml.pre is \"" + pre +
                     "\", which is not supported. Supported are: " + namedPreTokenizerList() + ".");
  spec.source = "gguf:" + pre;
  spec.steps = rules.steps;
  spec.normalizers = rules.normalizers;
  spec.ignoreMerges = rules.ignoreMerges;
  if (fields.addSpacePrefix.value_or(false))
    spec.steps.insert(spec.steps.begin(), {PreTokenizerStep::Kind::PrefixSpace, ""});

  if (!fields.tokenTypes.empty() && fields.tokenTypes.size() != fields.tokens.size())
    throw InputError("The GGUF file has " + std::to_string(fields.tokens.size()) +
                     " tokens in tokenizer.ggml.tokens and " +
                     std::to_string(fields.tokenTypes.size()) +
                     " types in tokenizer.ggml.token_type.");
  spec.tokens.reserve(fields.tokens.size());
  for (size_t id = 0; id < fields.tokens.size(); ++id) {
    int32_t type = fields.tokenTypes.empty() ? 1 : fields.tokenTypes[id];
    // 0 is "undefined"; writers that leave it mean a normal token.
    if (type == 0)
      type = 1;
    if (type < 1 || type > 6)
      throw InputError("The GGUF file's tokenizer.ggml.token_type of token " + std::to_string(id) +
                       " is " + std::to_string(type) + "; known are 1 to 6.");
    spec.tokens.push_back({fields.tokens[id], TokenType(type)});
    TokenType kind = spec.tokens.back().type;
    bool special = kind == TokenType::Control || kind == TokenType::Unknown;
    if (special || kind == TokenType::UserDefined)
      spec.addedTokens.push_back({static_cast<int32_t>(id), fields.tokens[id], special});
  }

  PieceIndex pieces(spec);
  spec.merges.reserve(fields.merges.size());
  for (size_t rank = 0; rank < fields.merges.size(); ++rank) {
    auto [left, right] = splitMerge(rank, fields.merges[rank]);
    spec.merges.push_back(pieces.resolve(rank, left, right));
  }

  auto toId = [&](const char *key, const std::optional<uint32_t> &id) -> std::optional<int32_t> {
    if (!id)
      return std::nullopt;
    // Writers without such a token leave all ones.
    if (*id == ~uint32_t(0))
      return std::nullopt;
    if (*id >= spec.tokens.size())
      throw InputError(std::string("The GGUF file's tokenizer.ggml.") + key + "_token_id is " +
                       std::to_string(*id) + ", outside of its vocabulary of " +
                       std::to_string(spec.tokens.size()) + " tokens.");
    return static_cast<int32_t>(*id);
  };
  spec.bosId = toId("bos", fields.bosId);
  spec.eosId = toId("eos", fields.eosId);
  spec.unkId = toId("unknown", fields.unkId);
  spec.padId = toId("padding", fields.padId);
  spec.eotId = toId("eot", fields.eotId);
  for (const auto &id : {spec.eosId, spec.eotId, toId("eom", fields.eomId)})
    if (id)
      addEndOfGeneration(spec, *id);
  for (const AddedToken &token : spec.addedTokens)
    if (token.special && std::find(std::begin(endOfTurnNames), std::end(endOfTurnNames),
                                   token.content) != std::end(endOfTurnNames))
      addEndOfGeneration(spec, token.id);

  if (fields.addBos.value_or(rules.addBosByDefault)) {
    if (spec.bosId)
      spec.prefixIds = {*spec.bosId};
    else if (fields.addBos)
      throw InputError("The GGUF file sets tokenizer.ggml.add_bos_token but has no "
                       "tokenizer.ggml.bos_token_id.");
  }
  if (fields.addEos.value_or(false)) {
    if (!spec.eosId)
      throw InputError("The GGUF file sets tokenizer.ggml.add_eos_token but has no "
                       "tokenizer.ggml.eos_token_id.");
    spec.suffixIds = {*spec.eosId};
  }
  spec.chatTemplate = fields.chatTemplate.value_or("");
  spec.validate();
  return spec;
}

} // namespace llmc::rt
