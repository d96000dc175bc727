//===- Progress.cpp - where the compilation is, and what it took ----------===//
#include "Progress.h"

#include "llvm/Support/Format.h"

#include <unistd.h>

namespace llmc {

Progress::Progress(bool line) : onTerminal(line && ::isatty(STDERR_FILENO)) {}

void Progress::show(const std::string &text) {
  if (!onTerminal)
    return;
  // Back to the first column, and clear the rest of what stood there.
  llvm::errs() << "\r" << text << "\x1b[K";
  shown = true;
}

void Progress::clearLine() {
  std::lock_guard guard(lock);
  if (shown)
    llvm::errs() << "\r\x1b[K";
  shown = false;
}

void Progress::begin(llvm::StringRef phase) {
  std::lock_guard guard(lock);
  current = phase.str();
  started = Clock::now();
  lastPercent = -1;
  show("phase " + current);
}

void Progress::end() {
  std::lock_guard guard(lock);
  std::chrono::duration<double> taken = Clock::now() - started;
  seconds.emplace_back(current, taken.count());
}

void Progress::advance(llvm::StringRef what, uint64_t done, uint64_t total) {
  int percent = total ? int(double(done) / double(total) * 100) : 100;
  std::lock_guard guard(lock);
  if (percent <= lastPercent)
    return;
  lastPercent = percent;
  show("phase " + current + ": " + what.str() + " " + std::to_string(percent) + "%");
}

void Progress::printTiming(llvm::raw_ostream &out) const {
  double total = 0;
  out << " seconds  phase\n";
  for (const auto &[phase, taken] : seconds) {
    out << llvm::format("%8.3f", taken) << "  " << phase << "\n";
    total += taken;
  }
  out << llvm::format("%8.3f", total) << "  total\n";
}

} // namespace llmc
