//===- Value.cpp - values and operation calls -----------------------------===//
#include "llmc/Frontend/Value.h"

#include "llmc/Frontend/OpHooks.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <charconv>

namespace llmc::frontend {

std::string SourceLocation::position() const {
  if (line == 0)
    return file;
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

double Value::asDouble() const {
  if (const int64_t *integer = get<int64_t>())
    return double(*integer);
  const double *number = get<double>();
  return number ? *number : 0.0;
}

const char *Value::kindName() const {
  static constexpr const char *names[] = {"null",          "a boolean", "an integer", "a number",
                                          "text",          "a list",    "a weight",   "a tensor",
                                          "a rope record", "absent"};
  return names[storage.index()];
}

std::string Value::toText() const {
  struct Printer {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      char buffer[32];
      auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
      std::string text(buffer, end);
      // Keep a number apart from an integer of the same value.
      return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
    }
    std::string operator()(const std::string &value) const { return "'" + value + "'"; }
    std::string operator()(const ValueList &list) const {
      std::string text = "[";
      for (size_t i = 0; i < list.size(); ++i)
        text += (i ? ", " : "") + list[i].toText();
      return text + "]";
    }
    std::string operator()(const WeightRef &weight) const {
      std::string text = "weight " + weight.role + "#" + std::to_string(weight.family);
      return weight.biasFamily < 0 ? text : text + "+#" + std::to_string(weight.biasFamily);
    }
    std::string operator()(const Handle &handle) const { return "%" + std::to_string(handle.id); }
    std::string operator()(const RopeRef &rope) const {
      return "rope #" + std::to_string(rope.index);
    }
    std::string operator()(const Absent &absent) const { return "absent " + absent.key; }
  };
  return std::visit(Printer{}, storage);
}

const Value *OpCall::findNamed(std::string_view argument) const {
  for (const auto &[name, value] : named)
    if (name == argument)
      return &value;
  return nullptr;
}

const Value *OpCall::findGiven(std::string_view argument) const {
  const Value *value = findNamed(argument);
  return value && !value->isNull() ? value : nullptr;
}

bool addsBiases(std::string_view operation) {
  return operation == "linear" || operation == "expert_linear" || operation == "causal_conv";
}

ValueList stepValues(const OpCall &call) {
  for (const auto &argument : call.named)
    if (argument.first != "with")
      opError(call, "has no argument '" + argument.first + "'");
  if (call.args.empty())
    opError(call, "needs the values that it carries from layer to layer");
  ValueList list;
  if (const Value *with = call.findNamed("with")) {
    if (const ValueList *given = with->get<ValueList>())
      list = *given;
    else if (!with->isNull())
      list.push_back(*with);
  }
  for (const Value &value : list)
    if (!value.is<Handle>())
      opError(call, std::string("'with' must be a tensor or a tuple of them, there is ") +
                        value.kindName());
  return list;
}

ValueList carriedValues(const OpCall &call, const Value &result, const std::string &kind) {
  ValueList list;
  if (const ValueList *given = result.get<ValueList>())
    list = *given;
  else
    list.push_back(result);
  bool tensors = std::all_of(list.begin(), list.end(),
                             [](const Value &value) { return value.is<Handle>(); });
  if (!tensors || list.size() != call.args.size())
    opError(call, "a layer of kind '" + kind + "' gives " +
                      (list.size() == 1 ? std::string(list[0].kindName())
                                        : std::to_string(list.size()) + " values") +
                      ", it must give the " + std::to_string(call.args.size()) +
                      " tensors that are carried");
  return list;
}

size_t resultCount(const OpCall &call) {
  if (call.name == "route")
    return 2;
  if (call.name == "causal_conv")
    return 1;
  if (call.name == "layers")
    return std::max<size_t>(1, call.args.size());
  size_t weights = 0;
  for (const Value &argument : call.args)
    weights += argument.is<WeightRef>();
  return addsBiases(call.name) ? std::max<size_t>(1, weights) : 1;
}

void opError(const OpCall &call, const std::string &message) {
  throw InputError(call.location.position() + ": in " + call.path + ", " + call.name +
                   "(...): " + message +
                   (call.location.text.empty() ? "" : ", in '" + call.location.text + "'"));
}

template <typename T>
static const T &argument(const OpCall &call, size_t index, const char *expected) {
  if (index >= call.args.size())
    opError(call, "argument " + std::to_string(index + 1) + " is missing, expected " + expected);
  const T *value = call.args[index].get<T>();
  if (!value)
    opError(call, "argument " + std::to_string(index + 1) + " must be " + expected + ", it is " +
                      call.args[index].kindName());
  return *value;
}

Handle handleArg(const OpCall &call, size_t index) {
  return argument<Handle>(call, index, "a tensor");
}
const WeightRef &weightArg(const OpCall &call, size_t index) {
  return argument<WeightRef>(call, index, "a weight");
}
template <typename T>
static const T *argumentOrNull(const OpCall &call, std::string_view name, const char *what) {
  const Value *value = call.findGiven(name);
  const T *held = value ? value->get<T>() : nullptr;
  if (value && !held)
    opError(call, "'" + std::string(name) + "' must be " + what + " or null, it is " +
                      value->kindName());
  return held;
}
const WeightRef *weightOrNull(const OpCall &call, std::string_view argument) {
  return argumentOrNull<WeightRef>(call, argument, "a weight");
}
const Handle *handleOrNull(const OpCall &call, std::string_view argument, const char *what) {
  return argumentOrNull<Handle>(call, argument, what);
}
int64_t intArg(const OpCall &call, size_t index) {
  return argument<int64_t>(call, index, "an integer");
}
const std::string &textArg(const OpCall &call, size_t index) {
  return argument<std::string>(call, index, "text");
}
RopeRef ropeArg(const OpCall &call, size_t index) {
  return argument<RopeRef>(call, index, "a rope record");
}
double numberArg(const OpCall &call, size_t index) {
  if (index < call.args.size() && call.args[index].isNumber())
    return call.args[index].asDouble();
  return argument<double>(call, index, "a number");
}

std::string expandExpertName(std::string_view nameTemplate, int64_t expert) {
  std::string out(nameTemplate);
  for (size_t at = out.find("{e}"); at != std::string::npos; at = out.find("{e}", at))
    out.replace(at, 3, std::to_string(expert));
  return out;
}

std::string expandLayerName(std::string_view nameTemplate, int64_t layer) {
  std::string out;
  size_t at = 0;
  while (at < nameTemplate.size()) {
    size_t open = nameTemplate.find("{i", at);
    size_t close = open == std::string_view::npos ? open : nameTemplate.find('}', open);
    if (close == std::string_view::npos) {
      out += nameTemplate.substr(at);
      break;
    }
    out += nameTemplate.substr(at, open - at);
    std::string_view inside = nameTemplate.substr(open + 2, close - open - 2);
    int64_t add = 0;
    bool good = inside.empty();
    if (!good && inside.front() == '+') {
      auto result = std::from_chars(inside.data() + 1, inside.data() + inside.size(), add);
      good = result.ec == std::errc() && result.ptr == inside.data() + inside.size();
    }
    out += good ? std::to_string(layer + add)
                : std::string(nameTemplate.substr(open, close + 1 - open));
    at = close + 1;
  }
  return out;
}

} // namespace llmc::frontend
