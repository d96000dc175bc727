//===- Trace.h - named intermediate values of a run -------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_TRACE_H
#define LLMC_RUNTIME_TRACE_H

#include "llmc/Runtime/Session.h"
#include "llmc/Runtime/TraceFile.h"

namespace llmc::rt {

struct TraceOptions {
  int64_t greedy = 0;      ///< tokens to decode after the prompt
  int64_t chunk = 0;       ///< prompt tokens of one step; 0: the step's limit
  bool onlyLogits = false; ///< leave out what instrumentation points show
  /// Prompt of another request that runs in the same steps; empty: none.
  std::vector<int32_t> otherPrompt{};
};

/// What the instrumentation points show of the prompt, [T, width] each; then
/// `logits` [T, V], and with greedy > 0 `greedy` [N] and the logits each token
/// was chosen from, `greedy_logits` [N, V]. Of equal logits the lowest id wins.
std::vector<TraceTensor> traceSession(Session &session, const std::vector<int32_t> &prompt,
                                      const TraceOptions &options = {});

} // namespace llmc::rt

#endif // LLMC_RUNTIME_TRACE_H
