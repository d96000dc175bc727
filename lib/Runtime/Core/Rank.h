//===- Rank.h - one rank's device, memory and program -----------*- C++ -*-===//

#ifndef LLMC_RUNTIME_CORE_RANK_H
#define LLMC_RUNTIME_CORE_RANK_H

#include "Program.h"
#include "Sequences.h"
#include "llmc/Runtime/Artifact.h"
#include "llmc/Runtime/Collectives.h"
#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/Session.h"

#include <atomic>
#include <exception>

namespace llmc::rt {

class Rank {
public:
  struct Setup {
    int rank;
    int threads; ///< 0: the device decides
    const SessionOptions *options;
  };

  Rank(const Artifact &artifact, const Setup &setup);
  ~Rank();
  Rank(const Rank &) = delete;
  Rank &operator=(const Rank &) = delete;

  int threads() const { return threadCount; }
  const std::string &variant() const { return variantName; }

  /// Takes the planned memory. Throws where the device took another amount.
  void allocate(const Sequences::Shape &shape, const BatchViews &batch);
  /// This rank's member of every group of the manifest; null where it is none.
  void setCommunicators(std::vector<std::unique_ptr<Communicator>> members);

  /// Runs a step; what goes wrong is kept for takeError().
  void run(const Extent &extent, const llmc_batch *batch, const Observer *observer,
           std::atomic<bool> *cancelled);
  void takeError();

  void profile(bool on);
  std::vector<LaunchTime> profiled() const;
  const std::vector<ArenaMemory> &memory() const { return arenaMemory; }
  const char *sliceAddress(int32_t slice) const;

private:
  void loadKernels();
  static int pollCancelled(void *self);
  static void showObservation(void *self, const llmc_command *command, const float *data);
  static int runCollective(void *self, const llmc_command *command);
  void release();

  const Artifact &artifact;
  const Manifest &manifest;
  const int rank;
  const SessionOptions options;
  const llmc_device_api *api;
  llmc_device *device = nullptr;
  llmc_device_module *module = nullptr;
  std::string variantName;
  int threadCount = 0;
  Addresses addresses;
  std::vector<ArenaMemory> arenaMemory;
  int workspaceArena = -1;
  std::unique_ptr<Program> silent, observed;
  std::vector<std::unique_ptr<Communicator>> communicators;

  // Of the step that runs.
  const llmc_batch *batch = nullptr;
  const Observer *observer = nullptr;
  std::atomic<bool> *cancelFlag = nullptr;
  const Program *running = nullptr;
  std::exception_ptr error;

  bool profiling = false;
  std::vector<int64_t> nanoseconds;
  int64_t profiledSteps = 0;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CORE_RANK_H
