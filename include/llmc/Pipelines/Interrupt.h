//===- Interrupt.h - Ctrl-C leaves nothing half-written ---------*- C++ -*-===//
#ifndef LLMC_PIPELINES_INTERRUPT_H
#define LLMC_PIPELINES_INTERRUPT_H

#include <csignal>
#include <thread>

namespace llmc {

/// While one lives, SIGINT, SIGTERM and SIGHUP remove unfinished artifact folders and then
/// end the process by that signal. Out of memory ends with exit code 1 and a fault of llmc's own
/// with 3, as clean. For programs, not for libraries; one at a time, made
/// before any other thread, as threads inherit which signals they leave to it.
class InterruptGuard {
public:
  /// `program` begins the message.
  explicit InterruptGuard(const char *program);
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard &) = delete;

private:
  const char *program;
  sigset_t waited, previous;
  std::thread watcher;
  void watch();
};

/// For the main function of a program that leaves the rest to MLIR: output that cannot be written
/// ends the process with a message and exit code 1. An InterruptGuard does this as well.
void endAtFailedOutput(const char *program);

} // namespace llmc

#endif // LLMC_PIPELINES_INTERRUPT_H
