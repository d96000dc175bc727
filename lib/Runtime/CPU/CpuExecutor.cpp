//===- CpuExecutor.cpp - a step walked by a team of threads ---------------===//

#include "CpuDevice.h"

#include <chrono>

namespace llmc::rt {

/// A thread's own part of a launch is handed out in so many pieces, so that
/// threads that are done early can take some. Results never depend on it.
static constexpr int64_t piecesOfPart = 4;

CpuExecutor::CpuExecutor(int threads, bool pin) : team({threads, pin}), barrier(uint32_t(threads)) {
  for (std::vector<Cursor> &set : cursors)
    set = std::vector<Cursor>(size_t(threads));
}

/// One step. Members are written before the team starts, except `stop`.
class CpuExecutor::Walk {
public:
  Walk(CpuExecutor &executor, const llmc_device_step &step)
      : executor(executor), step(step), threads(executor.threads()),
        part(step.workspace_bytes / threads / 64 * 64) {}

  void walk(int worker, SpinBudget &budget);
  bool cancelled = false; ///< of worker 0

private:
  bool isParallel(const llmc_command &command) const {
    return command.kind == LLMC_COMMAND_LAUNCH && command.items > 1 && threads > 1;
  }
  void *scratch(int worker) const {
    return part ? static_cast<char *>(step.workspace) + worker * part : nullptr;
  }
  void runParallel(const llmc_command &command, int worker, std::vector<Cursor> &set) const;
  void runAlone(const llmc_command &command) const;

  CpuExecutor &executor;
  const llmc_device_step &step;
  const int threads;
  const int64_t part;
  /// Worker 0's decision to end at a meeting. Two, because worker 0 may be at
  /// the next meeting while others still read the decision of this one.
  bool stop[2] = {false, false};
};

void CpuExecutor::Walk::runParallel(const llmc_command &command, int worker,
                                    std::vector<Cursor> &set) const {
  llmc_kernel_fn kernel = step.module->module.kernel(command.kernel);
  int64_t least = command.items / threads, longer = command.items % threads;
  for (int turn = 0; turn < threads; ++turn) {
    int owner = worker + turn < threads ? worker + turn : worker + turn - threads;
    int64_t begin = owner * least + std::min<int64_t>(owner, longer);
    int64_t length = least + (owner < longer ? 1 : 0);
    int64_t piece = std::max<int64_t>(1, length / piecesOfPart);
    std::atomic<int64_t> &next = set[size_t(owner)].next;
    while (next.load(std::memory_order_relaxed) < length) {
      int64_t from = next.fetch_add(piece, std::memory_order_relaxed);
      if (from >= length)
        break;
      kernel(command.args, begin + from, begin + std::min(from + piece, length), scratch(worker));
    }
  }
}

void CpuExecutor::Walk::runAlone(const llmc_command &command) const {
  switch (command.kind) {
  case LLMC_COMMAND_LAUNCH:
    step.module->module.kernel(command.kernel)(command.args, 0, command.items, scratch(0));
    break;
  case LLMC_COMMAND_OBSERVE:
    step.observe(step.user, &command, static_cast<const float *>(command.args[0]));
    break;
  case LLMC_COMMAND_COLLECTIVE:
    step.collective(step.user, &command);
    break;
  }
}

void CpuExecutor::Walk::walk(int worker, SpinBudget &budget) {
  using Clock = std::chrono::steady_clock;
  bool timed = step.nanoseconds != nullptr, parallelBefore = false, first = true;
  unsigned meetings = 0, launches = 0;
  Clock::time_point before = Clock::now();
  size_t timedCommand = 0;

  // True where the step ends here.
  auto meet = [&] {
    unsigned slot = meetings++ & 1;
    if (worker == 0)
      stop[slot] = step.cancelled && step.cancelled(step.user);
    executor.barrier.wait(budget);
    return stop[slot];
  };
  auto clock = [&] {
    if (worker != 0)
      return;
    Clock::time_point now = Clock::now();
    step.nanoseconds[timedCommand] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - before).count();
    before = now;
  };

  for (size_t i = 0; i < step.command_count; ++i) {
    const llmc_command &command = step.commands[i];
    if (command.kind == LLMC_COMMAND_LAUNCH && command.items <= 0)
      continue;
    bool parallel = isParallel(command);
    // Neighbours that both run on worker 0 alone are in order by themselves.
    if (!first && (parallel || parallelBefore || timed || threads == 1)) {
      if (meet()) {
        if (worker == 0)
          cancelled = true;
        return;
      }
      if (timed)
        clock();
    }
    timedCommand = i;
    if (parallel) {
      // Nobody is in the launch before any more, and nobody gets to the next
      // one before this worker has left this one: the other set is free.
      executor.cursors[(launches + 1) & 1][size_t(worker)].next.store(0, std::memory_order_relaxed);
      runParallel(command, worker, executor.cursors[launches++ & 1]);
    } else if (worker == 0) {
      runAlone(command);
    }
    parallelBefore = parallel;
    first = false;
  }
  if (timed && !first) {
    meet();
    clock();
  }
}

bool CpuExecutor::run(const llmc_device_step &step) {
  for (std::vector<Cursor> &set : cursors)
    for (Cursor &cursor : set)
      cursor.next.store(0, std::memory_order_relaxed);
  if (step.cancelled && step.cancelled(step.user))
    return false;
  Walk walk(*this, step);
  team.run([&](int worker, SpinBudget &budget) { walk.walk(worker, budget); });
  return !walk.cancelled;
}

} // namespace llmc::rt
