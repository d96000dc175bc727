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
  return Value::ofKind(object.isTuple() ? ListKind::Tuple : ListKind::List, std::move(out));
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
    return formatPercent(interpreter, a.text(), b);
  requireDefined(b);
  if (a.isInteger() && b.isInteger())
    return integers(op, a, b);
  if (a.isNumber() && b.isNumber())
    return floats(op, a.number(), b.number());
  if (op == "+" && a.isString() && b.isString() && a.isMarkup() != b.isMarkup()) {
    // What is not escaped yet becomes so beside what is.
    Value left = escaped(a), right = escaped(b);
    interpreter.charge(left.text().size() + right.text().size());
    return Value::markup(left.text() + right.text());
  }
  if (op == "+" && a.isMarkup() && b.isMarkup()) {
    interpreter.charge(a.text().size() + b.text().size());
    return Value::markup(a.text() + b.text());
  }
  if (op == "+" && a.isString() && b.isString()) {
    interpreter.charge(a.text().size() + b.text().size());
    return a.text() + b.text();
  }
  auto joins = [](const Value &value) { return value.isList(ListKind::List) || value.isTuple(); };
  if (op == "+" && joins(a) && joins(b) && a.isTuple() == b.isTuple()) {
    interpreter.charge((a.list().size() + b.list().size()) * sizeof(Value));
    List out = a.list();
    out.insert(out.end(), b.list().begin(), b.list().end());
    return Value::ofKind(a.isTuple() ? ListKind::Tuple : ListKind::List, std::move(out));
  }
  if (op == "*" && (a.isString() || joins(a)) && b.isInteger())
    return repeat(interpreter, a, b.integer());
  if (op == "*" && (b.isString() || joins(b)) && a.isInteger())
    return repeat(interpreter, b, a.integer());
  unsupported(op, a, b);
}

bool contains(const Value &container, const Value &item) {
  if (container.isString()) {
    if (!item.isString())
      throw TemplateError(std::string(item.typeName()) + " cannot be searched for in a string");
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.isDict()) {
    if (!item.isHashable())
      throw TemplateError(std::string(item.typeName()) + " cannot be a key");
    return container.find(item) != nullptr;
  }
  if (container.isList())
    return std::find(container.list().begin(), container.list().end(), item) !=
           container.list().end();
  if (container.isUndefined())
    return false;
  if (container.isGenerator()) {
    for (Value candidate; container.generator()->next(candidate);)
      if (candidate == item)
        return true;
    return false;
  }
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

Value sliceOf(const Value &object, const Value &start, const Value &stop, const Value &step) {
  requireDefined(object);
  if (!object.isString() && !object.isIndexed())
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
    if (!object.isList(ListKind::Range))
      return Value::ofKind(object.isTuple() ? ListKind::Tuple : ListKind::List, std::move(out));
    auto [start, end, stride] = object.bounds();
    auto at = [start = start, stride = stride](int64_t index) {
      int64_t value;
      if (__builtin_mul_overflow(index, stride, &value) ||
          __builtin_add_overflow(value, start, &value))
        overflow();
      return value;
    };
    int64_t inner;
    if (__builtin_mul_overflow(stride, by, &inner))
      overflow();
    return Value::range(at(first), at(last), inner);
  }
  auto characters = charactersOf(object.text());
  std::string out;
  for (int64_t i : picked)
    out += characters[static_cast<size_t>(i)];
  return out;
}

} // namespace llmc::rt::chat
