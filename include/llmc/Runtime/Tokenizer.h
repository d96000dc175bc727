//===- Tokenizer.h - text to token ids and back -----------------*- C++ -*-===//
//
// A Tokenizer is immutable after construction: all its members may be called
// from several threads at once.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_TOKENIZER_H
#define LLMC_RUNTIME_TOKENIZER_H

#include "llmc/Runtime/TokenizerSpec.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

struct EncodeOptions {
  /// Add what the model expects around a text (usually one token before it).
  bool addSpecial = true;
  /// Recognise special tokens written out in the text. Off for text that is
  /// not trusted. Added tokens that are not special are always recognised.
  bool parseSpecial = false;
};

class Tokenizer {
public:
  /// Throws InputError when the spec is not valid.
  explicit Tokenizer(TokenizerSpec spec);
  ~Tokenizer();
  Tokenizer(Tokenizer &&) noexcept;
  Tokenizer &operator=(Tokenizer &&) noexcept;

  /// Reads the `tokenizer.bin` of an artifact.
  static Tokenizer fromFile(const std::filesystem::path &path);

  /// Takes any bytes: what is not UTF-8 is encoded byte by byte by byte-level models and as
  /// U+FFFD by the others.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  /// Valid UTF-8: bytes that form no character become U+FFFD. With
  /// \p skipSpecial the special tokens leave no text. What a decoder does to the first
  /// token of a text (SentencePiece drops a space) it does to the first of \p ids.
  std::string decode(std::span<const int32_t> ids, bool skipSpecial = false) const;

  /// The bytes a token stands for in the middle of a text, which need not be whole
  /// characters. Throws InputError for an id outside of the vocabulary.
  std::string tokenText(int32_t id) const;

  bool isSpecial(int32_t id) const;
  bool isEndOfGeneration(int32_t id) const;
  int32_t vocabSize() const;
  const TokenizerSpec &spec() const;

private:
  friend class StreamDecoder;
  struct Checked {}; ///< validate() has passed
  Tokenizer(TokenizerSpec spec, Checked);

  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Turns ids into text one by one and emits only whole characters: the bytes of a character
/// that is not complete wait for the next token. All that is appended and flushed together is
/// what decode() makes of the ids at once.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer &tokenizer, bool skipSpecial = false);
  ~StreamDecoder();
  StreamDecoder(StreamDecoder &&) noexcept;
  StreamDecoder &operator=(StreamDecoder &&) noexcept;

  std::string append(int32_t id);
  /// What is left at the end; an unfinished character becomes U+FFFD. The next token begins a
  /// new text.
  std::string flush();

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_TOKENIZER_H
