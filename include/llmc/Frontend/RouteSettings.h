//===- RouteSettings.h - the arguments of a router --------------*- C++ -*-===//
//
// What `route(logits, ...)` of a description says, checked once for every receiver of its
// operations. The meaning is that of llm.route (docs/Dialects/LLM.md).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_ROUTESETTINGS_H
#define LLMC_FRONTEND_ROUTESETTINGS_H

#include "llmc/Frontend/OpHooks.h"

namespace llmc::frontend {

/// Texts are the dialect's keywords; null and 0 stand for what is not given.
struct RouteSettings {
  std::string score, normalise, groupScore;
  int64_t top = 0, groups = 0, keep = 0;
  double scale = 1;
  /// Of the normalisation `margin`.
  double margin = 0;
  const WeightRef *bias = nullptr, *table = nullptr, *expertScale = nullptr;
  const Handle *tokens = nullptr;
};

/// The settings of a route over that many experts. Throws InputError that names the argument
/// and both values where they do not fit.
RouteSettings routeSettings(const OpCall &call, int64_t experts);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ROUTESETTINGS_H
