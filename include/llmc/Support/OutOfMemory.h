//===- OutOfMemory.h - programs that run out of memory say so ---*- C++ -*-===//
#ifndef LLMC_SUPPORT_OUTOFMEMORY_H
#define LLMC_SUPPORT_OUTOFMEMORY_H

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unistd.h>

/// Of tools/Allocation.c, in programs that have it.
extern "C" __attribute__((weak)) void (*llmc_out_of_memory)(void);

namespace llmc {

/// What happens when `operator new` finds no memory.
struct OutOfMemory {
  /// Begins the message.
  const char *program = "llmc";
  /// Removes what is half-written; may need a little memory.
  void (*cleanUp)() = nullptr;

  /// For the main function of a program, not for libraries: from here on the process ends with
  /// a message and exit code 1 where memory ends, also in code without exceptions.
  static void install(const char *program, void (*cleanUp)() = nullptr) {
    OutOfMemory &state = get();
    state = {program, cleanUp};
    if (!reserve)
      reserve = std::malloc(reserveBytes);
    std::set_new_handler(end);
    if (&llmc_out_of_memory)
      llmc_out_of_memory = end;
  }

  [[noreturn]] static void end() {
    // The clean-up may run out of memory as well, and so may other threads meanwhile.
    static std::atomic<bool> entered{false};
    static thread_local bool mine = false;
    if (mine)
      ::_exit(1);
    if (entered.exchange(true))
      while (true)
        ::pause();
    mine = true;
    say("out of memory: the limit of the process or the machine is reached; close other "
        "programs, raise the limit (ulimit -v), or use fewer threads and a shorter context\n");
    std::free(reserve);
    if (get().cleanUp)
      get().cleanUp();
    ::_exit(1);
  }

  static void say(const char *text) {
    for (const char *part : {get().program, ": ", text})
      (void)!::write(STDERR_FILENO, part, std::strlen(part));
  }

private:
  static constexpr size_t reserveBytes = size_t(1) << 20;
  static inline void *reserve = nullptr;
  static OutOfMemory &get() {
    static OutOfMemory state;
    return state;
  }
};

} // namespace llmc

#endif // LLMC_SUPPORT_OUTOFMEMORY_H
