//===- RecurrentSettings.h - arguments of recurrent mixers ------*- C++ -*-===//
//
// What causal_conv and linear_attention of a description say, checked once for every receiver
// of operations. The meaning is that of the ops of the dialect (docs/Dialects/LLM.md).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_RECURRENTSETTINGS_H
#define LLMC_FRONTEND_RECURRENTSETTINGS_H

#include "llmc/Frontend/OpHooks.h"

#include <optional>

namespace llmc::frontend {

/// The family of the bias of `causal_conv(x, w, bias)`: the third argument, null for none, or
/// where it is left out the bias that the weight has. Throws InputError.
std::optional<uint32_t> convBias(const OpCall &call);

/// `linear_attention(q, k, v, decay, beta: b, rank_one: (a, b), delta: true, before: true, scale: s)`.
struct LinearAttentionSettings {
  std::optional<Handle> beta, rankOneA, rankOneB;
  bool delta = false, before = false;
  double scale = 1;
};
LinearAttentionSettings linearAttentionSettings(const OpCall &call);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_RECURRENTSETTINGS_H
