//===- AttentionSettings.h - the arguments of attention ---------*- C++ -*-===//
//
// What `attend(q, k, v, kind, ...)` of a description says, checked once for every receiver of
// its operations. The meaning is that of llm.paged_attention (docs/Dialects/LLM.md).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_ATTENTIONSETTINGS_H
#define LLMC_FRONTEND_ATTENTIONSETTINGS_H

#include "llmc/Frontend/OpHooks.h"

namespace llmc::frontend {

/// 0, null and empty stand for what is not given.
struct AttentionSettings {
  /// Keys alone are kept; values are the first `values` channels of the keys.
  bool isLatent = false;
  int64_t values = 0;
  double scale = 0, softcap = 0;
  /// Positions.
  int64_t window = 0, chunk = 0;
  /// The layer whose keys and values are read in place of own ones, -1 for none.
  int64_t from = -1;
  const WeightRef *sinks = nullptr;
  const Handle *selection = nullptr;
  /// A slope for each head, see alibiSlopes.
  std::vector<float> slopes;
};

/// The settings of an attention of that many query heads. Throws InputError that names the
/// argument and both values where they do not fit.
AttentionSettings attentionSettings(const OpCall &call, int64_t heads);

/// The channel that `rotary(x, rope, from: n)` turns from, 0 where there is none.
int64_t rotaryStart(const OpCall &call);
/// The `top` of `select_positions(q, w, k, top: n)`.
int64_t positionsToSelect(const OpCall &call);
/// The n of `no_positions(n)`.
int64_t emptySelection(const OpCall &call);

/// The slopes of attention with linear biases (Press et al., 2021): with n the least power of
/// two that is at least `heads`, the numbers s_i = 2^(-maximum * i / n), i = 1 .. n, first those
/// of even i and then those of odd i where n is above `heads`, as many as there are heads; all
/// times `factor`.
std::vector<float> alibiSlopes(int64_t heads, double maximum, double factor);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ATTENTIONSETTINGS_H
