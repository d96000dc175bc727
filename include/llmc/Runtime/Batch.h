//===- Batch.h - many answers in shared steps -------------------*- C++ -*-===//
#ifndef LLMC_RUNTIME_BATCH_H
#define LLMC_RUNTIME_BATCH_H

#include "llmc/Runtime/Generate.h"
#include "llmc/Runtime/Scheduler.h"

#include <exception>

namespace llmc::rt {

/// Answers to many prompts at once, through the Scheduler. Each is the one that
/// a Generator gives for the prompt alone: same tokens, same scores.
class BatchGenerator {
public:
  /// Called once a request, when its answer is complete: with the result, or
  /// with what its logits made impossible (an InputError) and no result.
  using Done = std::function<void(GenerateResult result, std::exception_ptr error)>;

  explicit BatchGenerator(Session &session, const SchedulerOptions &options = {})
      : session(session), scheduler(session, options) {}

  /// Throws InputError for a prompt that is empty or does not fit.
  void submit(std::span<const int32_t> prompt, const GenerateOptions &options, Done done);

  /// Requests that are not done.
  int64_t pending() const { return open; }

  /// Runs one step; false when nothing is left to do. Session::cancel makes it
  /// throw CancelledError; the requests are then as before the step.
  bool step() { return scheduler.step(); }

private:
  Session &session;
  int64_t open = 0;
  Scheduler scheduler;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_BATCH_H
