//===- StreamedPages.h - weights that pass through memory -------*- C++ -*-===//
#ifndef LLMC_RUNTIME_CPU_STREAMEDPAGES_H
#define LLMC_RUNTIME_CPU_STREAMEDPAGES_H

#include "llmc/Runtime/DevicePlugin.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace llmc::rt {

/// Gives the pages of mapped files back behind the commands that read them. They come again from
/// the file when they are touched, so doing it early costs time and never an answer.
class StreamedPages {
public:
  void add(const void *address, int64_t bytes);
  void remove(const void *address);

  /// Finds what the commands read. An operand reaches to the next one that any command has.
  void beginStep(const llmc_device_step &step);
  /// What the commands `[first, last)` of the step read.
  void release(size_t first, size_t last);

private:
  struct Range {
    uintptr_t begin, end;
  };
  std::vector<Range> mappings;
  /// Of each command of the list at hand.
  std::vector<std::vector<Range>> reads;
  const llmc_command *list = nullptr;
  size_t count = 0;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CPU_STREAMEDPAGES_H
