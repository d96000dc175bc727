//===- TokenizerSpec.h - what a tokenizer is, as data -----------*- C++ -*-===//
//
// A neutral description of a tokenizer. It is made from a GGUF file or from a
// Hugging Face folder, is stored beside a compiled model, and is all a
// Tokenizer needs. Nothing in it is trusted before validate() has passed.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_TOKENIZERSPEC_H
#define LLMC_RUNTIME_TOKENIZERSPEC_H

#include "llmc/Support/Error.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// The tokenizer is of a kind, or takes a step, that llmc does not run: nothing is wrong with it.
struct UnsupportedTokenizer : InputError {
  using InputError::InputError;
};

/// The numbers are those of GGUF's `tokenizer.ggml.token_type`.
enum class TokenType : uint8_t {
  Normal = 1,
  Unknown = 2,
  Control = 3,
  UserDefined = 4,
  Unused = 5,
  Byte = 6,
};

/// How a piece of text becomes tokens.
enum class TokenizerKind {
  Bpe,                  ///< pairs are joined in the order of the list of merges
  SentencePieceBpe,     ///< pairs are joined in the order of the score of what they make
  Unigram,              ///< the most likely sequence; the arithmetic of Hugging Face (f64)
  SentencePieceUnigram, ///< the same; the arithmetic of SentencePiece (f32)
};

/// A piece of the vocabulary. Where the pre-tokenizer has a ByteLevel step, the text of a
/// Normal token is spelled in the GPT-2 byte alphabet (a space is "Ġ"); otherwise it is as the
/// normalizer leaves it (a space is "▁" in SentencePiece's way). That of an added token is
/// plain.
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
  /// Looked for after the normalizer, not before. `content` is as the normalizer leaves it.
  bool normalized = false;
};

/// What becomes of the matches of a Split. The names are Hugging Face's.
enum class SplitBehavior { Isolated, Removed, Contiguous, MergedWithPrevious, MergedWithNext };

/// Which pieces Metaspace gives a space at their front.
enum class PrependScheme {
  Never,
  First, ///< the one at the very begin of the text
  Always,
};

/// One step that cuts text into the pieces which the model works on. Other published
/// pre-tokenizers are sequences of these.
struct PreTokenizerStep {
  enum class Kind {
    Split,       ///< cut at the matches of a regular expression
    PrefixSpace, ///< a piece that does not begin with a space is given one
    ByteLevel,   ///< spell the bytes of every piece in the GPT-2 alphabet
    Metaspace,   ///< spell a space as another character
  };
  Kind kind = Kind::Split;
  std::string pattern = {}; ///< Oniguruma's syntax (see lib/Runtime/Tokenizer/Regex.h)
  SplitBehavior behavior = SplitBehavior::Isolated;
  bool invert = false; ///< what is between the matches counts as the matches
  // Of Metaspace:
  std::string replacement = {};                      ///< one character, mostly "▁"
  PrependScheme prepend = PrependScheme::Never; ///< not where it begins with one already
  bool cut = false;                             ///< every replacement begins a piece
};

/// One step that changes the text before it is cut.
struct NormalizerStep {
  enum class Kind {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
    Lowercase,
    StripAccents, ///< removes all marks
    Strip,        ///< removes white space at the ends
    Replace,      ///< `pattern` by `content`
    Prepend,      ///< puts `content` before a text that is not empty
    Nmt,          ///< removes control characters, makes spaces of other white space
    ByteLevel,    ///< spells the bytes in the GPT-2 alphabet
    Precompiled,  ///< `charsmap` by grapheme, as Hugging Face does it
    SentencePiece ///< `charsmap` by longest match and SentencePiece's rules for spaces
  };
  Kind kind = Kind::Nfc;
  std::string pattern = {};  ///< Replace: the text itself, or with `regex` an expression
  bool regex = false;
  std::string content = {};
  bool left = true, right = true; ///< Strip
  // SentencePiece, by the names of its NormalizerSpec and TrainerSpec:
  bool addDummyPrefix = false;
  bool removeExtraWhitespaces = false;
  bool escapeWhitespaces = true;
  bool whitespaceAsSuffix = false;
};

/// One step from the texts of tokens to text. Hugging Face's names; SentencePiece is all that
/// the library of this name does.
struct DecoderStep {
  enum class Kind {
    ByteLevel,     ///< from the GPT-2 alphabet to bytes
    Metaspace,     ///< `content` is a space, or with `prepend` nothing in the first token
    ByteFallback,  ///< "<0x41>" is a byte
    Fuse,          ///< later steps see one text and no tokens
    Strip,         ///< up to `start` times `content` at the front, `stop` at the end
    Replace,       ///< `pattern` by `content`
    SpaceBetween,  ///< a space between any two tokens (no decoder at all)
    SentencePiece, ///< bytes, spaces, with `prepend` none at the very begin
  };
  Kind kind = Kind::ByteLevel;
  std::string pattern = {}; ///< Replace: the text itself, or with `regex` an expression
  bool regex = false;
  std::string content = {}; ///< SentencePiece: what stands for the unknown token
  int32_t start = 0, stop = 0;
  bool prepend = false;
  bool all = false; ///< SentencePiece with remove_extra_whitespaces: spaces of all first tokens
};

struct TokenizerSpec {
  TokenizerKind kind = TokenizerKind::Bpe;
  std::vector<TokenEntry> tokens; ///< the index is the id
  std::vector<float> scores;      ///< of SentencePiece's kinds: one a token
  std::vector<double> logProbabilities; ///< of Unigram: one a token
  std::vector<BpeMerge> merges;         ///< of Bpe
  std::vector<AddedToken> addedTokens;
  std::vector<NormalizerStep> normalizers;
  std::string charsmap; ///< SentencePiece's precompiled_charsmap, for all steps that use one
  std::vector<PreTokenizerStep> steps;
  std::vector<DecoderStep> decoder;
  /// Bpe: a piece that is a token as a whole is taken without looking at merges.
  bool ignoreMerges = false;
  /// A character without a piece is spelled by the pieces "<0x00>" to "<0xFF>".
  bool byteFallback = false;
  /// What stands for a character (byte-level: byte) without a piece. Bpe drops it where there
  /// is none; the other kinds need one.
  std::optional<int32_t> modelUnknownId;
  bool fuseUnknown = false; ///< Bpe: one for a run of them. The other kinds always do that.

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

  /// The model works on bytes, spelled in the GPT-2 alphabet.
  bool byteLevel() const;
  /// SentencePiece's own pipeline: user-defined pieces are found by the model.
  bool sentencePiece() const {
    return kind == TokenizerKind::SentencePieceBpe || kind == TokenizerKind::SentencePieceUnigram;
  }

  /// The bytes of an artifact's `tokenizer.bin` (docs/Manifest.md has the format).
  std::string toBytes() const;
  /// Reads and validates them. \p name is what messages call them.
  static TokenizerSpec fromBytes(std::string_view bytes, std::string_view name = "tokenizer");
};

/// The `tokenizer.*` values of a GGUF file, as they stand there.
struct GgufTokenizerFields {
  std::string model;               ///< tokenizer.ggml.model
  std::optional<std::string> pre;  ///< tokenizer.ggml.pre
  std::vector<std::string> tokens; ///< tokenizer.ggml.tokens
  std::vector<float> scores;       ///< tokenizer.ggml.scores
  std::vector<int32_t> tokenTypes; ///< tokenizer.ggml.token_type; empty: all normal
  std::vector<std::string> merges; ///< tokenizer.ggml.merges
  std::optional<uint32_t> bosId, eosId, unkId, padId, eotId, eomId;
  std::optional<bool> addBos, addEos, addSpacePrefix, removeExtraWhitespaces;
  std::string charsmap; ///< tokenizer.ggml.precompiled_charsmap
  std::optional<std::string> chatTemplate; ///< tokenizer.chat_template
};

/// Throws InputError for a kind of tokenizer that is not supported.
TokenizerSpec specFromGguf(const GgufTokenizerFields &fields);

/// True where specFromHuggingFace finds a file to read.
bool hasTokenizerFile(const std::filesystem::path &dir);

/// Reads tokenizer.json or, where there is none, SentencePiece's tokenizer.model, and, where
/// present, tokenizer_config.json, special_tokens_map.json, generation_config.json and
/// chat_template.jinja. Throws InputError naming what is not supported.
TokenizerSpec specFromHuggingFace(const std::filesystem::path &dir);

/// A SentencePiece model file (a serialised ModelProto) alone.
TokenizerSpec specFromSentencePiece(std::string_view bytes);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_TOKENIZERSPEC_H
