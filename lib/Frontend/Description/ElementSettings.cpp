//===- ElementSettings.cpp - settings of element operations ---------------===//
#include "llmc/Frontend/ElementSettings.h"

#include <cmath>

namespace llmc::frontend {

bool countsFromLayer(const OpCall &call) {
  const Value *layer = call.findNamed("layer");
  if (!layer)
    return false;
  const bool *counts = layer->get<bool>();
  if (!counts)
    opError(call, "'layer' must be true or false, it is " + layer->toText());
  return *counts;
}

/// Configs write whole numbers as 8192.0 too.
static int64_t wholeNumber(const OpCall &call, const char *name, const Value *value,
                           int64_t least) {
  int64_t number = least - 1;
  if (const int64_t *integer = value ? value->get<int64_t>() : nullptr)
    number = *integer;
  else if (const double *real = value ? value->get<double>() : nullptr;
           real && std::floor(*real) == *real && std::fabs(*real) < 9e15)
    number = int64_t(*real);
  if (number < least)
    opError(call, std::string("'") + name + "' must be a whole number from " +
                      std::to_string(least) + " up, it is " +
                      (value ? value->toText() : std::string("not given")));
  return number;
}

PositionScaleSettings positionScaleOf(const OpCall &call) {
  PositionScaleSettings settings;
  const Value *scale = call.findNamed("scale");
  if (!scale || !scale->isNumber() || !std::isfinite(float(scale->asDouble())))
    opError(call, "'scale' must be a number that is finite in f32, it is " +
                      (scale ? scale->toText() : std::string("not given")));
  settings.scale = scale->asDouble();
  settings.period = wholeNumber(call, "period", call.findNamed("period"), 1);
  if (const Value *shift = call.findNamed("shift"))
    settings.shift = wholeNumber(call, "shift", shift, 0);
  return settings;
}

} // namespace llmc::frontend
