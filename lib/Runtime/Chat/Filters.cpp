//===- Filters.cpp - filters of texts and numbers -------------------------===//
#include "Filter.h"
#include "Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <unordered_map>

namespace llmc::rt::chat {
namespace {

/// That many spaces, none where it is negative; refused where a template asks for too many.
size_t spaces(int64_t width) {
  constexpr int64_t widest = 10000;
  if (width > widest)
    throw TemplateError("an indent is wider than " + std::to_string(widest));
  return size_t(std::max<int64_t>(width, 0));
}

Value json(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  interpreter.charge(value.weight());
  // transformers: tojson(x, ensure_ascii, indent, separators, sort_keys)
  JsonStyle style;
  style.ensureAscii = flag(arguments, 0, "ensure_ascii", false);
  const Value *indent = arguments.find(1, "indent"), *separators = arguments.find(2, "separators");
  if (indent && !indent->isNone()) {
    style.multiline = true;
    style.item = ",";
    style.indent = indent->isString()
                       ? indent->text()
                       : std::string(spaces(indent->integer()), ' ');
    if (style.indent.size() > 64)
      throw TemplateError("the indent of tojson is longer than 64 bytes");
  }
  if (separators && !separators->isNone()) {
    if (separators->list().size() != 2)
      throw TemplateError("separators has to be a pair");
    style.item = separators->list()[0].text();
    style.key = separators->list()[1].text();
  }
  style.sortKeys = flag(arguments, 3, "sort_keys", false);
  std::string text = toJson(value, style);
  interpreter.charge(text.size());
  return text;
}

Value indented(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *width = arguments.find(0, "width");
  std::string prefix = "    ";
  if (width)
    prefix = width->isString()
                 ? width->text()
                 : std::string(spaces(width->integer()), ' ');
  bool first = flag(arguments, 1, "first", false), blank = flag(arguments, 2, "blank", false);
  const std::string text = value.str();
  std::string out;
  for (size_t at = 0, line = 0; at <= text.size(); ++line) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (line)
      out += '\n';
    if (line ? blank || end > at : first) {
      interpreter.charge(prefix.size());
      out += prefix;
    }
    out.append(text, at, end - at);
    at = end + 1;
  }
  return out;
}

/// int() of a string in a base: sign, prefix, underscores between digits.
bool parseInteger(std::string text, int64_t base, int64_t &number) {
  bool negative = text.starts_with('-');
  if (negative || text.starts_with('+'))
    text.erase(0, 1);
  auto hasPrefix = [&](char letter) {
    return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == letter;
  };
  for (auto [letter, value] : {std::pair('x', 16), std::pair('o', 8), std::pair('b', 2)}) {
    if ((base == value || base == 0) && hasPrefix(letter)) {
      base = value;
      text.erase(0, 2);
    }
  }
  if (base == 0)
    base = 10;
  if (base < 2 || base > 36)
    throw TemplateError("a base is 0 or 2 to 36");
  if (text.empty() || !std::isalnum(static_cast<unsigned char>(text[0])) || text.back() == '_' ||
      text.find("__") != std::string::npos)
    return false;
  std::erase(text, '_');
  if (negative)
    text.insert(0, "-");
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), number,
                                static_cast<int>(base));
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

/// float() of a string.
bool parseFloat(std::string_view given, double &number) {
  std::string text(strip(given, true, true));
  if (text.starts_with('+') && !text.starts_with("+-"))
    text.erase(0, 1);
  if (text.find("__") == std::string::npos && !text.starts_with('_') && !text.ends_with('_'))
    std::erase(text, '_');
  // Python has no nan(...).
  if (text.empty() || text.find('(') != std::string::npos)
    return false;
  auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

void requireDefined(const Value &value) {
  if (value.isUndefined())
    throw TemplateError("\"" + value.undefinedName() + "\" is undefined");
}

Value toInteger(const Value &value, const Arguments &arguments) {
  requireDefined(value);
  const Value *fallback = arguments.find(0, "default"), *base = arguments.find(1, "base");
  Value otherwise = fallback ? *fallback : Value(int64_t(0));
  if (value.isInteger())
    return value.integer();
  double real = 0;
  if (value.isFloat()) {
    real = value.number();
  } else {
    if (!value.isString())
      return otherwise;
    int64_t number = 0;
    if (parseInteger(std::string(strip(value.text(), true, true)), base ? base->integer() : 10,
                     number))
      return number;
    if (!parseFloat(value.text(), real))
      return otherwise;
  }
  if (std::isnan(real) || std::isinf(real))
    return otherwise;
  if (std::fabs(real) >= 9e18)
    throw TemplateError("a number does not fit into 64 bits");
  return static_cast<int64_t>(real);
}

Value toFloat(const Value &value, const Arguments &arguments) {
  requireDefined(value);
  if (value.isNumber())
    return value.number();
  double number = 0;
  if (value.isString() && parseFloat(value.text(), number))
    return number;
  const Value *fallback = arguments.find(0, "default");
  return fallback ? *fallback : Value(0.0);
}

Value rounded(const Value &value, const Arguments &arguments) {
  const Value *precision = arguments.find(0, "precision"), *method = arguments.find(1, "method");
  int64_t digits = precision ? precision->integer() : 0;
  std::string how = method ? method->text() : "common";
  if (how != "common" && how != "ceil" && how != "floor")
    throw TemplateError("the method of round is common, ceil or floor, not \"" + how + "\"");
  double number = value.number();
  if (digits < -300 || digits > 300)
    throw TemplateError("round keeps up to 300 digits");
  double scale = std::pow(10.0, static_cast<double>(digits));
  if (how != "common")
    return (how == "ceil" ? std::ceil(number * scale) : std::floor(number * scale)) / scale;
  if (value.isInteger() && digits >= 0)
    return value.integer();
  if (digits < 0) {
    double unit = std::pow(10.0, static_cast<double>(-digits));
    double whole = std::nearbyint(number / unit) * unit; // halves to even, as Python
    if (value.isInteger() && std::fabs(whole) < 9e18)
      return static_cast<int64_t>(whole);
    return whole;
  }
  if (!std::isfinite(number))
    return number;
  // Python rounds the exact value, as printf does.
  char text[700];
  int length = std::snprintf(text, sizeof text, "%.*f", static_cast<int>(digits), number);
  double result = number;
  std::from_chars(text, text + length, result);
  return result;
}

Value absolute(Interpreter &interpreter, const Value &value, const Arguments &) {
  if (value.isFloat())
    return std::fabs(value.number());
  return value.integer() < 0 ? applyBinary(interpreter, "-", int64_t(0), value)
                             : Value(value.integer());
}

Value withDefault(const Value &value, const Arguments &arguments) {
  const Value *fallback = arguments.find(0, "default_value");
  bool alsoFalse = flag(arguments, 1, "boolean", false);
  if (value.isUndefined() || (alsoFalse && !value.truthy()))
    return fallback ? *fallback : Value("");
  return value;
}

Value lengthOf(const Value &value) {
  int64_t length = value.length();
  if (length < 0)
    throw TemplateError(std::string(value.typeName()) + " has no length");
  return length;
}

Value trimmed(const Value &value, const Arguments &arguments) {
  const Value *set = arguments.find(0, "chars");
  return strip(value.str(), true, true, set && !set->isNone() ? &set->text() : nullptr);
}

/// Whole words up to a length, unless what is over fits into the leeway.
Value truncated(const Value &value, const Arguments &arguments) {
  const Value *length = arguments.find(0, "length"), *end = arguments.find(2, "end"),
              *leeway = arguments.find(3, "leeway");
  int64_t most = length ? length->integer() : 255;
  int64_t over = leeway && !leeway->isNone() ? leeway->integer() : 5;
  std::string tail = end ? end->text() : "...", text = value.str();
  auto tailLength = static_cast<int64_t>(characterCount(tail));
  if (most < tailLength || over < 0)
    throw TemplateError("truncate needs a length of at least that of its end, and a leeway of 0 "
                        "or more");
  if (static_cast<int64_t>(characterCount(text)) <= most + std::min(over, INT64_MAX - most))
    return text;
  std::string part(partOf(text, 0, most - tailLength));
  if (!flag(arguments, 1, "killwords", false)) {
    size_t space = part.rfind(' ');
    if (space != std::string::npos)
      part.resize(space);
  }
  return part + tail;
}

} // namespace

Value escaped(const Value &value) {
  if (value.isMarkup())
    return value;
  std::string out;
  for (char c : value.str()) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&#34;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return Value::markup(std::move(out));
}

FilterFunction findFilter(const std::string &name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"abs", absolute},
      {"attr", LLMC_FILTER({
         // Unlike the dot of an expression, this does not look at members.
         std::string name = arguments.require(0, "name").text();
         if (value.isDict() && !hasMethod(value, name))
           return Undefined{name};
         return interpreter.attribute(value, name);
       })},
      {"capitalize", LLMC_FILTER(return capitalize(value.str());)},
      {"center", LLMC_FILTER({
         Arguments given;
         const Value *width = arguments.find(0, "width");
         given.positional.push_back(width ? *width : Value(int64_t(80)));
         return callMethod(interpreter, Value(value.str()), "center", given);
       })},
      {"count", LLMC_FILTER(return lengthOf(value);)},
      {"d", LLMC_FILTER(return withDefault(value, arguments);)},
      {"default", LLMC_FILTER(return withDefault(value, arguments);)},
      {"e", LLMC_FILTER(return escaped(value);)},
      {"escape", LLMC_FILTER(return escaped(value);)},
      {"float", LLMC_FILTER(return toFloat(value, arguments);)},
      {"forceescape", LLMC_FILTER(return escaped(Value(value.str()));)},
      {"format", LLMC_FILTER({
         if (!arguments.named.empty() && !arguments.positional.empty())
           throw TemplateError("format takes values with names or without, not both");
         if (arguments.named.empty())
           return formatPercent(interpreter, value.str(),
                                Value::ofKind(ListKind::Tuple, arguments.positional));
         Dict named;
         for (const auto &[name, argument] : arguments.named)
           named.emplace_back(Value(name), argument);
         return formatPercent(interpreter, value.str(), Value(std::move(named)));
       })},
      {"indent", indented},
      {"int", LLMC_FILTER(return toInteger(value, arguments);)},
      {"length", LLMC_FILTER(return lengthOf(value);)},
      {"lower", LLMC_FILTER(return lower(value.str());)},
      {"replace", LLMC_FILTER({
         const Value *count = arguments.find(2, "count");
         return replaceAll(interpreter, value.str(), arguments.require(0, "old").str(),
                           arguments.require(1, "new").str(),
                           count && !count->isNone() ? count->integer() : -1);
       })},
      {"round", LLMC_FILTER(return rounded(value, arguments);)},
      {"safe", LLMC_FILTER(return value.isMarkup() ? value : Value::markup(value.str());)},
      {"string", LLMC_FILTER(return value.isString() ? value : Value(value.str());)},
      {"title", LLMC_FILTER(return titleWords(value.str());)},
      {"tojson", json},
      {"trim", LLMC_FILTER(return trimmed(value, arguments);)},
      {"upper", LLMC_FILTER(return upper(value.str());)},
      {"truncate", LLMC_FILTER(return truncated(value, arguments);)},
      {"wordcount", LLMC_FILTER(return static_cast<int64_t>(wordCount(value.str()));)},
  };
  auto found = table.find(name);
  return found == table.end() ? findSequenceFilter(name) : found->second;
}

} // namespace llmc::rt::chat
