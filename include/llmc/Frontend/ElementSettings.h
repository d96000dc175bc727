//===- ElementSettings.h - settings of element operations -------*- C++ -*-===//
//
// What several receivers of an operation read alike.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_ELEMENTSETTINGS_H
#define LLMC_FRONTEND_ELEMENTSETTINGS_H

#include "llmc/Frontend/OpHooks.h"

namespace llmc::frontend {

/// Of take and put: whether the layer's number is added to theirs (`layer: true`).
bool countsFromLayer(const OpCall &call);

/// Of position_scale: 1 + scale * log(1 + floor((position + shift) / period)).
struct PositionScaleSettings {
  double scale = 0;
  int64_t period = 1, shift = 0;
};
/// Throws InputError (opError) where one is missing or out of range.
PositionScaleSettings positionScaleOf(const OpCall &call);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ELEMENTSETTINGS_H
