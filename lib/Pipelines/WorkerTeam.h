//===- WorkerTeam.h - work on several threads -------------------*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_WORKERTEAM_H
#define LLMC_LIB_PIPELINES_WORKERTEAM_H

#include <cstddef>
#include <functional>

namespace llmc {

/// Calls `work(i)` for every i below `count`, on at most `threads` threads (0: one a processor).
/// The first exception ends the work and is thrown here. Throws InputError where the threads
/// cannot be started.
void forEachOnThreads(unsigned threads, size_t count, const std::function<void(size_t)> &work);

/// Throws InputError unless that many threads run at once: those of a pool are started by code
/// that ends the program where one cannot be.
void requireThreads(unsigned threads);

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_WORKERTEAM_H
