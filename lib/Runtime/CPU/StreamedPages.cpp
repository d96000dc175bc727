//===- StreamedPages.cpp - weights that pass through memory ---------------===//

#include "StreamedPages.h"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace llmc::rt {

void StreamedPages::add(const void *address, int64_t bytes) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  mappings.push_back({begin, begin + uintptr_t(bytes)});
  list = nullptr;
}

void StreamedPages::remove(const void *address) {
  auto begin = reinterpret_cast<uintptr_t>(address);
  std::erase_if(mappings, [&](const Range &range) { return range.begin == begin; });
  list = nullptr;
}

void StreamedPages::beginStep(const llmc_device_step &step) {
  // Operands stay where they are as long as the session, see DevicePlugin.h.
  if (mappings.empty() || (list == step.commands && count == step.command_count))
    return;
  list = step.commands;
  count = step.command_count;
  std::vector<uintptr_t> starts;
  auto forOperands = [&](size_t command, auto visit) {
    const llmc_command &c = step.commands[command];
    for (int64_t i = 1; c.kind == LLMC_COMMAND_LAUNCH && i < c.arg_count; ++i)
      for (const Range &mapping : mappings)
        if (auto address = reinterpret_cast<uintptr_t>(c.args[i]);
            mapping.begin <= address && address < mapping.end)
          visit(address, mapping);
  };
  for (size_t i = 0; i < count; ++i)
    forOperands(i, [&](uintptr_t address, const Range &) { starts.push_back(address); });
  std::sort(starts.begin(), starts.end());
  reads.assign(count, {});
  for (size_t i = 0; i < count; ++i)
    forOperands(i, [&](uintptr_t address, const Range &mapping) {
      auto next = std::upper_bound(starts.begin(), starts.end(), address);
      reads[i].push_back({address, next == starts.end() ? mapping.end
                                                        : std::min(*next, mapping.end)});
    });
}

void StreamedPages::release(size_t first, size_t last) {
  if (mappings.empty())
    return;
  static const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
  for (size_t i = first; i < last; ++i)
    for (const Range &range : reads[i]) {
      // Pages shared with a neighbour come again if that is read later.
      uintptr_t begin = range.begin / page * page, end = (range.end + page - 1) / page * page;
      madvise(reinterpret_cast<void *>(begin), end - begin, MADV_DONTNEED);
    }
}

} // namespace llmc::rt
