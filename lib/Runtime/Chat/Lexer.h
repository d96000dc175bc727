//===- Lexer.h - the tokens of a template -----------------------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_CHAT_LEXER_H
#define LLMC_LIB_RUNTIME_CHAT_LEXER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt::chat {

struct Token {
  enum class Kind {
    Data,          ///< text between tags, white space control applied
    VariableBegin, ///< {{
    VariableEnd,   ///< }}
    BlockBegin,    ///< {%
    BlockEnd,      ///< %}
    Name,
    Integer,
    Float,
    String,
    Operator,
    End,
  };
  Kind kind;
  std::string text; ///< of a String, its value
  size_t begin = 0, end = 0; ///< bytes of the source
  uint32_t line = 1;
};

/// The source as all later steps see it: line ends are "\n", and one at the
/// very end is dropped, as Jinja does.
std::string normalizedSource(std::string_view source);

/// Throws InputError naming the line. \p source is normalized.
std::vector<Token> tokenize(const std::string &source);

/// Throws InputError for something in a template.
[[noreturn]] void failAt(uint32_t line, const std::string &what, std::string_view expression = "");

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_LEXER_H
