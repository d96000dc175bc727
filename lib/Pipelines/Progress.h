//===- Progress.h - where the compilation is, and what it took --*- C++ -*-===//
#ifndef LLMC_LIB_PIPELINES_PROGRESS_H
#define LLMC_LIB_PIPELINES_PROGRESS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace llmc {

/// Seconds of each phase, and on a terminal one line that says which phase runs; a pipe
/// gets nothing of that line.
class Progress {
public:
  /// `line`: show the line where stderr is a terminal.
  explicit Progress(bool line);
  ~Progress() { clearLine(); }

  void begin(llvm::StringRef phase);
  void end();
  /// How far a long part of the phase is. Thread-safe.
  void advance(llvm::StringRef what, uint64_t done, uint64_t total);
  /// Makes room for other output.
  void clearLine();
  /// A table of all phases so far.
  void printTiming(llvm::raw_ostream &out) const;

private:
  using Clock = std::chrono::steady_clock;
  void show(const std::string &text);

  bool onTerminal;
  bool shown = false;
  std::mutex lock;
  std::string current;
  Clock::time_point started;
  int lastPercent = -1;
  std::vector<std::pair<std::string, double>> seconds;
};

} // namespace llmc

#endif // LLMC_LIB_PIPELINES_PROGRESS_H
