//===- Lexer.cpp - the tokens of a template -------------------------------===//
//
// White space around tags, as Jinja has it with trim_blocks and lstrip_blocks:
// the newline after a block or comment goes, as do the blanks before one that
// begins its line. A minus sign in a tag takes all white space on its side, a
// plus sign turns the two rules off.
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include "../Tokenizer/Unicode.h"
#include "Text.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cctype>

namespace llmc::rt::chat {

void failAt(uint32_t line, const std::string &what, std::string_view expression) {
  std::string message = "The chat template fails in line " + std::to_string(line) + ": " + what;
  if (!expression.empty()) {
    constexpr size_t shown = 80;
    std::string text(expression.substr(0, shown));
    std::replace(text.begin(), text.end(), '\n', ' ');
    message += " (in `" + text + (expression.size() > shown ? "..." : "") + "`)";
  }
  throw InputError(message + ".");
}

std::string normalizedSource(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n')
        ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

namespace {

bool isSpace(char c) { return std::isspace(static_cast<unsigned char>(c)); }
bool isNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80);
}
bool isNamePart(char c) { return isNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

class Lexer {
public:
  explicit Lexer(const std::string &source) : source(source) {}

  std::vector<Token> run() {
    while (at < source.size()) {
      size_t tag = findTag();
      if (tag == std::string::npos) {
        data(at, source.size());
        at = source.size();
        break;
      }
      char kind = source[tag + 1];
      char sign = tag + 2 < source.size() ? source[tag + 2] : '\0';
      data(at, dataEnd(tag, kind, sign));
      advance(tag);
      if (kind == '#')
        comment();
      else if (kind == '%' && rawBlock())
        continue;
      else
        code(kind == '{' ? Token::Kind::VariableBegin : Token::Kind::BlockBegin,
             sign == '-' || sign == '+' ? 3 : 2);
    }
    put(Token::Kind::End, "", source.size(), source.size());
    return std::move(tokens);
  }

private:
  size_t findTag() const {
    for (size_t i = source.find('{', at); i != std::string::npos; i = source.find('{', i + 1))
      if (i + 1 < source.size() &&
          (source[i + 1] == '{' || source[i + 1] == '%' || source[i + 1] == '#'))
        return i;
    return std::string::npos;
  }

  /// Where the text before a tag ends.
  size_t dataEnd(size_t tag, char kind, char sign) const {
    size_t end = tag;
    if (sign == '-') {
      while (end > at && isSpace(source[end - 1]))
        --end;
    } else if (sign != '+' && kind != '{') {
      while (end > at && source[end - 1] != '\n' && isSpace(source[end - 1]))
        --end;
      // Something else is on the line: the blanks stay.
      bool lineStart = end == at ? atLineStart : source[end - 1] == '\n';
      if (!lineStart)
        end = tag;
    }
    return end;
  }

  /// Goes to a place in the source and notes whether a line begins there.
  void advance(size_t to) {
    line += static_cast<uint32_t>(std::count(source.begin() + static_cast<ptrdiff_t>(at),
                                             source.begin() + static_cast<ptrdiff_t>(to), '\n'));
    if (to > at)
      atLineStart = source[to - 1] == '\n';
    at = to;
  }

  void put(Token::Kind kind, std::string text, size_t begin, size_t end) {
    tokens.push_back({kind, std::move(text), begin, end, line});
  }

  void data(size_t begin, size_t end) {
    if (begin < end)
      put(Token::Kind::Data, source.substr(begin, end - begin), begin, end);
  }

  /// Goes behind a closing tag of two characters at \p end; \p sign is the one
  /// in front of it. Variables keep their newline.
  void closeTag(size_t end, char sign, bool variable) {
    advance(end + 2);
    if (sign == '-') {
      size_t to = at;
      while (to < source.size() && isSpace(source[to]))
        ++to;
      advance(to);
    } else if (sign != '+' && !variable && at < source.size() && source[at] == '\n') {
      advance(at + 1);
    }
  }

  void comment() {
    size_t end = source.find("#}", at + 2);
    if (end == std::string::npos)
      failAt(line, "a comment has no end", source.substr(at, 40));
    closeTag(end, end > at + 2 ? source[end - 1] : '\0', false);
  }

  /// The length of `{% word %}` at \p from with any signs, or 0.
  size_t wordTag(size_t from, std::string_view word, char &closing) const {
    size_t i = from + 2;
    if (source.compare(from, 2, "{%") != 0)
      return 0;
    if (i < source.size() && (source[i] == '-' || source[i] == '+'))
      ++i;
    while (i < source.size() && isSpace(source[i]))
      ++i;
    if (source.compare(i, word.size(), word) != 0)
      return 0;
    i += word.size();
    while (i < source.size() && isSpace(source[i]))
      ++i;
    closing = '\0';
    if (i < source.size() && (source[i] == '-' || source[i] == '+'))
      closing = source[i++];
    return source.compare(i, 2, "%}") == 0 ? i + 2 - from : 0;
  }

  bool rawBlock() {
    char closing;
    size_t length = wordTag(at, "raw", closing);
    if (!length)
      return false;
    size_t open = at;
    advance(at + length);
    while (closing == '-' && at < source.size() && isSpace(source[at]))
      advance(at + 1);
    for (size_t i = source.find("{%", at); i != std::string::npos; i = source.find("{%", i + 1)) {
      if (size_t endLength = wordTag(i, "endraw", closing)) {
        data(at, dataEnd(i, '%', source[i + 2]));
        closeTag(i + endLength - 2, closing, false);
        return true;
      }
    }
    failAt(line, "a raw block has no end", source.substr(open, 40));
  }

  void code(Token::Kind kind, size_t opening) {
    bool variable = kind == Token::Kind::VariableBegin;
    std::string_view close = variable ? "}}" : "%}";
    size_t begin = at;
    put(kind, source.substr(at, 2), at, at + opening);
    advance(at + opening);
    std::string open; // brackets that are not closed yet
    while (true) {
      while (at < source.size() && isSpace(source[at]))
        advance(at + 1);
      if (at >= source.size())
        failAt(line, "a tag has no end", source.substr(begin, 40));
      // Within brackets, "}}" closes two of them.
      if (open.empty()) {
        char sign = source[at] == '-' || (source[at] == '+' && !variable) ? source[at] : '\0';
        size_t end = at + (sign ? 1 : 0);
        if (source.compare(end, 2, close) == 0) {
          put(variable ? Token::Kind::VariableEnd : Token::Kind::BlockEnd, std::string(close), at,
              end + 2);
          return closeTag(end, sign, variable);
        }
      }
      token(open);
    }
  }

  void token(std::string &open) {
    char c = source[at];
    size_t end = at + 1;
    if (isNameStart(c)) {
      while (end < source.size() && isNamePart(source[end]))
        ++end;
      put(Token::Kind::Name, source.substr(at, end - at), at, end);
    } else if (std::isdigit(static_cast<unsigned char>(c))) {
      return number();
    } else if (c == '"' || c == '\'') {
      return string(c);
    } else {
      static constexpr std::string_view two[] = {"==", "!=", "<=", ">=", "//", "**"};
      std::string_view rest = std::string_view(source).substr(at, 2);
      if (std::find(std::begin(two), std::end(two), rest) != std::end(two))
        end = at + 2;
      else if (std::string_view("+-/*%~[](){}<>=.:|,;").find(c) == std::string_view::npos)
        failAt(line, "the character is not part of the language", source.substr(at, 20));
      if (c == '(' || c == '[' || c == '{') {
        open += c;
      } else if (c == ')' || c == ']' || c == '}') {
        char expected = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open.empty() || open.back() != expected)
          failAt(line, std::string("\"") + c + "\" closes nothing", source.substr(at, 20));
        open.pop_back();
      }
      put(Token::Kind::Operator, source.substr(at, end - at), at, end);
    }
    advance(end);
  }

  void number() {
    size_t end = at;
    auto digits = [&] {
      while (end < source.size() &&
             (std::isdigit(static_cast<unsigned char>(source[end])) || source[end] == '_'))
        ++end;
    };
    auto digitAt = [&](size_t i) {
      return i < source.size() && std::isdigit(static_cast<unsigned char>(source[i]));
    };
    bool isFloat = false;
    // 0x1F, 0o17, 0b101
    if (source[at] == '0' && at + 2 < source.size()) {
      auto kind = static_cast<char>(std::tolower(static_cast<unsigned char>(source[at + 1])));
      std::string_view allowed = kind == 'x'   ? "0123456789abcdefABCDEF_"
                                 : kind == 'o' ? "01234567_"
                                 : kind == 'b' ? "01_"
                                               : "";
      size_t stop = std::min(source.find_first_not_of(allowed, at + 2), source.size());
      if (!allowed.empty() && stop > at + 2) {
        std::string text = "0" + std::string(1, kind) + source.substr(at + 2, stop - at - 2);
        std::erase(text, '_');
        put(Token::Kind::Integer, std::move(text), at, stop);
        return advance(stop);
      }
    }
    digits();
    if (end < source.size() && source[end] == '.' && digitAt(end + 1)) {
      isFloat = true;
      ++end;
      digits();
    }
    if (end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < source.size() && (source[exponent] == '+' || source[exponent] == '-'))
        ++exponent;
      if (digitAt(exponent)) {
        isFloat = true;
        end = exponent;
        digits();
      }
    }
    std::string text = source.substr(at, end - at);
    std::erase(text, '_');
    put(isFloat ? Token::Kind::Float : Token::Kind::Integer, std::move(text), at, end);
    advance(end);
  }

  void string(char quote) {
    size_t end = at + 1;
    std::string value;
    while (end < source.size() && source[end] != quote) {
      if (source[end] == '\\' && end + 1 < source.size())
        end = escape(end + 1, value);
      else
        value += source[end++];
    }
    if (end >= source.size())
      failAt(line, "a string has no end", source.substr(at, 40));
    put(Token::Kind::String, std::move(value), at, end + 1);
    advance(end + 1);
  }

  /// Python's escapes. \p i is behind the backslash.
  size_t escape(size_t i, std::string &value) {
    static constexpr std::string_view letters = "ntr\\'\"abfv0", meaning = "\n\t\r\\'\"\a\b\f\v";
    char c = source[i];
    if (size_t which = letters.find(c); which != std::string_view::npos) {
      value += c == '0' ? '\0' : meaning[which];
      return i + 1;
    }
    if (c == '\n') // a line that goes on
      return i + 1;
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (digits == 0 || i + 1 + digits > source.size()) {
      value += '\\';
      value += c;
      return i + 1;
    }
    char32_t code = 0;
    for (size_t k = i + 1; k <= i + digits; ++k) {
      if (!std::isxdigit(static_cast<unsigned char>(source[k])))
        failAt(line, "an escape needs hexadecimal digits", source.substr(i - 1, 12));
      code = code * 16 + static_cast<char32_t>(std::stoi(source.substr(k, 1), nullptr, 16));
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      failAt(line, "an escape is no character", source.substr(i - 1, 12));
    appendUtf8(value, code);
    return i + 1 + digits;
  }

  const std::string &source;
  size_t at = 0;
  uint32_t line = 1;
  bool atLineStart = true;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> tokenize(const std::string &source) { return Lexer(source).run(); }

} // namespace llmc::rt::chat
