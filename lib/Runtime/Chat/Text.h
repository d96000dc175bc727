//===- Text.h - what Python's strings can do --------------------*- C++ -*-===//
//
// Python counts characters, these strings are UTF-8. A byte that is part of no
// character counts as one.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_RUNTIME_CHAT_TEXT_H
#define LLMC_LIB_RUNTIME_CHAT_TEXT_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt::chat {

std::vector<std::string_view> charactersOf(std::string_view text);
size_t characterCount(std::string_view text);

/// str.strip(): white space, or with \p set the characters in it.
std::string_view strip(std::string_view text, bool left, bool right,
                       const std::string *set = nullptr);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// The first character of each word in title case, the others in lower case.
std::string title(std::string_view text);
/// The first character in title case, the others in lower case.
std::string capitalize(std::string_view text);

/// str.casefold(): for comparison without case.
std::string casefold(std::string_view text);
/// The title filter, which is not str.title(): words begin after white space,
/// a minus sign or an opening bracket.
std::string titleWords(std::string_view text);
/// Words of letters, digits and underscores.
size_t wordCount(std::string_view text);
/// The part between two places in characters, which may be negative or beyond.
std::string_view partOf(std::string_view text, int64_t begin, int64_t end);

/// Whether there are characters and all are of a kind.
bool allSpace(std::string_view text);
bool allDigits(std::string_view text);   ///< str.isdigit()
bool allDecimal(std::string_view text);  ///< str.isdecimal()
bool allNumeric(std::string_view text);  ///< str.isnumeric()
bool allLetters(std::string_view text);
bool allLettersOrDigits(std::string_view text);

/// repr() of a string.
std::string pythonQuoted(std::string_view text);
/// A JSON string. Characters outside of ASCII stay unless \p ascii.
std::string jsonQuoted(std::string_view text, bool ascii);

} // namespace llmc::rt::chat

#endif // LLMC_LIB_RUNTIME_CHAT_TEXT_H
