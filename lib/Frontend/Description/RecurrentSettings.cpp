//===- RecurrentSettings.cpp - arguments of recurrent mixers --------------===//
#include "llmc/Frontend/RecurrentSettings.h"

#include <cmath>

namespace llmc::frontend {

static void needArguments(const OpCall &call, size_t least, size_t most, const char *what) {
  if (call.args.size() < least || call.args.size() > most)
    opError(call, std::string("takes ") + what + ", there are " +
                      std::to_string(call.args.size()) + " arguments");
}

std::optional<uint32_t> convBias(const OpCall &call) {
  needArguments(call, 2, 3, "an input, a weight and perhaps a bias");
  if (!call.named.empty())
    opError(call, "has no argument '" + call.named.front().first + "'");
  const WeightRef &weight = weightArg(call, 1);
  bool given = call.args.size() == 3 && !call.args[2].isNull();
  if (given && weight.biasFamily >= 0)
    opError(call, "the weight '" + weight.role + "' has a bias of its own, and another is given");
  if (given)
    return weightArg(call, 2).family;
  if (weight.biasFamily >= 0)
    return uint32_t(weight.biasFamily);
  return std::nullopt;
}

LinearAttentionSettings linearAttentionSettings(const OpCall &call) {
  needArguments(call, 4, 4, "queries, keys, values and decays");
  LinearAttentionSettings settings;
  for (const auto &[name, value] : call.named) {
    if (name == "beta") {
      if (value.isNull())
        continue;
      const Handle *beta = value.get<Handle>();
      if (!beta)
        opError(call, std::string("'beta' must be a tensor or null, it is ") + value.kindName());
      settings.beta = *beta;
    } else if (name == "rank_one") {
      const ValueList *pair = value.get<ValueList>();
      const Handle *a = pair && pair->size() == 2 ? (*pair)[0].get<Handle>() : nullptr;
      const Handle *b = a ? (*pair)[1].get<Handle>() : nullptr;
      if (!b)
        opError(call, std::string("'rank_one' must be a pair of tensors, (a, b), it is ") +
                          value.kindName());
      settings.rankOneA = *a;
      settings.rankOneB = *b;
    } else if (name == "delta" || name == "before") {
      const bool *flag = value.get<bool>();
      if (!flag)
        opError(call, "'" + name + "' must be true or false, it is " + value.toText());
      (name == "delta" ? settings.delta : settings.before) = *flag;
    } else if (name == "scale") {
      // The operation computes in f32.
      float scale = value.isNumber() ? float(value.asDouble()) : 0;
      if (!std::isfinite(scale) || scale <= 0)
        opError(call, "'scale' must be a number that is positive and finite in f32, it is " +
                          value.toText());
      settings.scale = value.asDouble();
    } else {
      opError(call, "has no argument '" + name + "'");
    }
  }
  if (settings.delta && settings.rankOneA)
    opError(call, "has 'delta' and 'rank_one': what is taken back from the state is said by one "
                  "of them");
  return settings;
}

} // namespace llmc::frontend
