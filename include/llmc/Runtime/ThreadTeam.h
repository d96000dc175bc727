//===- ThreadTeam.h - persistent worker threads and barriers ----*- C++ -*-===//

#ifndef LLMC_RUNTIME_THREADTEAM_H
#define LLMC_RUNTIME_THREADTEAM_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace llmc::rt {

inline constexpr size_t cacheLine = 64;

/// How long a thread spins before it sleeps. Unbounded spinning is what makes a
/// team collapse on a busy machine, so the bound follows what happened before:
/// a wait that slept halves it, one that did not raises it to twice what it
/// took. Now and then a wait spins as long as it may, because a bound that has
/// become too short for the usual wait would otherwise never find that out.
class SpinBudget {
public:
  explicit SpinBudget(bool maySpin) : limit(maySpin ? most : 0) {}

  /// Returns once \p word is no longer \p old. \p sleepers counts the threads
  /// in the kernel, for the one that changes the word.
  void waitWhile(const std::atomic<uint32_t> &word, uint32_t old, std::atomic<uint32_t> &sleepers);

private:
  static constexpr uint32_t least = 64, most = 4096; ///< pause instructions
  static constexpr uint32_t probeEvery = 16;
  uint32_t limit; ///< 0: never spin
  uint32_t waits = 0;
};

/// Changes \p word to \p value and wakes those who sleep on it.
void storeAndWake(std::atomic<uint32_t> &word, uint32_t value,
                  const std::atomic<uint32_t> &sleepers);

/// All threads of a team meet. Everything that one did before is seen by all
/// after. The last one to arrive starts the next phase.
class Barrier {
public:
  explicit Barrier(uint32_t threads) : threads(threads) {}

  void wait(SpinBudget &budget) {
    wait(budget, [] {});
  }

  /// The last thread to arrive runs \p between before the others go on: work for
  /// one thread between two phases costs one meeting instead of two.
  template <typename Between>
  void wait(SpinBudget &budget, Between between) {
    uint32_t now = phase.load(std::memory_order_relaxed);
    if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != threads) {
      budget.waitWhile(phase, now, sleepers);
      return;
    }
    between();
    arrived.store(0, std::memory_order_relaxed);
    storeAndWake(phase, now + 1, sleepers);
  }

private:
  const uint32_t threads;
  alignas(cacheLine) std::atomic<uint32_t> arrived{0};
  alignas(cacheLine) std::atomic<uint32_t> phase{0};
  alignas(cacheLine) std::atomic<uint32_t> sleepers{0};
};

/// Threads that live as long as the team. The caller of run() is worker 0.
class ThreadTeam {
public:
  struct Options {
    int threads = 1;
    bool pin = false;
  };

  explicit ThreadTeam(const Options &options);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam &) = delete;
  ThreadTeam &operator=(const ThreadTeam &) = delete;

  int threads() const { return int(workers.size()) + 1; }

  /// Calls work(worker, budget) once on every thread and returns when all are
  /// done. Every call runs with the same floating point control word (the
  /// default: no flush to zero); the caller's is put back. The work may not
  /// throw. One run() at a time.
  void run(const std::function<void(int, SpinBudget &)> &work);

  /// Processors that this process may use.
  static int availableThreads();

private:
  void serve(int worker, bool pin);

  bool maySpin;
  alignas(cacheLine) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> epochSleepers{0};
  alignas(cacheLine) std::atomic<uint32_t> running{0};
  alignas(cacheLine) std::atomic<uint32_t> doneEpoch{0};
  std::atomic<uint32_t> doneSleepers{0};
  const std::function<void(int, SpinBudget &)> *work = nullptr;
  bool stopping = false;
  SpinBudget callerBudget;
  std::vector<std::thread> workers;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_THREADTEAM_H
