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

/// One step. Members are written before the team starts, except `stop` and
/// `cancelled`.
class CpuExecutor::Walk {
public:
  Walk(CpuExecutor &executor, const llmc_device_step &step)
      : executor(executor), step(step), threads(executor.threads()),
        part(step.workspace_bytes / threads / 64 * 64) {}

  void walk(int worker, SpinBudget &budget);
  /// The same with a meeting after every command and the time of each.
  void walkTimed(int worker, SpinBudget &budget);
  bool cancelled = false; ///< of worker 0

private:
  bool isParallel(size_t command) const {
    const llmc_command &c = step.commands[command];
    return c.kind == LLMC_COMMAND_LAUNCH && c.items > 1 && threads > 1;
  }
  void *scratch(int worker) const {
    return part ? static_cast<char *>(step.workspace) + worker * part : nullptr;
  }
  template <typename Between>
  bool meet(int worker, SpinBudget &budget, unsigned &meetings, Between between);
  void runParallel(const llmc_command &command, int worker, unsigned &launches);
  void runShare(const llmc_command &command, int worker, std::vector<Cursor> &set) const;
  bool runAlone(size_t begin, size_t end, int worker) const;

  CpuExecutor &executor;
  const llmc_device_step &step;
  const int threads;
  const int64_t part;
  /// Worker 0's decision to end at a meeting. Two, because worker 0 may be at
  /// the next meeting while others still read the decision of this one.
  bool stop[2] = {false, false};
};

void CpuExecutor::Walk::runShare(const llmc_command &command, int worker,
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

void CpuExecutor::Walk::runParallel(const llmc_command &command, int worker, unsigned &launches) {
  // Nobody is in the launch before any more, and nobody gets to the next one
  // before this worker has left this one: the other set of cursors is free.
  executor.cursors[(launches + 1) & 1][size_t(worker)].next.store(0, std::memory_order_relaxed);
  runShare(command, worker, executor.cursors[launches++ & 1]);
}

/// False where the step was cancelled, which is only asked for on one thread:
/// otherwise meetings do.
bool CpuExecutor::Walk::runAlone(size_t begin, size_t end, int worker) const {
  for (size_t i = begin; i < end; ++i) {
    const llmc_command &command = step.commands[i];
    if (threads == 1 && step.cancelled && step.cancelled(step.user))
      return false;
    if (command.kind == LLMC_COMMAND_OBSERVE)
      step.observe(step.user, &command, static_cast<const float *>(command.args[0]));
    else if (command.kind == LLMC_COMMAND_COLLECTIVE)
      step.collective(step.user, &command);
    else if (command.items > 0)
      step.module->module.kernel(command.kernel)(command.args, 0, command.items, scratch(worker));
  }
  return true;
}

/// True where the step ends here. What happens between is run by one worker.
template <typename Between>
bool CpuExecutor::Walk::meet(int worker, SpinBudget &budget, unsigned &meetings, Between between) {
  bool &ends = stop[meetings++ & 1];
  if (worker == 0)
    ends = step.cancelled && step.cancelled(step.user);
  executor.barrier.wait(budget, [&] {
    if (!ends)
      between();
  });
  if (ends && worker == 0)
    cancelled = true;
  return ends;
}

void CpuExecutor::Walk::walk(int worker, SpinBudget &budget) {
  unsigned meetings = 0, launches = 0;
  auto nothing = [] {};
  bool together = true; // nobody is behind or ahead: the team has just started
  // Where the part before this one began: all are through with what lies before.
  size_t last = 0, released = 0;
  for (size_t i = 0, end = 0; i < step.command_count; i = end) {
    if (worker == 0) {
      executor.streamed.release(released, last);
      released = last;
      last = i;
    }
    end = i + 1;
    if (isParallel(i)) {
      if (!together && meet(worker, budget, meetings, nothing))
        return;
      runParallel(step.commands[i], worker, launches);
      together = false;
      continue;
    }
    bool launchesOnly = step.commands[i].kind == LLMC_COMMAND_LAUNCH;
    for (; end < step.command_count && !isParallel(end); ++end)
      launchesOnly &= step.commands[end].kind == LLMC_COMMAND_LAUNCH;
    if (launchesOnly && i > 0) {
      if (meet(worker, budget, meetings, [&] { runAlone(i, end, worker); }))
        return;
      together = true;
      continue;
    }
    // The caller's thread: callbacks are called on it, and at the beginning it
    // is awake while others are not yet.
    if (!together && meet(worker, budget, meetings, nothing))
      return;
    if (worker == 0 && !runAlone(i, end, 0)) {
      cancelled = true;
      return;
    }
    together = false;
  }
}

void CpuExecutor::Walk::walkTimed(int worker, SpinBudget &budget) {
  using Clock = std::chrono::steady_clock;
  unsigned meetings = 0, launches = 0;
  Clock::time_point before = Clock::now();
  for (size_t i = 0; i < step.command_count; ++i) {
    bool parallel = isParallel(i);
    if (parallel)
      runParallel(step.commands[i], worker, launches);
    else if (worker == 0)
      runAlone(i, i + 1, 0);
    if (meet(worker, budget, meetings, [] {}))
      return;
    if (worker != 0)
      continue;
    executor.streamed.release(i, i + 1);
    Clock::time_point now = Clock::now();
    step.nanoseconds[i] +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(now - before).count();
    before = now;
  }
}

bool CpuExecutor::run(const llmc_device_step &step) {
  for (std::vector<Cursor> &set : cursors)
    for (Cursor &cursor : set)
      cursor.next.store(0, std::memory_order_relaxed);
  if (step.cancelled && step.cancelled(step.user))
    return false;
  streamed.beginStep(step);
  Walk walk(*this, step);
  team.run([&](int worker, SpinBudget &budget) {
    if (step.nanoseconds)
      walk.walkTimed(worker, budget);
    else
      walk.walk(worker, budget);
  });
  // Those at the end, and what the last ones touched again.
  streamed.release(0, step.command_count);
  return !walk.cancelled;
}

} // namespace llmc::rt
