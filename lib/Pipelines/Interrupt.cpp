//===- Interrupt.cpp - Ctrl-C leaves nothing half-written -----------------===//
//
// A thread waits for the signals: a handler could not remove a folder, since
// nothing that walks directories may be called in one.
//
//===----------------------------------------------------------------------===//
#include "llmc/Pipelines/Interrupt.h"

#include "ArtifactFolder.h"
#include "llmc/Support/OutOfMemory.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace llmc {

//===----------------------------------------------------------------------===//
// Ends that nobody asked for
//===----------------------------------------------------------------------===//

static void cleanUp() { removeUnfinishedArtifacts(/*wait=*/false); }

[[noreturn]] static void endByFault(const char *why) {
  OutOfMemory::say("internal error: ");
  for (const char *part : {why, "; no artifact was written. Please report it with the command line "
                                "and the model\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  cleanUp();
  ::_exit(3);
}

/// The system gives no more of something, such as threads to code without exceptions.
[[noreturn]] static void endByLimit(const char *why) {
  OutOfMemory::say("error: ");
  for (const char *part : {why, "; no artifact was written. Ask for fewer threads (--threads), or "
                                "raise the limit\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  cleanUp();
  ::_exit(1);
}

/// What nobody caught, also in code without exceptions.
[[noreturn]] static void endByException() {
  try {
    if (std::exception_ptr error = std::current_exception())
      std::rethrow_exception(error);
  } catch (const std::bad_alloc &) {
    OutOfMemory::end();
  } catch (const std::system_error &error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      endByLimit(error.what());
    endByFault(error.what());
  } catch (const std::exception &error) {
    endByFault(error.what());
  } catch (...) {
  }
  endByFault("ended without a reason");
}

/// LLVM says that a stream could not be written where it is closed, at the latest as the process
/// ends, and as it says that it is at fault itself.
static void endIfOutputFailed(const char *why) {
  constexpr llvm::StringLiteral begin = "IO failure on output stream: ";
  if (!llvm::StringRef(why).starts_with(begin))
    return;
  OutOfMemory::say("error: writing failed: ");
  for (const char *part : {why + begin.size(), "; is the disk full?\n"})
    (void)!::write(STDERR_FILENO, part, std::strlen(part));
  cleanUp();
  ::_exit(1);
}

void endAtFailedOutput(const char *program) {
  OutOfMemory::install(program, cleanUp);
  llvm::install_fatal_error_handler([](void *, const char *why, bool) {
    endIfOutputFailed(why);
    for (const char *part : {"LLVM ERROR: ", why, "\n"})
      (void)!::write(STDERR_FILENO, part, std::strlen(part));
  });
  std::signal(SIGXFSZ, SIG_IGN);
}

static void installHandlers(const char *program) {
  OutOfMemory::install(program, cleanUp);
  std::set_terminate(endByException);
  // Once: LLVM refuses a second one.
  static bool installed = false;
  if (std::exchange(installed, true))
    return;
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { OutOfMemory::end(); });
  llvm::install_fatal_error_handler([](void *, const char *why, bool) {
    endIfOutputFailed(why);
    endByFault(why);
  });
  // A file that may not grow is an error of its write and no signal.
  std::signal(SIGXFSZ, SIG_IGN);
}

/// Tells the watcher that it is no longer needed.
static constexpr int retire = SIGUSR2;

InterruptGuard::InterruptGuard(const char *program) : program(program) {
  installHandlers(program);
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
