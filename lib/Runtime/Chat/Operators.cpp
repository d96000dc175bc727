//===- Operators.cpp - arithmetic, comparison and slices ------------------===//
#include "Interpreter.h"
#include "Text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace llmc::rt::chat {
namespace {

void requireDefined(const Value &value) {
  if (value.isUndefined())
    throw TemplateError("\"" + value.undefinedName() + "\" is undefined");
}

[[noreturn]] void unsupported(const std::string &op, const Value &a, const Value &b) {
  throw TemplateError("the operator " + op + " does not work on " + a.typeName() + " and " +
                      b.typeName());
}

[[noreturn]] void overflow() { throw TemplateError("a number does not fit into 64 bits"); }

Value repeat(Interpreter &interpreter, const Value &object, int64_t count) {
  auto times = static_cast<uint64_t>(std::max<int64_t>(count, 0));
  uint64_t size = object.isString() ? object.text().size() : object.list().size() * sizeof(Value);
  uint64_t total;
  if (__builtin_mul_overflow(size, times, &total))
    overflow();
  interpreter.charge(total);
  if (object.isString()) {
    std::string out;
    for (uint64_t i = 0; i < times && size; ++i)
      out += object.text();
    return out;
  }
  List out;
  for (uint64_t i = 0; i < times && size; ++i)
    out.insert(out.end(), object.list().begin(), object.list().end());
  return out;
}

Value integers(const std::string &op, const Value &left, const Value &right) {
  int64_t a = left.integer(), b = right.integer(), out;
  if (op == "+") {
    if (__builtin_add_overflow(a, b, &out))
      overflow();
    return out;
  }
  if (op == "-") {
    if (__builtin_sub_overflow(a, b, &out))
      overflow();
    return out;
  }
  if (op == "*") {
    if (__builtin_mul_overflow(a, b, &out))
      overflow();
    return out;
  }
  if (op == "**") {
    if (b < 0)
      return std::pow(static_cast<double>(a), static_cast<double>(b));
    out = 1;
    // Beyond 64 rounds only -1, 0 and 1 do not overflow, and they repeat.
    for (int64_t i = 0, rounds = b > 64 ? 64 + b % 2 : b; i < rounds; ++i)
      if (__builtin_mul_overflow(out, a, &out))
        overflow();
    return out;
  }
  if (b == 0)
    throw TemplateError("division by zero");
  if (op == "/")
    return static_cast<double>(a) / static_cast<double>(b);
  if (b == -1) { // the one quotient that overflows
    if (op == "%")
      return int64_t(0);
    if (__builtin_sub_overflow(int64_t(0), a, &out))
      overflow();
    return out;
  }
  // Python rounds towards minus infinity.
  int64_t quotient = a / b, rest = a % b;
  if (rest != 0 && (rest < 0) != (b < 0)) {
    --quotient;
    rest += b;
  }
  return op == "//" ? quotient : rest;
}

Value floats(const std::string &op, double a, double b) {
  if (op == "+")
    return a + b;
  if (op == "-")
    return a - b;
  if (op == "*")
    return a * b;
  if (op == "**")
    return std::pow(a, b);
  if (b == 0)
    throw TemplateError("division by zero");
  if (op == "/")
    return a / b;
  if (op == "//")
    return std::floor(a / b);
  double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

} // namespace

Value applyBinary(Interpreter &interpreter, const std::string &op, const Value &a,
                  const Value &b) {
  if (op == "~") {
    std::string left = a.str(), right = b.str();
    interpreter.charge(left.size() + right.size());
    return left + right;
  }
  requireDefined(a);
  if (op == "%" && a.isString())
    return formatPercent(a.text(), b.isList() ? b.list() : List{b});
  requireDefined(b);
  if (a.isInteger() && b.isInteger())
    return integers(op, a, b);
  if (a.isNumber() && b.isNumber())
    return floats(op, a.number(), b.number());
  if (op == "+" && a.isString() && b.isString()) {
    interpreter.charge(a.text().size() + b.text().size());
    return a.text() + b.text();
  }
  if (op == "+" && a.isList() && b.isList()) {
    interpreter.charge((a.list().size() + b.list().size()) * sizeof(Value));
    List out = a.list();
    out.insert(out.end(), b.list().begin(), b.list().end());
    return out;
  }
  if (op == "*" && (a.isString() || a.isList()) && b.isInteger())
    return repeat(interpreter, a, b.integer());
  if (op == "*" && (b.isString() || b.isList()) && a.isInteger())
    return repeat(interpreter, b, a.integer());
  unsupported(op, a, b);
}

bool contains(const Value &container, const Value &item) {
  if (container.isString()) {
    if (!item.isString())
      throw TemplateError(std::string(item.typeName()) + " cannot be searched for in a string");
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.isDict())
    return container.find(item) != nullptr;
  if (container.isList())
    return std::find(container.list().begin(), container.list().end(), item) !=
           container.list().end();
  if (container.isUndefined())
    return false;
  throw TemplateError(std::string(container.typeName()) + " cannot be searched");
}

bool applyComparison(const std::string &op, const Value &a, const Value &b) {
  if (op == "==")
    return a == b;
  if (op == "!=")
    return !(a == b);
  if (op == "in")
    return contains(b, a);
  if (op == "not in")
    return !contains(b, a);
  requireDefined(a);
  requireDefined(b);
  bool isNan = (a.isFloat() && std::isnan(a.number())) || (b.isFloat() && std::isnan(b.number()));
  if (isNan)
    return false;
  if (op == "<")
    return Value::less(a, b);
  if (op == ">")
    return Value::less(b, a);
  return op == "<=" ? !Value::less(b, a) : !Value::less(a, b);
}

std::string formatPercent(const std::string &format, const List &values) {
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out += format[i];
      continue;
    }
    std::string spec = "%";
    for (++i; i < format.size() && std::string_view("-+ #0123456789.").find(format[i]) !=
                                       std::string_view::npos;
         ++i)
      spec += format[i];
    char kind = i < format.size() ? format[i] : '\0';
    if (kind == '%') {
      out += '%';
      continue;
    }
    // A width of more digits is an attack, not a format.
    if (spec.size() > 12 || std::count_if(spec.begin(), spec.end(), ::isdigit) > 4)
      throw TemplateError("a format is too long");
    if (next >= values.size())
      throw TemplateError("there are fewer values than the format has places");
    const Value &value = values[next++];
    auto put = [&](const char *suffix, auto argument) {
      std::string pattern = spec + suffix;
      int size = std::snprintf(nullptr, 0, pattern.c_str(), argument);
      std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
      std::snprintf(text.data(), text.size(), pattern.c_str(), argument);
      text.pop_back();
      out += text;
    };
    switch (kind) {
    case 's':
      put("s", value.str().c_str());
      break;
    case 'r':
      put("s", value.repr().c_str());
      break;
    case 'd':
    case 'i':
    case 'u':
      put("lld", static_cast<long long>(value.isFloat() ? static_cast<int64_t>(value.number())
                                                        : value.integer()));
      break;
    case 'x':
      put("llx", static_cast<long long>(value.integer()));
      break;
    case 'X':
      put("llX", static_cast<long long>(value.integer()));
      break;
    case 'f':
      put("f", value.number());
      break;
    case 'e':
      put("e", value.number());
      break;
    case 'g':
      put("g", value.number());
      break;
    default:
      throw TemplateError("the format has a % with an unknown letter behind it");
    }
  }
  return out;
}

Value sliceOf(const Value &object, const Value &start, const Value &stop, const Value &step) {
  requireDefined(object);
  if (!object.isString() && !object.isList())
    throw TemplateError(std::string(object.typeName()) + " cannot be sliced");
  int64_t size = object.length();
  int64_t by = step.isNone() ? 1 : step.integer();
  if (by == 0)
    throw TemplateError("the step of a slice is zero");
  // Python's rules: negative indices count from the end, all are clipped.
  int64_t low = by > 0 ? 0 : -1, high = by > 0 ? size : size - 1;
  auto place = [&](const Value &index, int64_t fallback) {
    if (index.isNone())
      return fallback;
    int64_t at = index.integer();
    if (at < 0)
      at = at < -size ? -1 : at + size;
    return std::clamp(at, low, high);
  };
  int64_t first = place(start, by > 0 ? 0 : size - 1), last = place(stop, by > 0 ? size : -1);

  std::vector<int64_t> picked;
  for (int64_t i = first; by > 0 ? i < last : i > last;) {
    picked.push_back(i);
    if (__builtin_add_overflow(i, by, &i))
      break;
  }
  if (object.isList()) {
    List out;
    for (int64_t i : picked)
      out.push_back(object.list()[static_cast<size_t>(i)]);
    return out;
  }
  auto characters = charactersOf(object.text());
  std::string out;
  for (int64_t i : picked)
    out += characters[static_cast<size_t>(i)];
  return out;
}

} // namespace llmc::rt::chat
