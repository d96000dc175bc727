//===- WorkerTeam.cpp - work on several threads ---------------------------===//
#include "WorkerTeam.h"

#include "llmc/Support/Error.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <latch>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace llmc {

[[noreturn]] static void failToStart(size_t started, size_t wanted) {
  throw InputError("only " + std::to_string(started) + " of " + std::to_string(wanted) +
                   " threads could be started; ask for fewer (--threads)");
}

void forEachOnThreads(unsigned threads, size_t count, const std::function<void(size_t)> &work) {
  size_t wanted = threads ? threads : std::max(1u, std::thread::hardware_concurrency());
  wanted = std::min(wanted, std::max<size_t>(count, 1));
  std::atomic<size_t> next{0};
  std::exception_ptr failure;
  std::mutex lock;
  auto serve = [&] {
    for (size_t i; (i = next++) < count;) {
      try {
        work(i);
      } catch (...) {
        std::lock_guard guard(lock);
        if (!failure)
          failure = std::current_exception();
        next = count;
      }
    }
  };
  std::vector<std::jthread> team;
  size_t started = 1;
  try {
    for (; started < wanted; ++started)
      team.emplace_back(serve);
  } catch (const std::system_error &) {
    next = count;
    team.clear();
    failToStart(started, wanted);
  }
  serve();
  team.clear(); // waits
  if (failure)
    std::rethrow_exception(failure);
}

void requireThreads(unsigned threads) {
  std::latch all(1);
  std::vector<std::jthread> team;
  try {
    while (team.size() + 1 < threads)
      team.emplace_back([&all] { all.wait(); });
  } catch (const std::system_error &) {
    size_t started = team.size() + 1;
    all.count_down();
    team.clear();
    failToStart(started, threads);
  }
  all.count_down();
}

} // namespace llmc
