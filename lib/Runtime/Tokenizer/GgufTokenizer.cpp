//===- GgufTokenizer.cpp - a tokenizer from the keys of a GGUF file -------===//
#include "Normalizer.h"
#include "PreTokenizer.h"
#include "SentencePieceModel.h"
#include "SpecBuilder.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <iterator>

namespace llmc::rt {
namespace {

/// What `tokenizer.ggml.model` names and llmc does not run.
struct ForeignModel {
  const char *name;
  const char *what;
};
constexpr ForeignModel foreignModels[] = {
    {"bert", "WordPiece"},
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

constexpr const char *supportedModels =
    "\"gpt2\" (byte-level BPE), \"llama\" (SentencePiece BPE), \"t5\" (SentencePiece unigram) and "
    "\"gemma4\" (BPE with byte fallback)";

[[noreturn]] void refuseModel(const std::string &model) {
  std::string what = "is not known";
  for (const ForeignModel &foreign : foreignModels)
    if (model == foreign.name)
      what = std::string("(") + foreign.what + ") is not supported";
  throw UnsupportedTokenizer("The GGUF file's tokenizer.ggml.model \"" + model + "\" " + what +
                   "; supported are " + supportedModels + ".");
}

/// Reads the fields one after the other; the order matters where one needs another.
class GgufReader {
public:
  explicit GgufReader(const GgufTokenizerFields &fields) : fields(fields) {}

  TokenizerSpec read() {
    if (fields.model == "gpt2")
      readByteLevel();
    else if (fields.model == "llama" || fields.model == "t5")
      readSentencePiece();
    else if (fields.model == "gemma4")
      readCharacterBpe();
    else
      refuseModel(fields.model);
    readSpecialIds();
    spec.chatTemplate = fields.chatTemplate.value_or("");
    spec.validate();
    return std::move(spec);
  }

private:
  void readByteLevel() {
    // A file without the key is older than the key: the rules of that time.
    std::string pre = fields.pre.value_or("default");
    NamedPreTokenizer rules;
    if (!namedPreTokenizer(pre, rules))
      throw UnsupportedTokenizer("The GGUF file's tokenizer.ggml.pre is \"" + pre +
                       "\", which is not supported. If its rules are those of another model, "
                       "write the name of that one into the file. Supported are: " +
                       namedPreTokenizerList() + ".");
    spec.source = "gguf:" + pre;
    spec.steps = rules.steps;
    spec.normalizers = rules.normalizers;
    spec.ignoreMerges = rules.ignoreMerges;
    spec.decoder = {{DecoderStep::Kind::ByteLevel}};
    if (fields.addSpacePrefix.value_or(false))
      spec.steps.insert(spec.steps.begin(), {PreTokenizerStep::Kind::PrefixSpace, ""});
    addBosByDefault = rules.addBosByDefault;
    readTokens();
    addUserDefined();
    readMerges();
  }

  /// A space is "▁"; what has no piece is spelled by bytes.
  void readCharacterBpe() {
    spec.source = "gguf:" + fields.model;
    spec.byteFallback = spec.fuseUnknown = true;
    NormalizerStep spaces{NormalizerStep::Kind::Replace, " "};
    spaces.content = "\u2581";
    spec.normalizers = {spaces};
    DecoderStep back{DecoderStep::Kind::Replace, "\u2581"};
    back.content = " ";
    spec.decoder = {back, {DecoderStep::Kind::ByteFallback}, {DecoderStep::Kind::Fuse}};
    addBosByDefault = true;
    readTokens();
    addUserDefined();
    readMerges();
    spec.modelUnknownId = toId("unknown", fields.unkId);
  }

  void readSentencePiece() {
    bool unigram = fields.model == "t5";
    spec.kind = unigram ? TokenizerKind::SentencePieceUnigram : TokenizerKind::SentencePieceBpe;
    spec.source = "gguf:" + fields.model;
    if (fields.tokenTypes.empty())
      throw InputError("The GGUF file has no tokenizer.ggml.token_type, without which the byte and "
                       "control pieces of a \"" +
                       fields.model + "\" tokenizer are not known. Convert the model again.");
    readTokens();
    // Converters write the spaces of user-defined pieces as such; the model's text has none.
    for (TokenEntry &token : spec.tokens)
      if (token.type == TokenType::UserDefined)
        token.text = replaceAll(token.text, " ", "\u2581");
    if (fields.scores.size() != fields.tokens.size())
      throw InputError("The GGUF file has " + std::to_string(fields.tokens.size()) +
                       " tokens in tokenizer.ggml.tokens and " +
                       std::to_string(fields.scores.size()) +
                       " scores in tokenizer.ggml.scores. Convert the model again.");
    spec.scores = fields.scores;
    spec.charsmap = fields.charsmap;
    NormalizerStep normalizer;
    normalizer.kind = NormalizerStep::Kind::SentencePiece;
    normalizer.addDummyPrefix = fields.addSpacePrefix.value_or(true);
    normalizer.removeExtraWhitespaces = fields.removeExtraWhitespaces.value_or(false);
    spec.unkId = spec.modelUnknownId = toId("unknown", fields.unkId);
    completeSentencePiece(spec, normalizer, " \u2047 ");
    addBosByDefault = !unigram;
    addEosByDefault = unigram;
    // What the format takes for granted where a file has no such key.
    if (!fields.bosId && !unigram && spec.tokens.size() > 1)
      spec.bosId = 1;
    if (!fields.eosId && spec.tokens.size() > 2)
      spec.eosId = unigram ? 1 : 2;
  }

  void readTokens() {
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
        throw InputError("The GGUF file's tokenizer.ggml.token_type of token " +
                         std::to_string(id) + " is " + std::to_string(type) +
                         "; known are 1 to 6.");
      spec.tokens.push_back({fields.tokens[id], TokenType(type)});
    }
  }

  void addUserDefined() {
    for (size_t id = 0; id < spec.tokens.size(); ++id) {
      TokenType type = spec.tokens[id].type;
      bool special = type == TokenType::Control || type == TokenType::Unknown;
      if (special || type == TokenType::UserDefined)
        spec.addedTokens.push_back({static_cast<int32_t>(id), fields.tokens[id], special});
    }
  }

  void readMerges() {
    PieceIndex pieces(spec);
    spec.merges.reserve(fields.merges.size());
    for (size_t rank = 0; rank < fields.merges.size(); ++rank) {
      auto [left, right] = splitMerge(rank, fields.merges[rank]);
      spec.merges.push_back(pieces.resolve(rank, left, right));
    }
  }

  std::optional<int32_t> toId(const char *key, const std::optional<uint32_t> &id) const {
    // Writers without such a token leave all ones.
    if (!id || *id == ~uint32_t(0))
      return std::nullopt;
    if (*id >= spec.tokens.size())
      throw InputError(std::string("The GGUF file's tokenizer.ggml.") + key + "_token_id is " +
                       std::to_string(*id) + ", outside of its vocabulary of " +
                       std::to_string(spec.tokens.size()) + " tokens.");
    return static_cast<int32_t>(*id);
  }

  void readSpecialIds() {
    if (fields.bosId)
      spec.bosId = toId("bos", fields.bosId);
    if (fields.eosId)
      spec.eosId = toId("eos", fields.eosId);
    if (auto id = toId("unknown", fields.unkId))
      spec.unkId = id;
    spec.padId = toId("padding", fields.padId);
    spec.eotId = toId("eot", fields.eotId);
    for (const auto &id : {spec.eosId, spec.eotId, toId("eom", fields.eomId)})
      if (id)
        addEndOfGeneration(spec, *id);
    for (const AddedToken &token : spec.addedTokens)
      if (token.special && std::find(std::begin(endOfTurnNames), std::end(endOfTurnNames),
                                     token.content) != std::end(endOfTurnNames))
        addEndOfGeneration(spec, token.id);

    if (fields.addBos.value_or(addBosByDefault)) {
      if (spec.bosId)
        spec.prefixIds = {*spec.bosId};
      else if (fields.addBos)
        throw InputError("The GGUF file sets tokenizer.ggml.add_bos_token but has no "
                         "tokenizer.ggml.bos_token_id.");
    }
    if (fields.addEos.value_or(addEosByDefault)) {
      if (spec.eosId)
        spec.suffixIds = {*spec.eosId};
      else if (fields.addEos)
        throw InputError("The GGUF file sets tokenizer.ggml.add_eos_token but has no "
                         "tokenizer.ggml.eos_token_id.");
    }
  }

  const GgufTokenizerFields &fields;
  TokenizerSpec spec;
  bool addBosByDefault = false, addEosByDefault = false;
};

} // namespace

TokenizerSpec specFromGguf(const GgufTokenizerFields &fields) { return GgufReader(fields).read(); }

} // namespace llmc::rt
