//===- EntrySettings.h - groups of tokens kept as one entry -----*- C++ -*-===//
//
// What pool_tokens, select_entries, joint_attend and sinkhorn of a description say, checked once
// for every receiver of its operations. The meaning is that of llm.pool_tokens,
// llm.select_entries, llm.joint_attention and llm.sinkhorn (docs/Dialects/LLM.md).
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_ENTRYSETTINGS_H
#define LLMC_FRONTEND_ENTRYSETTINGS_H

#include "llmc/Frontend/OpHooks.h"

#include <optional>

namespace llmc::frontend {

/// `every: n, rope: r, from: c` of select_entries and joint_attend: how rows become entries.
struct EntrySettings {
  /// Tokens an entry, at least 2.
  int64_t group = 0;
  /// What turns an entry by the position of its first token, from channel `first` on.
  std::optional<RopeRef> rope;
  int64_t first = 0;
};

/// `joint_attend(q, k, entry, every: n, rope: r, from: c, values: n, scale: s, window: n,
/// sinks: w, selection: s)`.
struct JointSettings {
  EntrySettings entries;
  int64_t values = 0;
  double scale = 0;
  /// Positions, 0 for all.
  int64_t window = 0;
  const WeightRef *sinks = nullptr;
  const Handle *selection = nullptr;
};

/// `select_entries(q, w, entry, every: n, rope: r, from: c, top: k)`.
struct EntrySelection {
  EntrySettings entries;
  int64_t top = 0;
};

/// `sinkhorn(c, steps: n, eps: e)`.
struct SinkhornSettings {
  int64_t steps = 0;
  double epsilon = 0;
};

/// All throw InputError that names the argument and what stands there.
JointSettings jointSettings(const OpCall &call);
EntrySelection entrySelection(const OpCall &call);
SinkhornSettings sinkhornSettings(const OpCall &call);
/// Whether `pool_tokens(v, g, bias, overlap: true)` overlaps.
bool poolOverlaps(const OpCall &call);
/// Whether `rotary(x, rope, inverse: true)` turns back.
bool isInverse(const OpCall &call);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_ENTRYSETTINGS_H
