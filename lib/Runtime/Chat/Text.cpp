//===- Text.cpp - what Python's strings can do ----------------------------===//
#include "Text.h"

#include "../Tokenizer/Unicode.h"
#include "Value.h"

#include <algorithm>
#include <unicode/uchar.h>
#include <unicode/ustring.h>

namespace llmc::rt::chat {
namespace {

struct Character {
  std::string_view bytes;
  UChar32 codePoint; ///< negative for a byte that is part of no character
};

Character first(std::string_view text) {
  Utf8Step step = nextUtf8(text);
  if (!step.valid)
    return {text.substr(0, 1), -1};
  return {text.substr(0, step.length), static_cast<UChar32>(step.codePoint)};
}

bool isSpace(UChar32 c) {
  // Python counts the four separators of ASCII, too.
  return c >= 0 && (u_isUWhiteSpace(c) || (c >= 0x1C && c <= 0x1F));
}

template <typename Predicate> bool all(std::string_view text, Predicate predicate) {
  if (text.empty())
    return false;
  while (!text.empty()) {
    Character c = first(text);
    if (c.codePoint < 0 || !predicate(c.codePoint))
      return false;
    text.remove_prefix(c.bytes.size());
  }
  return true;
}

void append(std::string &out, UChar32 c) { appendUtf8(out, static_cast<char32_t>(c)); }

enum class Case { Upper, Lower, Fold };

/// Full case mapping, which may change the number of characters.
std::string mapCase(std::string_view text, Case wanted) {
  auto map = [&](UChar *to, int32_t room, const UChar *from, int32_t length, UErrorCode *status) {
    if (wanted == Case::Fold)
      return u_strFoldCase(to, room, from, length, U_FOLD_CASE_DEFAULT, status);
    auto change = wanted == Case::Upper ? u_strToUpper : u_strToLower;
    return change(to, room, from, length, "", status);
  };
  std::string out;
  while (!text.empty()) {
    // Long texts go through in parts; a part ends between characters.
    size_t good = validUtf8Prefix(text.substr(0, 1 << 16));
    if (good == 0) {
      out += text.front();
      text.remove_prefix(1);
      continue;
    }
    std::vector<UChar> from(good), to(good * 3);
    UErrorCode status = U_ZERO_ERROR;
    int32_t fromLength = 0, toLength = 0, outLength = 0;
    u_strFromUTF8(from.data(), static_cast<int32_t>(from.size()), &fromLength, text.data(),
                  static_cast<int32_t>(good), &status);
    toLength = map(to.data(), static_cast<int32_t>(to.size()), from.data(), fromLength, &status);
    std::string part(static_cast<size_t>(toLength) * 3, '\0');
    u_strToUTF8(part.data(), static_cast<int32_t>(part.size()), &outLength, to.data(), toLength,
                &status);
    if (U_FAILURE(status))
      throw TemplateError(std::string("changing the case failed: ") + u_errorName(status));
    out.append(part, 0, static_cast<size_t>(outLength));
    text.remove_prefix(good);
  }
  return out;
}

} // namespace

std::vector<std::string_view> charactersOf(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    result.push_back(first(text).bytes);
    text.remove_prefix(result.back().size());
  }
  return result;
}

size_t characterCount(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count)
    at += text[at] & 0x80 ? first(text.substr(at)).bytes.size() : 1;
  return count;
}

std::string_view strip(std::string_view text, bool left, bool right, const std::string *set) {
  auto drops = [&](Character c) {
    return set ? set->find(c.bytes) != std::string::npos : isSpace(c.codePoint);
  };
  while (left && !text.empty() && drops(first(text)))
    text.remove_prefix(first(text).bytes.size());
  while (right && !text.empty()) {
    size_t size = 1;
    while (size < 4 && size < text.size() &&
           (static_cast<unsigned char>(text[text.size() - size]) & 0xC0) == 0x80)
      ++size;
    Character last = first(text.substr(text.size() - size));
    if (last.bytes.size() != size || !drops(last))
      break;
    text.remove_suffix(size);
  }
  return text;
}

std::string upper(std::string_view text) { return mapCase(text, Case::Upper); }
std::string lower(std::string_view text) { return mapCase(text, Case::Lower); }
std::string casefold(std::string_view text) { return mapCase(text, Case::Fold); }

std::string titleWords(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    // Separators up to the next word, its first character, the rest of it.
    auto separates = [](Character c) {
      return isSpace(c.codePoint) || std::string_view("-({[<").find(c.bytes) != std::string_view::npos;
    };
    size_t length = 0;
    while (length < text.size() && separates(first(text.substr(length))))
      length += first(text.substr(length)).bytes.size();
    out += text.substr(0, length);
    text.remove_prefix(length);
    length = 0;
    while (length < text.size() && !separates(first(text.substr(length))))
      length += first(text.substr(length)).bytes.size();
    if (!length)
      continue;
    size_t one = first(text).bytes.size();
    out += upper(text.substr(0, one));
    out += lower(text.substr(one, length - one));
    text.remove_prefix(length);
  }
  return out;
}

size_t wordCount(std::string_view text) {
  size_t count = 0;
  bool inWord = false;
  while (!text.empty()) {
    Character c = first(text);
    bool part = c.codePoint >= 0 && (c.codePoint == '_' || u_isalnum(c.codePoint));
    count += part && !inWord;
    inWord = part;
    text.remove_prefix(c.bytes.size());
  }
  return count;
}

std::string_view partOf(std::string_view text, int64_t begin, int64_t end) {
  auto size = static_cast<int64_t>(characterCount(text));
  auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  begin = place(begin);
  end = std::max(begin, place(end));
  auto bytesOf = [](std::string_view rest, int64_t count) {
    size_t bytes = 0;
    for (; count > 0; --count)
      bytes += rest[bytes] & 0x80 ? first(rest.substr(bytes)).bytes.size() : 1;
    return bytes;
  };
  text.remove_prefix(bytesOf(text, begin));
  return text.substr(0, bytesOf(text, end - begin));
}

std::string title(std::string_view text) {
  std::string out;
  bool inWord = false;
  while (!text.empty()) {
    Character c = first(text);
    if (c.codePoint < 0)
      out += c.bytes;
    else
      append(out, inWord ? u_tolower(c.codePoint) : u_totitle(c.codePoint));
    inWord = c.codePoint >= 0 && u_isalpha(c.codePoint);
    text.remove_prefix(c.bytes.size());
  }
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty())
    return "";
  Character c = first(text);
  std::string out;
  if (c.codePoint < 0)
    out += c.bytes;
  else
    append(out, u_totitle(c.codePoint));
  return out + lower(text.substr(c.bytes.size()));
}

bool allSpace(std::string_view text) { return all(text, isSpace); }
static bool allOfType(std::string_view text, std::initializer_list<int32_t> types) {
  return all(text, [&](UChar32 c) {
    return std::find(types.begin(), types.end(), u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE)) !=
           types.end();
  });
}
bool allDigits(std::string_view text) { return allOfType(text, {U_NT_DECIMAL, U_NT_DIGIT}); }
bool allDecimal(std::string_view text) { return allOfType(text, {U_NT_DECIMAL}); }
bool allNumeric(std::string_view text) {
  return allOfType(text, {U_NT_DECIMAL, U_NT_DIGIT, U_NT_NUMERIC});
}
bool allLetters(std::string_view text) {
  return all(text, [](UChar32 c) { return u_isalpha(c); });
}
bool allLettersOrDigits(std::string_view text) {
  return all(text, [](UChar32 c) { return u_isalnum(c); });
}

std::string pythonQuoted(std::string_view text) {
  bool useDouble = text.find('\'') != std::string_view::npos &&
                   text.find('"') == std::string_view::npos;
  char quote = useDouble ? '"' : '\'';
  static const char *hex = "0123456789abcdef";
  std::string out(1, quote);
  while (!text.empty()) {
    Character c = first(text);
    if (c.bytes[0] == quote || c.bytes[0] == '\\') {
      out += '\\';
      out += c.bytes;
    } else if (c.bytes[0] == '\n') {
      out += "\\n";
    } else if (c.bytes[0] == '\r') {
      out += "\\r";
    } else if (c.bytes[0] == '\t') {
      out += "\\t";
    } else if (c.codePoint >= 0 && c.codePoint != ' ' && !u_isgraph(c.codePoint)) {
      int digits = c.codePoint < 0x100 ? 2 : c.codePoint < 0x10000 ? 4 : 8;
      out += digits == 2 ? "\\x" : digits == 4 ? "\\u" : "\\U";
      for (int i = digits - 1; i >= 0; --i)
        out += hex[(c.codePoint >> (4 * i)) & 15];
    } else {
      out += c.bytes;
    }
    text.remove_prefix(c.bytes.size());
  }
  return out + quote;
}

std::string jsonQuoted(std::string_view text, bool ascii) {
  static const char *hex = "0123456789abcdef";
  std::string out = "\"";
  auto escaped = [&](uint32_t unit) {
    out += "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
      out += hex[(unit >> shift) & 15];
  };
  while (!text.empty()) {
    Character c = first(text);
    static constexpr std::string_view special = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
    size_t which = c.bytes.size() == 1 ? special.find(c.bytes[0]) : std::string_view::npos;
    if (which != std::string_view::npos) {
      out += '\\';
      out += letters[which];
    } else if (c.codePoint >= 0 && (c.codePoint < 0x20 || (ascii && c.codePoint > 0x7E))) {
      auto code = static_cast<uint32_t>(c.codePoint);
      if (code > 0xFFFF) {
        escaped(0xD800 + ((code - 0x10000) >> 10));
        escaped(0xDC00 + (code & 0x3FF));
      } else {
        escaped(code);
      }
    } else {
      out += c.bytes;
    }
    text.remove_prefix(c.bytes.size());
  }
  return out + "\"";
}

} // namespace llmc::rt::chat
