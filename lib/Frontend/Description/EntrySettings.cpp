//===- EntrySettings.cpp - arguments of what keeps groups of tokens -------===//
#include "llmc/Frontend/EntrySettings.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace llmc::frontend {

namespace {

void check(const OpCall &call, size_t count, const char *what,
           std::initializer_list<std::string_view> names) {
  if (call.args.size() != count)
    opError(call, std::string("takes ") + what + ", there are " +
                      std::to_string(call.args.size()) + " arguments");
  for (const auto &argument : call.named)
    if (std::find(names.begin(), names.end(), argument.first) == names.end())
      opError(call, "has no argument '" + argument.first + "'");
}

/// A whole number of at least `least`; 0 where it is null or left out and may be.
int64_t count(const OpCall &call, const char *name, int64_t least, bool isNeeded) {
  const Value *value = call.findGiven(name);
  if (!value && !isNeeded)
    return 0;
  const int64_t *number = value ? value->get<int64_t>() : nullptr;
  if (!number || *number < least)
    opError(call, std::string("needs '") + name + "', a whole number of at least " +
                      std::to_string(least) + (value ? ", got " + value->toText() : ""));
  return *number;
}

/// The operations compute in f32.
double real(const OpCall &call, const char *name, bool mayBeZero) {
  const Value *value = call.findGiven(name);
  float number = value && value->isNumber() ? float(value->asDouble()) : -1;
  if (!std::isfinite(number) || number < 0 || (number == 0 && !mayBeZero))
    opError(call, std::string("needs '") + name + "', a number that is " +
                      (mayBeZero ? "not negative" : "positive") + " and finite in f32" +
                      (value ? ", got " + value->toText() : ""));
  return value->asDouble();
}

bool flag(const OpCall &call, const char *name) {
  const Value *value = call.findGiven(name);
  if (!value)
    return false;
  const bool *isSet = value->get<bool>();
  if (!isSet)
    opError(call, std::string("'") + name + "' must be true or false, got " + value->toText());
  return *isSet;
}

EntrySettings entrySettings(const OpCall &call) {
  EntrySettings settings;
  settings.group = count(call, "every", 2, true);
  if (const Value *rope = call.findGiven("rope")) {
    if (!rope->is<RopeRef>())
      opError(call, std::string("'rope' must be a rope record or null, it is ") + rope->kindName());
    settings.rope = *rope->get<RopeRef>();
    settings.first = count(call, "from", 0, false);
  } else if (call.findGiven("from")) {
    opError(call, "has 'from' and no 'rope' that would turn channels");
  }
  return settings;
}

} // namespace

JointSettings jointSettings(const OpCall &call) {
  check(call, 3, "queries, keys and the rows that become entries",
        {"every", "rope", "from", "values", "scale", "window", "sinks", "selection"});
  JointSettings settings;
  settings.entries = entrySettings(call);
  settings.values = count(call, "values", 1, true);
  settings.scale = real(call, "scale", false);
  settings.window = count(call, "window", 1, false);
  settings.sinks = weightOrNull(call, "sinks");
  settings.selection = handleOrNull(call, "selection", "what select_entries gives");
  return settings;
}

EntrySelection entrySelection(const OpCall &call) {
  check(call, 3, "queries, weights and the rows that become entries",
        {"every", "rope", "from", "top"});
  return {entrySettings(call), count(call, "top", 1, true)};
}

SinkhornSettings sinkhornSettings(const OpCall &call) {
  check(call, 1, "a matrix of each token", {"steps", "eps"});
  SinkhornSettings settings{count(call, "steps", 1, true), real(call, "eps", true)};
  if (settings.steps > 1000)
    opError(call, "'steps' must be at most 1000, got " + std::to_string(settings.steps));
  return settings;
}

bool poolOverlaps(const OpCall &call) {
  check(call, 3, "values, gates and the bias of a group's places", {"overlap"});
  return flag(call, "overlap");
}

bool isInverse(const OpCall &call) { return flag(call, "inverse"); }

} // namespace llmc::frontend
