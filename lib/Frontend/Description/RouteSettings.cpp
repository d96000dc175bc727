//===- RouteSettings.cpp - the arguments of a router ----------------------===//
#include "llmc/Frontend/RouteSettings.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

namespace llmc::frontend {

namespace {

/// A whole number by name, or nothing where the name is absent or null.
std::optional<int64_t> namedInt(const OpCall &call, const char *name) {
  const Value *value = call.findGiven(name);
  if (!value)
    return std::nullopt;
  const int64_t *number = value->get<int64_t>();
  if (!number)
    opError(call, std::string("'") + name + "' must be an integer or null, it is " +
                      value->toText());
  return *number;
}

/// One of `choices`, the first where the name is absent.
std::string namedChoice(const OpCall &call, const char *name,
                        const std::vector<std::string> &choices) {
  const Value *value = call.findNamed(name);
  if (!value)
    return choices.front();
  const std::string *text = value->get<std::string>();
  std::string all;
  for (const std::string &choice : choices) {
    if (text && *text == choice)
      return choice;
    all += (all.empty() ? "" : ", ") + choice;
  }
  opError(call, std::string("'") + name + "' must be one of " + all + ", it is " +
                    value->toText());
}

} // namespace

RouteSettings routeSettings(const OpCall &call, int64_t experts) {
  static const char *const known[] = {"score",     "top",   "bias",         "groups", "keep",  "group_score",
                                      "normalise", "scale", "expert_scale", "table",  "tokens", "margin"};
  for (const auto &argument : call.named)
    if (std::find(std::begin(known), std::end(known), argument.first) == std::end(known))
      opError(call, "has no argument '" + argument.first + "'");
  RouteSettings settings;
  settings.score = namedChoice(call, "score", {"softmax", "sigmoid", "sqrt_softplus", "identity"});
  settings.normalise = namedChoice(call, "normalise", {"none", "sum", "softmax", "margin"});
  settings.groupScore = namedChoice(call, "group_score", {"max", "top2"});
  settings.bias = weightOrNull(call, "bias");
  settings.table = weightOrNull(call, "table");
  settings.expertScale = weightOrNull(call, "expert_scale");
  if (const Value *tokens = call.findNamed("tokens"))
    settings.tokens = tokens->get<Handle>();
  if (!settings.table != !settings.tokens)
    opError(call, "needs a 'table' and the 'tokens' together, or neither");
  auto count = [&](const char *name, int64_t most, const char *of) {
    std::optional<int64_t> number = namedInt(call, name);
    if (number && (*number < 1 || *number > most))
      opError(call, std::string("'") + name + "' must be from 1 to the " + std::to_string(most) +
                        " " + of + ", it is " + std::to_string(*number));
    return number;
  };
  std::optional<int64_t> top = count("top", experts, "experts");
  if (!top)
    opError(call, "needs 'top', how many experts a token goes to");
  settings.top = *top;
  if (const Value *scale = call.findNamed("scale")) {
    // The operation computes in f32.
    if (!scale->isNumber() || !std::isfinite(float(scale->asDouble())))
      opError(call, "'scale' must be a number that is finite in f32, it is " + scale->toText());
    settings.scale = scale->asDouble();
  }
  const Value *margin = call.findGiven("margin");
  bool byMargin = settings.normalise == "margin";
  if (byMargin != (margin != nullptr))
    opError(call, "needs \"normalise: 'margin'\" and the 'margin' together, or neither");
  if (byMargin) {
    if (!margin->isNumber() || !(float(margin->asDouble()) > 0) ||
        !std::isfinite(float(margin->asDouble())))
      opError(call, "'margin' must be a number that is positive and finite in f32, it is " +
                        margin->toText());
    settings.margin = margin->asDouble();
    if (settings.bias || settings.table || namedInt(call, "groups"))
      opError(call, "has a margin, which goes without bias, groups and table");
  }
  std::optional<int64_t> groups = count("groups", experts, "experts");
  if (!groups)
    return settings;
  settings.groups = *groups;
  if (experts % *groups != 0)
    opError(call, std::to_string(experts) + " experts are no " + std::to_string(*groups) +
                      " groups of one size");
  std::optional<int64_t> keep = count("keep", *groups, "groups");
  if (!keep)
    opError(call, "needs 'keep', how many of the groups stay in the choice");
  settings.keep = *keep;
  int64_t size = experts / *groups;
  if (settings.top > *keep * size)
    opError(call, "'top' (" + std::to_string(settings.top) + ") is more than the " +
                      std::to_string(*keep * size) + " experts of the groups that are kept");
  if (settings.groupScore == "top2" && size < 2)
    opError(call, "the score 'top2' needs two experts a group, there is one");
  return settings;
}

} // namespace llmc::frontend
