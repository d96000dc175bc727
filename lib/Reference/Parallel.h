//===- Parallel.h - splits a loop over threads ------------------*- C++ -*-===//
#ifndef LLMC_LIB_REFERENCE_PARALLEL_H
#define LLMC_LIB_REFERENCE_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace llmc::reference {

/// Calls `body(begin, end)` for parts of [0, count), in threads where all the work, in
/// multiplications, is worth it. The parts are independent of one another.
template <typename Body>
void parallelFor(unsigned threads, int64_t count, int64_t workPerItem, const Body &body) {
  constexpr int64_t worthAThread = 1 << 19;
  int64_t parts = std::min({int64_t(threads), count, count * workPerItem / worthAThread});
  if (parts <= 1) {
    body(int64_t(0), count);
    return;
  }
  std::vector<std::thread> workers;
  for (int64_t part = 1; part < parts; ++part)
    workers.emplace_back([&body, part, parts, count] {
      body(count * part / parts, count * (part + 1) / parts);
    });
  body(int64_t(0), count / parts);
  for (std::thread &worker : workers)
    worker.join();
}

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_PARALLEL_H
