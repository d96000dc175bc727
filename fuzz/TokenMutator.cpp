//===- TokenMutator.cpp - changes of a program's text ---------------------===//
#include "Support.h"

#include <cctype>
#include <random>

namespace llmc::fuzz {

namespace {

/// Words, numbers and single signs, each with the space before it, so that joined they are the
/// text again.
std::vector<std::string> tokensOf(std::string_view text) {
  std::vector<std::string> tokens;
  auto isWord = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  };
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && std::isspace(static_cast<unsigned char>(text[end])))
      ++end;
    if (end < text.size() && isWord(text[end]))
      while (end < text.size() && isWord(text[end]))
        ++end;
    else if (end < text.size())
      ++end;
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

std::vector<std::string> linesOf(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

bool isNumber(const std::string &token) {
  size_t digit = token.find_first_not_of(" \n");
  return digit != std::string::npos && std::isdigit(static_cast<unsigned char>(token[digit]));
}

} // namespace

size_t mutateTokens(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::mt19937 random(seed);
  auto pick = [&](size_t count) { return size_t(random() % count); };
  std::vector<std::string> pieces =
      pick(3) ? tokensOf(textOf(data, size)) : linesOf(textOf(data, size));
  if (pieces.size() < 2 || pick(8) == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  static const char *const numbers[] = {
      "0", "1", "-1", "2", "64", "1048577", "4294967296", "9223372036854775807",
      "-9223372036854775808", "18446744073709551616", "1.0e+308", "0x7F800000", "1.0e-320", "?"};
  for (size_t changes = 1 + pick(3); changes && pieces.size() > 1; --changes) {
    size_t at = pick(pieces.size()), other = pick(pieces.size());
    switch (pick(5)) {
    case 0:
      pieces.erase(pieces.begin() + long(at));
      break;
    case 1:
      pieces.insert(pieces.begin() + long(at), std::string(pieces[other]));
      break;
    case 2:
      std::swap(pieces[at], pieces[other]);
      break;
    case 3: // a number, where one can be found soon
      for (size_t tries = 0; tries < 16 && !isNumber(pieces[at]); ++tries)
        at = pick(pieces.size());
      if (isNumber(pieces[at]))
        pieces[at] = std::string(" ") + numbers[pick(std::size(numbers))];
      break;
    default:
      pieces[at] = pieces[other];
    }
  }
  std::string text;
  for (const std::string &piece : pieces)
    text += piece;
  return giveBack(text, data, maxSize);
}

} // namespace llmc::fuzz
