//===- Decoder.h - from tokens to text --------------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_DECODER_H
#define LLMC_LIB_RUNTIME_TOKENIZER_DECODER_H

#include "Regex.h"
#include "llmc/Runtime/TokenizerSpec.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// The decoder steps of a spec, which must outlive it.
class Decoder {
public:
  /// Throws InputError for an order of steps that cannot work on one token after the other.
  explicit Decoder(const TokenizerSpec &spec);

  /// One text in the making. What is emitted is final: whole characters of well-formed UTF-8.
  class Stream {
  public:
    enum class Mode {
      Text,
      Inside, ///< in the middle of a text, as bytes
    };
    explicit Stream(const Decoder &decoder, Mode mode = Mode::Text);

    void append(int32_t id, std::string &out);
    void finish(std::string &out);

  private:
    struct State {
      std::string held;    ///< bytes of a character that is not complete, or what may be cut off
      bool begun = false;  ///< something came before
      int32_t removed = 0; ///< of a Strip
    };
    void token(size_t step, std::string_view text, TokenType type, std::string &out);
    void fragment(size_t step, std::string_view text, std::string &out);
    void finishStep(size_t step, std::string &out);
    void sentencePiece(size_t step, std::string_view text, TokenType type, std::string &out);
    void flushBytes(size_t step, std::string &out);

    const Decoder *decoder;
    Mode mode;
    std::vector<State> states;
    std::vector<std::optional<Regex::Matcher>> matchers;
  };

private:
  const TokenizerSpec &spec;
  std::vector<std::optional<Regex>> regexes; ///< one a step
};

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_DECODER_H
