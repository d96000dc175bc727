//===- ThreadTeam.cpp - persistent worker threads and barriers ------------===//

#include "llmc/Runtime/ThreadTeam.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <climits>
#include <csignal>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace llmc::rt {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

static void pauseCpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

static long futex(const std::atomic<uint32_t> &word, int operation, uint32_t value) {
  return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

void SpinBudget::waitWhile(const std::atomic<uint32_t> &word, uint32_t old,
                           std::atomic<uint32_t> &sleepers) {
  bool probe = limit && ++waits % probeEvery == 0;
  for (uint32_t i = 0, bound = probe ? most : limit; i < bound; ++i) {
    if (word.load(std::memory_order_acquire) != old) {
      limit = std::clamp(2 * i, limit, most);
      return;
    }
    pauseCpu();
  }
  if (word.load(std::memory_order_acquire) != old)
    return;
  if (limit && !probe)
    limit = std::max(limit / 2, least);
  // The store in storeAndWake and this count are both sequentially consistent:
  // either the waker sees the sleeper, or the sleeper sees the new value.
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  while (word.load(std::memory_order_seq_cst) == old)
    futex(word, FUTEX_WAIT_PRIVATE, old);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

void storeAndWake(std::atomic<uint32_t> &word, uint32_t value,
                  const std::atomic<uint32_t> &sleepers) {
  word.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst))
    futex(word, FUTEX_WAKE_PRIVATE, INT_MAX);
}

namespace {
/// The default control word while it lives: round to nearest, all exceptions
/// masked, subnormal numbers kept.
class ControlWord {
public:
#if defined(__x86_64__)
  ControlWord() : before(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~ControlWord() { _mm_setcsr(before); }

private:
  unsigned before;
#else
  ControlWord() {}
  ~ControlWord() {}
#endif
};
} // namespace

/// The processors of the process, in order.
static std::vector<int> allowedProcessors() {
  cpu_set_t set;
  std::vector<int> list;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set))
        list.push_back(cpu);
  return list;
}

int ThreadTeam::availableThreads() { return std::max<int>(1, int(allowedProcessors().size())); }

ThreadTeam::ThreadTeam(const Options &options)
    : maySpin(options.threads <= availableThreads()), callerBudget(maySpin) {
  // Signals go to the program's own threads: Ctrl-C is for them to handle.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (int worker = 1; worker < options.threads; ++worker)
      workers.emplace_back([this, worker, pin = options.pin] { serve(worker, pin); });
  } catch (const std::system_error &) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    stopping = true;
    storeAndWake(epoch, epoch.load() + 1, epochSleepers);
    for (std::thread &thread : workers)
      thread.join();
    throw InputError("only " + std::to_string(workers.size() + 1) + " of " +
                     std::to_string(options.threads) +
                     " threads could be started; ask for fewer (--threads)");
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadTeam::~ThreadTeam() {
  stopping = true;
  storeAndWake(epoch, epoch.load() + 1, epochSleepers);
  for (std::thread &thread : workers)
    thread.join();
}

void ThreadTeam::serve(int worker, bool pin) {
  if (pin) {
    std::vector<int> processors = allowedProcessors();
    if (!processors.empty()) {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(processors[size_t(worker) % processors.size()], &set);
      pthread_setaffinity_np(pthread_self(), sizeof set, &set);
    }
  }
  SpinBudget budget(maySpin), idleBudget(maySpin);
  ControlWord control;
  // The first run may start before this thread does, so the first epoch is not
  // read but known.
  for (uint32_t seen = 0;; ++seen) {
    idleBudget.waitWhile(epoch, seen, epochSleepers);
    if (stopping)
      return;
    (*work)(worker, budget);
    if (running.fetch_sub(1, std::memory_order_acq_rel) == 1)
      storeAndWake(doneEpoch, seen + 1, doneSleepers);
  }
}

void ThreadTeam::run(const std::function<void(int, SpinBudget &)> &job) {
  ControlWord control;
  if (workers.empty()) {
    job(0, callerBudget);
    return;
  }
  work = &job;
  running.store(uint32_t(workers.size()), std::memory_order_relaxed);
  uint32_t now = epoch.load(std::memory_order_relaxed);
  storeAndWake(epoch, now + 1, epochSleepers);
  job(0, callerBudget);
  callerBudget.waitWhile(doneEpoch, now, doneSleepers);
}

} // namespace llmc::rt
