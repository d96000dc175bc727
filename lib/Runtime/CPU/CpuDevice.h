//===- CpuDevice.h - the built-in device, inside ----------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_CPU_CPUDEVICE_H
#define LLMC_RUNTIME_CPU_CPUDEVICE_H

#include "StreamedPages.h"
#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/ThreadTeam.h"

#include <memory>
#include <string>
#include <vector>

namespace llmc::rt {

bool cpuHasFeature(std::string_view name);

/// A loaded kernels.so with every kernel of the chosen variant resolved.
class CpuModule {
public:
  explicit CpuModule(const llmc_device_module_desc &desc);
  ~CpuModule();
  CpuModule(const CpuModule &) = delete;
  CpuModule &operator=(const CpuModule &) = delete;

  llmc_kernel_fn kernel(uint32_t index) const { return functions[index]; }
  const char *variant() const { return variantName.c_str(); }

private:
  void *handle = nullptr;
  std::vector<llmc_kernel_fn> functions;
  std::string variantName;
};

/// Walks the commands of a step with a team: every worker goes through the
/// whole list by itself and meets the others where the order needs it.
class CpuExecutor {
public:
  CpuExecutor(int threads, bool pin);

  int threads() const { return team.threads(); }
  /// Weights that are given back behind the commands that read them.
  StreamedPages &streamedPages() { return streamed; }
  /// False where the step was cancelled.
  bool run(const llmc_device_step &step);

private:
  struct alignas(cacheLine) Cursor {
    std::atomic<int64_t> next{0};
  };
  class Walk;

  ThreadTeam team;
  Barrier barrier;
  StreamedPages streamed;
  std::vector<Cursor> cursors[2];
};

} // namespace llmc::rt

struct llmc_device_module {
  llmc::rt::CpuModule module;
};

#endif // LLMC_RUNTIME_CPU_CPUDEVICE_H
