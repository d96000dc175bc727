//===- Unicode.h - UTF-8 for tokenizers and templates -----------*- C++ -*-===//
#ifndef LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H
#define LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H

#include <cstdint>
#include <functional>
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

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };

/// A normal form of well-formed text.
std::string normalizeUnicode(std::string_view text, NormalForm form);

/// The lower case of one character, which may be two ("İ").
void appendLowercase(std::string &out, char32_t codePoint);

/// The property White_Space.
bool isWhiteSpace(char32_t codePoint);
/// The general category is one of Mn, Mc, Me.
bool isMark(char32_t codePoint);
/// A word character of Unicode's UTS 18.
bool isWordCharacter(char32_t codePoint);

/// The last character of well-formed text that is not empty.
std::string_view lastCharacter(std::string_view text);

/// Calls \p fn for every extended grapheme cluster of well-formed text.
void forGraphemes(std::string_view text, const std::function<void(std::string_view)> &fn);

} // namespace llmc::rt

#endif // LLMC_LIB_RUNTIME_TOKENIZER_UNICODE_H
