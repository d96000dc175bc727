//===- AttentionSettings.cpp - the arguments of attention -----------------===//
#include "llmc/Frontend/AttentionSettings.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace llmc::frontend {

namespace {

int64_t positions(const OpCall &call, const char *name) {
  const Value *value = call.findGiven(name);
  if (!value)
    return 0;
  const int64_t *count = value->get<int64_t>();
  if (!count || *count < 1)
    opError(call, std::string("'") + name + "' must be null or a positive number of positions, "
                  "got " + value->toText());
  return *count;
}

/// The operations compute in f32.
double real(const OpCall &call, const Value &value, const char *what) {
  float number = value.isNumber() ? float(value.asDouble()) : 0;
  if (!std::isfinite(number) || number <= 0)
    opError(call, std::string(what) + " must be a number that is positive and finite in f32, got " +
                      value.toText());
  return value.asDouble();
}

} // namespace

int64_t rotaryStart(const OpCall &call) {
  const Value *value = call.findGiven("from");
  if (!value)
    return 0;
  const int64_t *first = value->get<int64_t>();
  if (!first || *first < 0)
    opError(call, "'from' must be null or the first channel that turns, got " + value->toText());
  return *first;
}

int64_t positionsToSelect(const OpCall &call) {
  if (call.args.size() != 3)
    opError(call, "needs queries, weights and keys");
  int64_t top = positions(call, "top");
  if (!top)
    opError(call, "needs 'top', how many positions a token sees");
  return top;
}

int64_t emptySelection(const OpCall &call) {
  int64_t top = intArg(call, 0);
  if (call.args.size() != 1 || top < 1)
    opError(call, "needs how many positions a token sees, a positive number");
  return top;
}

std::vector<float> alibiSlopes(int64_t heads, double maximum, double factor) {
  int64_t n = 1;
  while (n < heads)
    n *= 2;
  std::vector<float> slopes;
  auto add = [&](int64_t from) {
    for (int64_t i = from; i <= n && int64_t(slopes.size()) < heads; i += n == heads ? 1 : 2)
      slopes.push_back(float(std::exp2(-maximum * double(i) / double(n)) * factor));
  };
  if (n != heads)
    add(2);
  add(1);
  return slopes;
}

AttentionSettings attentionSettings(const OpCall &call, int64_t heads) {
  static const char *const known[] = {"window", "chunk",     "scale",  "softcap",     "sinks",
                                      "alibi",  "selection", "values", "alibi_factor",
                                      "from"};
  for (const auto &argument : call.named)
    if (std::find(std::begin(known), std::end(known), argument.first) == std::end(known))
      opError(call, "has no argument '" + argument.first + "'");
  if (call.args.size() != 4)
    opError(call, "needs queries, keys, values and the kind of state");
  AttentionSettings settings;
  const std::string &kind = textArg(call, 3);
  if (kind != "paged" && kind != "latent")
    opError(call, "state kind '" + kind + "' is not known; there are paged and latent");
  settings.isLatent = kind == "latent";
  if (const Value *from = call.findGiven("from")) {
    const int64_t *layer = from->get<int64_t>();
    if (!layer || *layer < 0)
      opError(call, "'from' must be null or the number of an earlier layer, got " + from->toText());
    if (!call.args[1].isNull() || !call.args[2].isNull())
      opError(call, "the keys and values of layer " + std::to_string(*layer) +
                        " are read: its own must be null");
    settings.from = *layer;
  } else if (call.args[1].isNull()) {
    opError(call, "needs keys, they are null; 'from' would read those of another layer");
  }
  if (settings.from < 0 && settings.isLatent != call.args[2].isNull())
    opError(call, settings.isLatent ? "a latent state keeps keys alone: its values must be null"
                                    : "needs values, they are null");
  if (const Value *values = call.findGiven("values")) {
    const int64_t *width = values->get<int64_t>();
    if (!settings.isLatent || !width || *width < 1)
      opError(call, "'values' is how many channels of the keys of a latent state are their value, "
                    "got " + values->toText() + " for a " + kind + " state");
    settings.values = *width;
  } else if (settings.isLatent) {
    opError(call, "a latent state needs 'values', how many channels of its keys are their value");
  }
  const Value *scale = call.findGiven("scale");
  if (!scale || !scale->isNumber())
    opError(call, "'scale' must be a number");
  settings.scale = real(call, *scale, "'scale'");
  if (const Value *cap = call.findGiven("softcap"))
    settings.softcap = real(call, *cap, "a softcap");
  settings.window = positions(call, "window");
  settings.chunk = positions(call, "chunk");
  settings.sinks = weightOrNull(call, "sinks");
  settings.selection = handleOrNull(call, "selection", "what select_positions gives");
  const Value *factor = call.findGiven("alibi_factor");
  if (const Value *alibi = call.findGiven("alibi")) {
    double most = real(call, *alibi, "'alibi', the greatest exponent of its slopes,");
    settings.slopes = alibiSlopes(heads, most, factor ? real(call, *factor, "'alibi_factor'") : 1);
  } else if (factor) {
    opError(call, "'alibi_factor' has no 'alibi' to multiply");
  }
  return settings;
}

} // namespace llmc::frontend
