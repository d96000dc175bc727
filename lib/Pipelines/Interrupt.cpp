//===- Interrupt.cpp - Ctrl-C leaves nothing half-written -----------------===//
//
// A thread waits for the signals: a handler could not remove a folder, since
// nothing that walks directories may be called in one.
//
//===----------------------------------------------------------------------===//
#include "llmc/Pipelines/Interrupt.h"

#include "ArtifactFolder.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace llmc {

/// Tells the watcher that it is no longer needed.
static constexpr int retire = SIGUSR2;

InterruptGuard::InterruptGuard(const char *program) : program(program) {
  sigemptyset(&waited);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) {
    // What the parent ignores (nohup) stays ignored.
    struct sigaction action;
    if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN)
      sigaddset(&waited, number);
  }
  sigaddset(&waited, retire);
  pthread_sigmask(SIG_BLOCK, &waited, &previous);
  watcher = std::thread([this] { watch(); });
}

InterruptGuard::~InterruptGuard() {
  pthread_kill(watcher.native_handle(), retire);
  watcher.join();
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
}

void InterruptGuard::watch() {
  int number = 0;
  while (sigwait(&waited, &number) != 0)
    ;
  if (number == retire)
    return;
  removeUnfinishedArtifacts();
  std::fprintf(stderr, "\n%s: stopped by %s; no artifact was written\n", program,
               number == SIGINT ? "Ctrl-C" : "a signal");
  // By the signal itself, so that a shell or a make that waits for us sees it.
  std::signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::kill(::getpid(), number);
  std::_Exit(1);
}

} // namespace llmc
