//===- Unicode.h - UTF-8 for tokenizers and templates -----------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace llmc::rt {

struct Utf8Step {
  /// Bytes of the character, or of the broken sequence, at the front. A broken
  /// one is as long as the longest prefix of some well-formed character (the
  /// "maximal subpart" of the Unicode standard), at least one byte.
  uint32_t length = 0;
  bool valid = false;
  /// Broken only because the text ends here.
  bool truncated = false;
  char32_t codePoint = 0xFFFD;
};

/// Reads the character at the front of a text that is not empty.
Utf8Step nextUtf8(std::string_view text);

void appendUtf8(std::string &out, char32_t codePoint);

/// The length of the longest prefix that is well-formed.
size_t validUtf8Prefix(std::string_view text);

/// Appends \p text with every maximal broken subpart replaced by U+FFFD. With
/// \p keepTail a sequence that is broken only by the end of the text is left
/// out, and its length returned.
size_t appendReplacingInvalid(std::string &out, std::string_view text, bool keepTail);

/// Normalization form C of well-formed text.
std::string toNfc(std::string_view text);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H
