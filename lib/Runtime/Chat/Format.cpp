//===- Format.cpp - formatting as Python does it --------------------------===//
#include "Interpreter.h"
#include "Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace llmc::rt::chat {
namespace {

/// Wider than any text for people; more is an attack.
constexpr int64_t widest = 10'000;

/// A place of a format, in both of Python's languages.
struct Spec {
  std::string fill = " ";
  char align = 0; ///< '<' '>' '^' '='; 0: by the type
  char sign = '-';
  bool alternate = false, comma = false, underscore = false;
  int64_t width = 0, precision = -1;
  char type = 0;
};

class Reader {
public:
  explicit Reader(std::string_view text) : text(text) {}
  bool done() const { return at >= text.size(); }
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }
  char take() { return text[at++]; }
  bool accept(char c) { return !done() && text[at] == c && ++at; }
  int64_t number() {
    int64_t value = 0;
    while (peek() >= '0' && peek() <= '9') {
      value = value * 10 + (take() - '0');
      if (value > widest)
        throw TemplateError("a format is wider than " + std::to_string(widest));
    }
    return value;
  }
  bool atDigit() const { return peek() >= '0' && peek() <= '9'; }
  std::string_view text;
  size_t at = 0;
};

std::string padded(const std::string &text, const Spec &spec, char byDefault) {
  int64_t missing = spec.width - static_cast<int64_t>(characterCount(text));
  if (missing <= 0)
    return text;
  char align = spec.align ? spec.align : byDefault;
  int64_t left = align == '>' || align == '=' ? missing : align == '^' ? missing / 2 : 0;
  std::string out;
  if (align == '=') { // between sign or prefix and digits
    size_t sign = !text.empty() && std::string_view("+- ").find(text[0]) != std::string_view::npos;
    out = text.substr(0, sign);
    for (int64_t i = 0; i < left; ++i)
      out += spec.fill;
    return out + text.substr(sign);
  }
  for (int64_t i = 0; i < left; ++i)
    out += spec.fill;
  out += text;
  for (int64_t i = left; i < missing; ++i)
    out += spec.fill;
  return out;
}

std::string withSign(bool negative, const Spec &spec, const std::string &digits) {
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  return sign + digits;
}

/// Thousands separated, in the digits before a point.
std::string grouped(std::string digits, const Spec &spec) {
  if (!spec.comma && !spec.underscore)
    return digits;
  size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t i = end; i > 3; i -= 3)
    digits.insert(i - 3, 1, spec.comma ? ',' : '_');
  return digits;
}

std::string integerText(int64_t value, const Spec &spec) {
  uint64_t size = value < 0 ? uint64_t(0) - uint64_t(value) : uint64_t(value);
  int base = spec.type == 'x' || spec.type == 'X' ? 16
             : spec.type == 'o'                   ? 8
             : spec.type == 'b'                   ? 2
                                                  : 10;
  char buffer[80];
  std::string digits(buffer, std::to_chars(buffer, buffer + sizeof buffer, size, base).ptr);
  if (spec.type == 'X')
    std::transform(digits.begin(), digits.end(), digits.begin(), ::toupper);
  if (spec.precision > static_cast<int64_t>(digits.size()))
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  if (spec.alternate && base != 10)
    digits.insert(0, std::string("0") + spec.type);
  return withSign(value < 0, spec, grouped(std::move(digits), spec));
}

std::string floatDigits(double value, const Spec &spec) {
  double size = std::fabs(value);
  bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  std::string digits;
  if (std::isnan(value) || std::isinf(value)) {
    digits = std::isnan(value) ? (upper ? "NAN" : "nan") : upper ? "INF" : "inf";
  } else {
    char pattern[16];
    char type = spec.type == '%' ? 'f' : spec.type;
    std::snprintf(pattern, sizeof pattern, spec.alternate ? "%%#.*%c" : "%%.*%c", type);
    int precision = static_cast<int>(spec.precision < 0 ? 6 : spec.precision);
    double shown = spec.type == '%' ? size * 100 : size;
    int length = std::snprintf(nullptr, 0, pattern, precision, shown);
    digits.resize(static_cast<size_t>(std::max(length, 0)) + 1);
    std::snprintf(digits.data(), digits.size(), pattern, precision, shown);
    digits.pop_back();
  }
  if (spec.type == '%')
    digits += '%';
  return withSign(std::signbit(value) && !std::isnan(value), spec, grouped(std::move(digits), spec));
}

bool isOneOf(char c, std::string_view set) {
  return c && set.find(c) != std::string_view::npos;
}

/// One place of a %-format.
std::string percentPlace(const Value &value, Spec spec, bool zero, bool left) {
  std::string text;
  bool number = isOneOf(spec.type, "diuxXoeEfFgG");
  if (isOneOf(spec.type, "sra")) {
    text = spec.type == 's' ? value.str() : value.repr();
    if (spec.precision >= 0)
      text = std::string(partOf(text, 0, spec.precision));
  } else if (spec.type == 'c') {
    text = value.isString() ? value.text() : throw TemplateError("%c needs a character");
    if (characterCount(text) != 1)
      throw TemplateError("%c needs one character");
  } else if (isOneOf(spec.type, "diuxXo")) {
    if (!value.isNumber() || (value.isFloat() && isOneOf(spec.type, "xXo")))
      throw TemplateError(std::string("%") + spec.type + " needs a number, not " +
                          value.typeName());
    if (value.isFloat() && !(std::fabs(value.number()) < 9e18))
      throw TemplateError("a number does not fit into 64 bits");
    text = integerText(value.isFloat() ? static_cast<int64_t>(value.number()) : value.integer(),
                       spec);
  } else if (number) {
    text = floatDigits(value.number(), spec);
  } else {
    throw TemplateError("the format has a % with an unknown letter behind it");
  }
  spec.align = left ? '<' : zero && number ? '=' : '>';
  spec.fill = zero && number && !left ? "0" : " ";
  return padded(text, spec, '>');
}

/// [[fill]align][sign][#][0][width][,][.precision][type] of str.format.
Spec parseSpec(std::string_view text) {
  Spec spec;
  Reader in(text);
  auto characters = charactersOf(text);
  if (characters.size() > 1 && characters[1].size() == 1 && isOneOf(characters[1][0], "<>^=")) {
    spec.fill = std::string(characters[0]);
    spec.align = characters[1][0];
    in.at = characters[0].size() + 1;
  } else if (isOneOf(in.peek(), "<>^=")) {
    spec.align = in.take();
  }
  if (isOneOf(in.peek(), "+- "))
    spec.sign = in.take();
  spec.alternate = in.accept('#');
  if (in.peek() == '0') {
    in.take();
    if (!spec.align) {
      spec.align = '=';
      spec.fill = "0";
    }
  }
  spec.width = in.number();
  spec.comma = in.accept(',');
  spec.underscore = !spec.comma && in.accept('_');
  if (in.accept('.')) {
    if (!in.atDigit())
      throw TemplateError("a format has a point without a precision");
    spec.precision = in.number();
  }
  if (!in.done())
    spec.type = in.take();
  if (!in.done())
    throw TemplateError("\"" + std::string(text) + "\" is no format");
  return spec;
}

std::string formatted(const Value &value, std::string_view text) {
  if (text.empty())
    return value.str();
  Spec spec = parseSpec(text);
  std::string name = value.typeName();
  auto refuse = [&]() -> std::string {
    throw TemplateError("the format \"" + std::string(text) + "\" does not work on " + name);
  };
  if (value.isString()) {
    if ((spec.type && spec.type != 's') || spec.align == '=' || spec.sign != '-' || spec.comma)
      return refuse();
    std::string shown(spec.precision >= 0 ? partOf(value.text(), 0, spec.precision)
                                          : std::string_view(value.text()));
    return padded(shown, spec, '<');
  }
  if (value.isInteger() && (!spec.type || isOneOf(spec.type, "dxXobn"))) {
    if (spec.precision >= 0)
      return refuse();
    return padded(integerText(value.integer(), spec), spec, '>');
  }
  if (value.isNumber() && isOneOf(spec.type, "eEfFgG%"))
    return padded(floatDigits(value.number(), spec), spec, '>');
  if (value.isFloat() && !spec.type && spec.precision < 0)
    return padded(withSign(std::signbit(value.number()), spec,
                           grouped(floatText(std::fabs(value.number())), spec)),
                  spec, '>');
  return refuse();
}

/// name or number, then .name and [key].
Value fieldOf(Interpreter &interpreter, std::string_view field, const Arguments &arguments,
              size_t &next) {
  size_t end = std::min(field.find_first_of(".["), field.size());
  std::string head(field.substr(0, end));
  bool digits = !head.empty() && head.size() < 5 &&
                head.find_first_not_of("0123456789") == std::string::npos;
  // A name is never a place: it is looked for behind all of them.
  Value value = head.empty() ? arguments.require(next++, "")
                : digits     ? arguments.require(std::stoul(head), "")
                             : arguments.require(arguments.positional.size(), head);
  field.remove_prefix(end);
  while (!field.empty()) {
    bool bracket = field[0] == '[';
    size_t stop = bracket ? field.find(']') : std::min(field.find_first_of(".[", 1), field.size());
    if (stop == std::string_view::npos)
      throw TemplateError("a field of the format has a [ without a ]");
    std::string key(field.substr(1, stop - 1));
    int64_t index = 0;
    auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
    bool isIndex = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
    value = !bracket  ? interpreter.attribute(value, key)
            : isIndex ? interpreter.item(value, Value(index))
                      : interpreter.item(value, Value(key));
    field.remove_prefix(stop + (bracket ? 1 : 0));
  }
  return value;
}

} // namespace

std::string formatPercent(Interpreter &interpreter, const std::string &format,
                          const Value &values) {
  std::string out;
  size_t next = 0, count = values.isTuple() ? values.list().size() : 1;
  auto take = [&]() -> Value {
    if (next >= count)
      throw TemplateError("there are fewer values than the format has places");
    return values.isTuple() ? values.list()[next++] : (++next, values);
  };
  bool named = false;
  Reader in(format);
  while (!in.done()) {
    char c = in.take();
    if (c != '%') {
      out += c;
      continue;
    }
    if (in.accept('%')) {
      out += '%';
      continue;
    }
    Value value;
    bool hasValue = false;
    if (in.accept('(')) {
      size_t end = format.find(')', in.at);
      if (end == std::string::npos)
        throw TemplateError("the format has a ( without a )");
      const Value *found = values.find(Value(format.substr(in.at, end - in.at)));
      if (!found)
        throw TemplateError("the mapping has no \"" + format.substr(in.at, end - in.at) + "\"");
      value = *found;
      hasValue = named = true;
      in.at = end + 1;
    }
    Spec spec;
    bool left = false, zero = false;
    while (isOneOf(in.peek(), "-+ #0")) {
      char flag = in.take();
      left |= flag == '-';
      zero |= flag == '0';
      spec.alternate |= flag == '#';
      if (flag == '+' || (flag == ' ' && spec.sign != '+'))
        spec.sign = flag;
    }
    spec.width = in.accept('*') ? std::clamp<int64_t>(take().integer(), 0, widest) : in.number();
    if (in.accept('.'))
      spec.precision = in.number();
    while (isOneOf(in.peek(), "hlL"))
      in.take();
    if (in.done())
      throw TemplateError("the format ends within a place");
    spec.type = in.take();
    std::string text = percentPlace(hasValue ? value : take(), spec, zero, left);
    interpreter.charge(text.size());
    out += text;
  }
  if (next < count && !named && !values.isDict() && (values.isTuple() || !next))
    throw TemplateError("there are more values than the format has places");
  return out;
}

std::string formatBraces(Interpreter &interpreter, const std::string &format,
                         const Arguments &arguments) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    char c = format[i];
    bool doubled = i + 1 < format.size() && format[i + 1] == c;
    if ((c == '{' || c == '}') && doubled) {
      out += c;
      ++i;
    } else if (c == '}') {
      throw TemplateError("the format has a } without a {");
    } else if (c == '{') {
      size_t end = format.find_first_of("{}", i + 1);
      if (end == std::string::npos || format[end] == '{')
        throw TemplateError("the format has a { without a }");
      std::string_view place = std::string_view(format).substr(i + 1, end - i - 1), spec;
      char conversion = '\0';
      // A colon within brackets belongs to a key.
      size_t brackets = 0, colon = 0;
      while (colon < place.size() && (brackets || (place[colon] != ':' && place[colon] != '!'))) {
        brackets += place[colon] == '[';
        brackets -= place[colon] == ']' && brackets;
        ++colon;
      }
      std::string_view field = place.substr(0, colon), rest = place.substr(colon);
      if (rest.starts_with('!')) {
        conversion = rest.size() > 1 ? rest[1] : '\0';
        if (!isOneOf(conversion, "sra"))
          throw TemplateError("the format has a ! with an unknown letter behind it");
        rest.remove_prefix(2);
      }
      if (rest.starts_with(':'))
        spec = rest.substr(1);
      else if (!rest.empty())
        throw TemplateError("the format has something behind a conversion");
      Value value = fieldOf(interpreter, field, arguments, next);
      if (conversion)
        value = Value(conversion == 's' ? value.str() : value.repr());
      std::string text = formatted(value, spec);
      interpreter.charge(text.size());
      out += text;
      i = end;
    } else {
      out += c;
    }
  }
  return out;
}

} // namespace llmc::rt::chat
