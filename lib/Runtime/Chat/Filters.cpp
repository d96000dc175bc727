//===- Filters.cpp - the filters of a template ----------------------------===//
#include "Interpreter.h"
#include "Text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace llmc::rt::chat {
namespace {

#define LLMC_FILTER(...)                                                                           \
  [](Interpreter & interpreter, const Value &value, const Arguments &arguments) -> Value {         \
    (void)interpreter, (void)arguments;                                                            \
    __VA_ARGS__                                                                                    \
  }

bool flag(const Arguments &arguments, size_t place, const char *name, bool fallback) {
  const Value *value = arguments.find(place, name);
  return value ? value->truthy() : fallback;
}

/// A member by a path such as "function.name"; numbers are indices.
Value member(Interpreter &interpreter, Value value, const Value &path) {
  if (path.isInteger())
    return interpreter.item(value, path);
  std::string_view rest = path.text();
  while (true) {
    size_t dot = rest.find('.');
    std::string name(rest.substr(0, dot));
    int64_t index = 0;
    auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    bool isIndex = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    // Unlike the dot of an expression, this looks at members first.
    value = interpreter.item(value, isIndex ? Value(index) : Value(name));
    if (dot == std::string_view::npos)
      return value;
    rest.remove_prefix(dot + 1);
  }
}

Arguments withoutFirst(const Arguments &arguments, size_t count) {
  Arguments rest;
  rest.named = arguments.named;
  if (arguments.positional.size() > count)
    rest.positional.assign(arguments.positional.begin() + static_cast<ptrdiff_t>(count),
                           arguments.positional.end());
  return rest;
}

/// select, reject, selectattr and rejectattr.
Value chosen(Interpreter &interpreter, const Value &value, const Arguments &arguments,
             bool byMember, bool keep) {
  size_t skip = byMember ? 1 : 0;
  if (byMember)
    arguments.require(0, "attribute");
  const Value *test = arguments.find(skip, "");
  Arguments rest = withoutFirst(arguments, skip + 1);
  List out;
  auto items = value.iterate();
  for (const Value &item : *items) {
    interpreter.charge(sizeof(Value));
    Value tested = byMember ? member(interpreter, item, arguments.positional[0]) : item;
    bool holds = test ? interpreter.test(test->text(), tested, rest) : tested.truthy();
    if (holds == keep)
      out.push_back(item);
  }
  return out;
}

Value mapped(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *path = nullptr, *fallback = nullptr;
  for (const auto &[name, argument] : arguments.named) {
    if (name == "attribute")
      path = &argument;
    else if (name == "default")
      fallback = &argument;
  }
  Arguments rest = withoutFirst(arguments, 1);
  List out;
  auto items = value.iterate();
  for (const Value &item : *items) {
    interpreter.charge(sizeof(Value));
    if (path) {
      Value found = member(interpreter, item, *path);
      out.push_back(found.isUndefined() && fallback ? *fallback : std::move(found));
    } else {
      out.push_back(interpreter.filter(arguments.require(0, "filter").text(), item, rest));
    }
  }
  return out;
}

/// What sort, min, max and unique compare: a member, in lower case.
List keysOf(Interpreter &interpreter, const List &items, const Value *path, bool caseSensitive) {
  List keys;
  for (const Value &item : items) {
    Value key = path && !path->isNone() ? member(interpreter, item, *path) : item;
    interpreter.charge(key.weight());
    keys.push_back(key.isString() && !caseSensitive ? Value(lower(key.text())) : std::move(key));
  }
  return keys;
}

Value sorted(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  bool reverse = flag(arguments, 0, "reverse", false);
  auto items = value.iterate();
  List keys = keysOf(interpreter, *items, arguments.find(2, "attribute"),
                     flag(arguments, 1, "case_sensitive", false));
  std::vector<size_t> order(items->size());
  std::iota(order.begin(), order.end(), size_t(0));
  // Equal keys stay in their order, in reverse, too.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (Value::less(keys[a], keys[b]))
      return !reverse;
    if (Value::less(keys[b], keys[a]))
      return reverse;
    return a < b;
  });
  List out;
  for (size_t i : order)
    out.push_back((*items)[i]);
  return out;
}

Value extreme(Interpreter &interpreter, const Value &value, const Arguments &arguments,
              bool largest) {
  auto items = value.iterate();
  if (items->empty())
    return Undefined{"no item"};
  List keys = keysOf(interpreter, *items, arguments.find(1, "attribute"),
                     flag(arguments, 0, "case_sensitive", false));
  size_t best = 0;
  for (size_t i = 1; i < keys.size(); ++i)
    if (largest ? Value::less(keys[best], keys[i]) : Value::less(keys[i], keys[best]))
      best = i;
  return (*items)[best];
}

Value unique(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  auto items = value.iterate();
  List keys = keysOf(interpreter, *items, arguments.find(1, "attribute"),
                     flag(arguments, 0, "case_sensitive", false));
  List out, seen;
  for (size_t i = 0; i < keys.size(); ++i) {
    interpreter.charge(seen.size()); // the search is quadratic
    if (std::find(seen.begin(), seen.end(), keys[i]) == seen.end()) {
      seen.push_back(keys[i]);
      out.push_back((*items)[i]);
    }
  }
  return out;
}

Value dictSorted(Interpreter &, const Value &value, const Arguments &arguments) {
  bool sensitive = flag(arguments, 0, "case_sensitive", false);
  const Value *by = arguments.find(1, "by");
  bool byValue = by && by->text() == "value";
  bool reverse = flag(arguments, 2, "reverse", false);
  const Dict &dict = value.dict();
  auto keyOf = [&](size_t i) {
    const Value &key = byValue ? dict[i].second : dict[i].first;
    return key.isString() && !sensitive ? Value(lower(key.text())) : key;
  };
  std::vector<size_t> order(dict.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    Value first = keyOf(a), second = keyOf(b);
    if (Value::less(first, second))
      return !reverse;
    if (Value::less(second, first))
      return reverse;
    return a < b;
  });
  List out;
  for (size_t i : order)
    out.push_back(List{dict[i].first, dict[i].second});
  return out;
}

Value joined(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *by = arguments.find(0, "d"), *path = arguments.find(1, "attribute");
  std::string separator = by ? by->str() : "", out;
  auto items = value.iterate();
  for (size_t i = 0; i < items->size(); ++i) {
    std::string text = (path ? member(interpreter, (*items)[i], *path) : (*items)[i]).str();
    interpreter.charge(text.size() + separator.size());
    if (i)
      out += separator;
    out += text;
  }
  return out;
}

Value json(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  interpreter.charge(value.weight());
  // transformers: tojson(x, ensure_ascii, indent, separators, sort_keys)
  const Value *indent = arguments.find(1, "indent"), *separators = arguments.find(2, "separators");
  int64_t by = -1;
  if (indent && !indent->isNone())
    by = std::clamp<int64_t>(indent->integer(), 0, 64);
  std::string item = by >= 0 ? "," : ", ", key = ": ";
  if (separators && !separators->isNone()) {
    if (separators->list().size() != 2)
      throw TemplateError("separators has to be a pair");
    item = separators->list()[0].text();
    key = separators->list()[1].text();
  }
  return toJson(value, by, item, key, flag(arguments, 3, "sort_keys", false));
}

Value indented(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *width = arguments.find(0, "width");
  std::string prefix = "    ";
  if (width)
    prefix = width->isString()
                 ? width->text()
                 : std::string(static_cast<size_t>(std::clamp<int64_t>(width->integer(), 0, 1000)),
                               ' ');
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

Value toInteger(const Value &value, const Arguments &arguments) {
  const Value *fallback = arguments.find(0, "default");
  Value otherwise = fallback ? *fallback : Value(int64_t(0));
  if (value.isInteger())
    return value.integer();
  if (value.isFloat())
    return std::fabs(value.number()) < 9e18 ? Value(static_cast<int64_t>(value.number()))
                                            : otherwise;
  if (!value.isString())
    return otherwise;
  std::string text(strip(value.text(), true, true));
  int64_t number = 0;
  auto parsed = std::from_chars(text.data() + text.starts_with('+'), text.data() + text.size(),
                                number);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && !text.empty())
    return number;
  double real = 0;
  parsed = std::from_chars(text.data(), text.data() + text.size(), real);
  bool whole = parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return whole && std::fabs(real) < 9e18 ? Value(static_cast<int64_t>(real)) : otherwise;
}

Value toFloat(const Value &value, const Arguments &arguments) {
  if (value.isNumber())
    return value.number();
  double number = 0;
  if (value.isString()) {
    std::string text(strip(value.text(), true, true));
    auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size())
      return number;
  }
  const Value *fallback = arguments.find(0, "default");
  return fallback ? *fallback : Value(0.0);
}

Value rounded(const Value &value, const Arguments &arguments) {
  const Value *precision = arguments.find(0, "precision"), *method = arguments.find(1, "method");
  double scale = std::pow(10.0, precision ? static_cast<double>(precision->integer()) : 0);
  double scaled = value.number() * scale;
  if (method && method->text() == "ceil")
    return std::ceil(scaled) / scale;
  if (method && method->text() == "floor")
    return std::floor(scaled) / scale;
  return std::nearbyint(scaled) / scale; // halves to even, as Python
}

Value absolute(Interpreter &interpreter, const Value &value, const Arguments &) {
  if (value.isFloat())
    return std::fabs(value.number());
  return value.integer() < 0 ? applyBinary(interpreter, "-", int64_t(0), value)
                             : Value(value.integer());
}

Value total(Interpreter &interpreter, const Value &value, const Arguments &arguments) {
  const Value *path = arguments.find(0, "attribute"), *start = arguments.find(1, "start");
  Value sum = start ? *start : Value(int64_t(0));
  auto items = value.iterate();
  for (const Value &item : *items)
    sum = applyBinary(interpreter, "+", sum,
                      path && !path->isNone() ? member(interpreter, item, *path) : item);
  return sum;
}

Value withDefault(const Value &value, const Arguments &arguments) {
  const Value *fallback = arguments.find(0, "default_value");
  bool alsoFalse = flag(arguments, 1, "boolean", false);
  if (value.isUndefined() || (alsoFalse && !value.truthy()))
    return fallback ? *fallback : Value("");
  return value;
}

Value escaped(const Value &value) {
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
  return out;
}

Value lengthOf(const Value &value) {
  int64_t length = value.length();
  if (length < 0)
    throw TemplateError(std::string(value.typeName()) + " has no length");
  return length;
}

Value reversed(const Value &value) {
  if (value.isString())
    return sliceOf(value, {}, {}, int64_t(-1));
  List out = *value.iterate();
  std::reverse(out.begin(), out.end());
  return out;
}

Value endItem(const Value &value, bool last) {
  auto items = value.iterate();
  if (items->empty())
    return Undefined{"no item"};
  return last ? items->back() : items->front();
}

Value trimmed(const Value &value, const Arguments &arguments) {
  const Value *set = arguments.find(0, "chars");
  return strip(value.str(), true, true, set && !set->isNone() ? &set->text() : nullptr);
}

} // namespace

FilterFunction findFilter(const std::string &name) {
  static const std::unordered_map<std::string_view, FilterFunction> table = {
      {"abs", absolute},
      {"attr", LLMC_FILTER(return interpreter.attribute(value,
                                                        arguments.require(0, "name").text());)},
      {"capitalize", LLMC_FILTER(return capitalize(value.str());)},
      {"count", LLMC_FILTER(return lengthOf(value);)},
      {"d", LLMC_FILTER(return withDefault(value, arguments);)},
      {"default", LLMC_FILTER(return withDefault(value, arguments);)},
      {"dictsort", dictSorted},
      {"e", LLMC_FILTER(return escaped(value);)},
      {"escape", LLMC_FILTER(return escaped(value);)},
      {"first", LLMC_FILTER(return endItem(value, false);)},
      {"float", LLMC_FILTER(return toFloat(value, arguments);)},
      {"format", LLMC_FILTER(return formatPercent(value.str(), arguments.positional);)},
      {"indent", indented},
      {"int", LLMC_FILTER(return toInteger(value, arguments);)},
      {"items", LLMC_FILTER(if (value.isUndefined()) return List{};
                            return callMethod(interpreter, Value(value.dict()), "items", {});)},
      {"join", joined},
      {"last", LLMC_FILTER(return endItem(value, true);)},
      {"length", LLMC_FILTER(return lengthOf(value);)},
      {"list", LLMC_FILTER(return *value.iterate();)},
      {"lower", LLMC_FILTER(return lower(value.str());)},
      {"map", mapped},
      {"max", LLMC_FILTER(return extreme(interpreter, value, arguments, true);)},
      {"min", LLMC_FILTER(return extreme(interpreter, value, arguments, false);)},
      {"pprint", LLMC_FILTER(return value.repr();)},
      {"reject", LLMC_FILTER(return chosen(interpreter, value, arguments, false, false);)},
      {"rejectattr", LLMC_FILTER(return chosen(interpreter, value, arguments, true, false);)},
      {"replace", LLMC_FILTER({
         const Value *count = arguments.find(2, "count");
         return replaceAll(interpreter, value.str(), arguments.require(0, "old").str(),
                           arguments.require(1, "new").str(),
                           count && !count->isNone() ? count->integer() : -1);
       })},
      {"reverse", LLMC_FILTER(return reversed(value);)},
      {"round", LLMC_FILTER(return rounded(value, arguments);)},
      {"safe", LLMC_FILTER(return value.str();)},
      {"select", LLMC_FILTER(return chosen(interpreter, value, arguments, false, true);)},
      {"selectattr", LLMC_FILTER(return chosen(interpreter, value, arguments, true, true);)},
      {"sort", sorted},
      {"string", LLMC_FILTER(return value.str();)},
      {"sum", total},
      {"title", LLMC_FILTER(return title(value.str());)},
      {"tojson", json},
      {"trim", LLMC_FILTER(return trimmed(value, arguments);)},
      {"unique", unique},
      {"upper", LLMC_FILTER(return upper(value.str());)},
      {"wordcount", LLMC_FILTER(return callMethod(interpreter, Value(value.str()), "split", {})
                                    .length();)},
  };
  auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

} // namespace llmc::rt::chat
