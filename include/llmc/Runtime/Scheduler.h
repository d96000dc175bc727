//===- Scheduler.h - requests that share steps ------------------*- C++ -*-===//
//
// Continuous batching: every step takes one token of each request that
// generates, and fills up with pieces of the prompts of the others. A request
// is admitted when the blocks of its whole length are free, so that no request
// that runs is ever stopped for want of memory.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_SCHEDULER_H
#define LLMC_RUNTIME_SCHEDULER_H

#include "llmc/Runtime/Session.h"

#include <deque>

namespace llmc::rt {

struct Request {
  std::vector<int32_t> prompt;
  /// Tokens to generate at most. The last one is not fed back.
  int64_t maxTokens = 0;
  /// Show the logits of every position of the prompt to onLogits.
  bool promptLogits = false;
  /// The logits after the token at a position, in order of positions.
  std::function<void(int64_t position, std::span<const float> logits)> onLogits;
  /// Chooses the next token; empty ends the request. Not called for maxTokens 0.
  std::function<std::optional<int32_t>(std::span<const float> logits)> next;
  /// Called once, when the request has left the scheduler.
  std::function<void()> onEnd;
};

struct SchedulerOptions {
  /// Prompt tokens of a request that a step takes at most; 0: the step's limit.
  int64_t chunk = 0;
};

class Scheduler {
public:
  using Id = int64_t;

  explicit Scheduler(Session &session, const SchedulerOptions &options = {});
  ~Scheduler();

  /// Throws InputError for a request that could never be admitted.
  Id submit(Request request);
  void cancel(Id id);

  /// Runs one step; false when nothing is left to do. What a step throws
  /// leaves every request as it was before the step.
  bool step();
  void run() {
    while (step())
      ;
  }

  /// Which request the rows of a step's s-th sequence belong to; for observers.
  Id requestOf(int64_t sequence) const { return stepRequests[size_t(sequence)]; }
  int64_t stepsRun() const { return steps; }

private:
  struct Active {
    Id id = 0;
    Request request;
    int32_t sequence = -1;
    std::vector<int32_t> pending; ///< tokens that are to be fed
    size_t fed = 0;               ///< of pending
    int64_t generated = 0, reservedBlocks = 0;
    bool ended = false;
  };
  struct Piece {
    Active *active;
    int64_t tokens;
    bool last; ///< ends with the last pending token
  };

  int64_t blocksOf(const Request &request) const;
  void admit();
  std::vector<Piece> choose(int64_t &outputs);
  void deliver(const Piece &piece, const StepOutput &output, int64_t &row, int64_t before);
  void retire();

  Session &session;
  SchedulerOptions options;
  std::deque<std::unique_ptr<Active>> waiting;
  std::vector<std::unique_ptr<Active>> active;
  std::vector<Id> stepRequests;
  Id nextId = 1;
  int64_t steps = 0, unreservedBlocks;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_SCHEDULER_H
