//===- JsonParser.cpp - reading JSON with comments ------------------------===//
#include "llmc/Frontend/Json.h"

#include "llmc/Support/Error.h"
#include "llmc/Support/RegularFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <unordered_set>

namespace llmc::frontend {

namespace {

/// A value takes about fifty times the memory of its shortest text.
constexpr uint64_t maxValues = uint64_t(1) << 22;

class Parser {
public:
  Parser(std::string_view text, const std::string &file, bool comments)
      : text(text), file(file), comments(comments) {}

  Json parse() {
    if (text.substr(0, 3) == "\xEF\xBB\xBF")
      at = 3;
    skipSpace();
    Json root = value(0);
    skipSpace();
    if (at != text.size())
      fail("text after the end of the value");
    return root;
  }

private:
  [[noreturn]] void fail(const std::string &message) {
    countLines();
    throw InputError(file + ":" + std::to_string(line) + ":" + std::to_string(column()) +
                     ": not valid JSON: " + message);
  }

  // Positions are wanted for every value but text is long: lines are counted only over the
  // part that was not counted yet.
  void countLines() {
    for (; counted < at; ++counted)
      if (text[counted] == '\n') {
        ++line;
        lineStart = counted + 1;
      }
  }
  uint32_t column() const { return uint32_t(at - lineStart + 1); }

  void skipSpace() {
    for (;;) {
      while (at < text.size() &&
             (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
        ++at;
      if (!comments || at + 1 >= text.size() || text[at] != '/')
        return;
      if (text[at + 1] == '/') {
        while (at < text.size() && text[at] != '\n')
          ++at;
      } else if (text[at + 1] == '*') {
        size_t end = text.find("*/", at + 2);
        if (end == std::string_view::npos)
          fail("a comment is not closed");
        at = end + 2;
      } else {
        return;
      }
    }
  }

  bool accept(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void expect(char c, const char *where) {
    if (!accept(c))
      fail(std::string("expected '") + c + "' " + where +
           (at >= text.size() ? ", but the text ends" : ""));
  }

  Json value(unsigned depth) {
    // Recursion is bounded, so that hostile nesting cannot overflow the stack.
    if (depth > 128)
      fail("nested more than 128 deep");
    if (++values > maxValues)
      fail("more than " + std::to_string(maxValues) + " values");
    skipSpace();
    if (at >= text.size())
      fail("the text ends where a value is due");
    countLines();
    uint32_t startLine = line, startColumn = column();
    Json json;
    switch (text[at]) {
    case '{':
      json = object(depth);
      break;
    case '[':
      json = array(depth);
      break;
    case '"':
      json = Json::makeString(string());
      break;
    case 't':
      word("true");
      json = Json::makeBool(true);
      break;
    case 'f':
      word("false");
      json = Json::makeBool(false);
      break;
    case 'n':
      word("null");
      break;
    // Python writes these, and published configs hold them.
    case 'N':
      word("NaN");
      json = Json::makeDouble(NAN);
      break;
    case 'I':
      word("Infinity");
      json = Json::makeDouble(HUGE_VAL);
      break;
    default:
      json = number();
      break;
    }
    json.line = startLine;
    json.column = startColumn;
    return json;
  }

  void word(std::string_view expected) {
    if (text.substr(at, expected.size()) != expected)
      fail("expected '" + std::string(expected) + "'");
    at += expected.size();
  }

  Json object(unsigned depth) {
    Json json = Json::makeObject();
    std::unordered_set<std::string> seen;
    ++at;
    while (!accept('}')) {
      if (!json.members.empty()) {
        expect(',', "between members");
        if (comments && accept('}'))
          break;
      }
      skipSpace();
      if (at >= text.size() || text[at] != '"')
        fail("expected a member name in quotes");
      std::string name = string();
      if (!seen.insert(name).second)
        fail("the key " + quoteJson(name) + " stands twice in one object");
      expect(':', "after a member name");
      json.members.push_back({std::move(name), value(depth + 1)});
    }
    return json;
  }

  Json array(unsigned depth) {
    Json json = Json::makeArray();
    ++at;
    while (!accept(']')) {
      if (!json.items.empty()) {
        expect(',', "between list items");
        if (comments && accept(']'))
          break;
      }
      json.items.push_back(value(depth + 1));
    }
    return json;
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      unsigned char c = at < text.size() ? text[at] : 0;
      if (c >= '0' && c <= '9')
        code = code * 16 + (c - '0');
      else if ((c | 32) >= 'a' && (c | 32) <= 'f')
        code = code * 16 + ((c | 32) - 'a' + 10);
      else
        fail("\\u needs four hexadecimal digits");
    }
    return code;
  }

  static void appendUtf8(std::string &out, unsigned code) {
    if (code < 0x80) {
      out += char(code);
    } else if (code < 0x800) {
      out += char(0xC0 | code >> 6);
      out += char(0x80 | (code & 63));
    } else if (code < 0x10000) {
      out += char(0xE0 | code >> 12);
      out += char(0x80 | (code >> 6 & 63));
      out += char(0x80 | (code & 63));
    } else {
      out += char(0xF0 | code >> 18);
      out += char(0x80 | (code >> 12 & 63));
      out += char(0x80 | (code >> 6 & 63));
      out += char(0x80 | (code & 63));
    }
  }

  std::string string() {
    std::string out;
    ++at;
    for (;;) {
      size_t start = at;
      while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
             (unsigned char)(text[at]) >= 0x20)
        ++at;
      out.append(text.substr(start, at - start));
      if (at >= text.size())
        fail("a text is not closed");
      if (text[at] == '"') {
        ++at;
        return out;
      }
      if (text[at] != '\\')
        fail("a control character inside a text");
      escape(out);
    }
  }

  void escape(std::string &out) {
    char c = at + 1 < text.size() ? text[at + 1] : 0;
    at += 2;
    switch (c) {
    case '"':
    case '\\':
    case '/':
      out += c;
      return;
    case 'b':
      out += '\b';
      return;
    case 'f':
      out += '\f';
      return;
    case 'n':
      out += '\n';
      return;
    case 'r':
      out += '\r';
      return;
    case 't':
      out += '\t';
      return;
    case 'u':
      break;
    default:
      at = std::min(at, text.size());
      fail("unknown escape in a text");
    }
    unsigned code = hex4();
    if (code >= 0xD800 && code < 0xDC00 && text.substr(at, 2) == "\\u") {
      at += 2;
      unsigned low = hex4();
      if (low < 0xDC00 || low > 0xDFFF)
        fail("a surrogate without its pair");
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xD800 && code <= 0xDFFF) {
      fail("a surrogate without its pair");
    }
    appendUtf8(out, code);
  }

  Json number() {
    size_t start = at;
    if (text[at] == '-')
      ++at;
    if (at < text.size() && text[at] == 'I') {
      word("Infinity");
      return Json::makeDouble(-HUGE_VAL);
    }
    size_t digits = at;
    bool integral = true;
    auto skipDigits = [&] {
      size_t from = at;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9')
        ++at;
      return at > from;
    };
    if (!skipDigits()) {
      at = start;
      fail("expected a value");
    }
    if (at - digits > 1 && text[digits] == '0')
      fail("a number may not start with 0");
    if (at < text.size() && text[at] == '.') {
      integral = false;
      ++at;
      if (!skipDigits())
        fail("a number needs digits after its point");
    }
    if (at < text.size() && (text[at] | 32) == 'e') {
      integral = false;
      ++at;
      if (at < text.size() && (text[at] == '+' || text[at] == '-'))
        ++at;
      if (!skipDigits())
        fail("a number needs digits in its exponent");
    }
    const char *first = text.data() + start, *last = text.data() + at;
    if (integral) {
      int64_t integer;
      if (std::from_chars(first, last, integer).ec == std::errc())
        return Json::makeInt(integer);
    }
    // Integers beyond 64 bits stay numbers; whoever wants an integer refuses them.
    double value;
    if (std::from_chars(first, last, value).ec != std::errc())
      fail("the number " + std::string(first, last) + " is out of range");
    return Json::makeDouble(value);
  }

  std::string_view text;
  const std::string &file;
  bool comments;
  size_t at = 0, counted = 0, lineStart = 0;
  uint32_t line = 1;
  uint64_t values = 0;
};

} // namespace

Json parseJson(std::string_view text, const std::string &file, bool comments) {
  return Parser(text, file, comments).parse();
}

Json readJsonFile(const std::string &path, bool comments) {
  if (std::string problem = whyNotRegular(path); !problem.empty())
    throw InputError(path + ": " + problem);
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in)
    throw InputError(path + ": cannot be opened for reading");
  std::streamoff size = in.tellg();
  if (size < 0 || size > std::streamoff(1) << 30)
    throw InputError(path + ": is no JSON file of at most 1 GiB");
  std::string text(size_t(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size))
    throw InputError(path + ": reading failed");
  return parseJson(text, path, comments);
}

} // namespace llmc::frontend
