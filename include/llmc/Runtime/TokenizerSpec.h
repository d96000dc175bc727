//===- TokenizerSpec.h - what a tokenizer is, as data -----------*- C++ -*-===//
//
// A neutral description of a tokenizer. It is made from a GGUF file or from a
// Hugging Face folder, is stored as JSON beside a compiled model, and is all a
// Tokenizer needs. Nothing in it is trusted before validate() has passed.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_TOKENIZERSPEC_H
#define LLMC_RUNTIME_TOKENIZERSPEC_H

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// The numbers are those of GGUF's `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

enum class TokenizerKind { ByteLevelBpe };

/// A piece of the vocabulary. The text of a Normal token is spelled in the
/// GPT-2 byte alphabet (a space is "Ġ"); that of an added token is plain.
struct TokenEntry {
  std::string text;
  TokenType type = TokenType::Normal;
};

/// Pieces `left` and `right` join into `result`. The rank is the place in the
/// list of merges.
struct BpeMerge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t result = 0;
};

/// A token that is looked for in the text before any other rule applies.
struct AddedToken {
  int32_t id = 0;
  std::string content;
  bool special = false;
  bool lstrip = false;     ///< takes the white space to its left with it
  bool rstrip = false;     ///< takes the white space to its right with it
  bool singleWord = false; ///< not inside of a word
  bool normalized = false; ///< looked for after the normalizer, not before
};

/// What becomes of the matches of a Split. The names are Hugging Face's.
enum class SplitBehavior { Isolated, Removed, Contiguous, MergedWithPrevious, MergedWithNext };

/// One step that cuts text into the pieces which BPE works on. Every published
/// pre-tokenizer of a byte-level model is a sequence of these three.
struct PreTokenizerStep {
  enum class Kind {
    Split,       ///< cut at the matches of a regular expression
    PrefixSpace, ///< a piece that does not begin with a space is given one
    ByteLevel,   ///< spell the bytes of every piece in the GPT-2 alphabet
  };
  Kind kind = Kind::Split;
  std::string pattern; ///< PCRE2 syntax with UTF and UCP
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false; ///< what is between the matches counts as the matches
};

enum class NormalizerKind { None, Nfc };

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::ByteLevelBpe;
  std::vector<TokenEntry> tokens; ///< the index is the id
  std::vector<BpeMerge> merges;
  std::vector<AddedToken> addedTokens;
  std::vector<NormalizerKind> normalizers;
  std::vector<PreTokenizerStep> steps;
  /// A piece that is a token as a whole is taken without looking at merges.
  bool ignoreMerges = false;
  /// What stands for a byte without a piece; without it such a byte is dropped.
  std::optional<int32_t> bpeUnknownId;
  bool fuseUnknown = false;

  std::optional<int32_t> bosId, eosId, unkId, padId, eotId;
  /// Every id that ends a generation (eosId and eotId included).
  std::vector<int32_t> endOfGenerationIds;
  /// What encode() puts around a text when asked for special tokens.
  std::vector<int32_t> prefixIds, suffixIds;

  std::string chatTemplate; ///< Jinja text; empty where the model has none
  std::string source;       ///< for messages: "gguf:smollm", "huggingface:BPE"

  bool addBos() const { return bosId && !prefixIds.empty() && prefixIds.front() == *bosId; }
  bool addEos() const { return eosId && !suffixIds.empty() && suffixIds.back() == *eosId; }

  /// Throws InputError naming the field that is out of order.
  void validate() const;

  /// The text of a `tokenizer.llmc.json`.
  std::string toJson() const;
  /// Reads and validates it. \p name is what messages call the text.
  static TokenizerSpec fromJson(std::string_view text, std::string_view name = "tokenizer");
};

/// The `tokenizer.*` values of a GGUF file, as they stand there.
struct GgufTokenizerFields {
  std::string model;               ///< tokenizer.ggml.model
  std::optional<std::string> pre;  ///< tokenizer.ggml.pre
  std::vector<std::string> tokens; ///< tokenizer.ggml.tokens
  std::vector<int32_t> tokenTypes; ///< tokenizer.ggml.token_type; empty: all normal
  std::vector<std::string> merges; ///< tokenizer.ggml.merges
  std::optional<uint32_t> bosId, eosId, unkId, padId, eotId, eomId;
  std::optional<bool> addBos, addEos, addSpacePrefix;
  std::optional<std::string> chatTemplate; ///< tokenizer.chat_template
};

/// Throws InputError for a kind of tokenizer that is not supported.
TokenizerSpec specFromGguf(const GgufTokenizerFields &fields);

/// Reads tokenizer.json and, where present, tokenizer_config.json,
/// special_tokens_map.json, generation_config.json and chat_template.jinja.
TokenizerSpec specFromHuggingFace(const std::filesystem::path &dir);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_TOKENIZERSPEC_H
