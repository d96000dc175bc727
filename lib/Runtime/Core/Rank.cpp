//===- Rank.cpp - one rank's device, memory and program -------------------===//

#include "Rank.h"
#include "llmc/Support/Error.h"

#include <map>

namespace llmc::rt {

Rank::Rank(const Artifact &artifact, const Setup &setup)
    : artifact(artifact), manifest(artifact.manifest()), rank(setup.rank), options(*setup.options),
      api(findDevice(manifest.target.device)) {
  llmc_device_options wanted{setup.threads, options.pin ? 1 : 0, rank, int32_t(options.weights)};
  llmc_device_error text{};
  throwDeviceStatus(api->open(&wanted, &device, &text), text);
  llmc_device_info info;
  api->describe(device, &info);
  threadCount = info.threads;
  try {
    if (info.host_memory != 1)
      throw InputError("device '" + std::string(api->name) + "' has memory that the caller cannot "
                       "address (host_memory is " + std::to_string(info.host_memory) +
                       "); this runtime reads results where they lie");
    loadKernels();
  } catch (...) {
    release();
    throw;
  }
}

Rank::~Rank() { release(); }

void Rank::release() {
  for (size_t i = 0; i < addresses.arenas.size(); ++i) {
    if (manifest.arenas[i].kind == ArenaKind::Weights)
      api->file_unmap(device, addresses.arenas[i], arenaMemory[i].planned);
    else
      api->arena_free(device, addresses.arenas[i], arenaMemory[i].planned);
  }
  addresses.arenas.clear();
  if (module)
    api->module_unload(device, module);
  module = nullptr;
  if (device)
    api->close(device);
  device = nullptr;
}

void Rank::loadKernels() {
  std::vector<std::vector<const char *>> features;
  std::vector<llmc_device_variant> variants;
  std::string known;
  for (const Variant &variant : manifest.variants) {
    known += (known.empty() ? "" : ", ") + variant.name;
    if (!options.variant.empty() && variant.name != options.variant)
      continue;
    std::vector<const char *> &list = features.emplace_back();
    for (const std::string &feature : variant.requires_)
      list.push_back(feature.c_str());
    variants.push_back({variant.name.c_str(), variant.suffix.c_str(), nullptr, list.size()});
  }
  if (variants.empty() && !options.variant.empty())
    throw InputError(artifact.manifestPath() + ": has no variant '" + options.variant +
                     "'; it has: " + known);
  for (size_t i = 0; i < variants.size(); ++i)
    variants[i].requires_features = features[i].data();
  std::vector<llmc_device_kernel> kernels;
  for (const Kernel &kernel : manifest.kernels) {
    llmc_device_kernel entry{
        kernel.name.c_str(), kernel.symbol.c_str(), kernel.scratch, nullptr, {1, 1, 1}, 0};
    if (kernel.device) {
      entry.file = kernel.device->file.c_str();
      std::copy(kernel.device->block.begin(), kernel.device->block.end(), entry.block);
      entry.shared_bytes = kernel.device->sharedBytes;
    }
    kernels.push_back(entry);
  }
  std::string folder = artifact.folder().string();
  llmc_device_module_desc desc{folder.c_str(), variants.data(), variants.size(), kernels.data(),
                               kernels.size()};
  llmc_device_error text{};
  const char *chosen = "";
  throwDeviceStatus(api->module_load(device, &desc, &module, &chosen, &text), text);
  variantName = chosen;
}

void Rank::allocate(const Sequences::Shape &shape, const BatchViews &firstArgument) {
  Extent largest = manifest.largest(shape.blocks, threadCount, shape.sequences);
  addresses.largest = largest;
  checkExtents(manifest, largest, artifact.manifestPath());
  for (size_t i = 0; i < manifest.arenas.size(); ++i) {
    const Arena &arena = manifest.arenas[i];
    int64_t planned = arena.size.evaluate(largest).value(), allocated = 0;
    llmc_device_error text{};
    if (arena.kind == ArenaKind::Weights) {
      const std::string &file =
          arena.rankFiles.empty() ? arena.file : arena.rankFiles[size_t(rank)];
      const void *address = nullptr;
      std::string path = (artifact.folder() / file).string();
      throwDeviceStatus(api->file_map(device, path.c_str(), planned, &address, &allocated, &text),
                        text);
      addresses.arenas.push_back(static_cast<char *>(const_cast<void *>(address)));
    } else {
      uint32_t flags = options.poison ? LLMC_ARENA_POISON : 0;
      if (arena.kind != ArenaKind::State)
        flags |= LLMC_ARENA_HUGE_PAGES;
      void *address = nullptr;
      throwDeviceStatus(api->arena_allocate(device, planned, flags, &address, &allocated, &text),
                        text);
      addresses.arenas.push_back(static_cast<char *>(address));
      if (arena.kind == ArenaKind::Workspace)
        workspaceArena = int(i);
    }
    arenaMemory.push_back({arena.name, arena.kind, rank, planned, allocated});
    if (planned != allocated)
      throw InternalError(artifact.manifestPath() + ": arenas[" + std::to_string(i) + "]: '" +
                          arena.name + "' is planned with " + std::to_string(planned) +
                          " bytes, the device took " + std::to_string(allocated));
  }
  const Entry &entry = manifest.entries.front();
  silent = std::make_unique<Program>(manifest, entry, addresses, firstArgument, false);
  observed = std::make_unique<Program>(manifest, entry, addresses, firstArgument, true);
}

void Rank::setCommunicators(std::vector<std::unique_ptr<Communicator>> members) {
  communicators = std::move(members);
}

const char *Rank::sliceAddress(int32_t index) const {
  const Slice &slice = manifest.slices[size_t(index)];
  return addresses.arenas[size_t(slice.arenaIndex)] + slice.offset;
}

int Rank::pollCancelled(void *self) {
  return static_cast<Rank *>(self)->cancelFlag->load(std::memory_order_relaxed);
}

void Rank::showObservation(void *self, const llmc_command *command, const float *data) {
  Rank &rank = *static_cast<Rank *>(self);
  if (rank.error)
    return;
  size_t index = rank.running->indexOf(command);
  try {
    (*rank.observer)({rank.running->label(index), rank.running->layer(index), data, command->items,
                      command->width, rank.running->heads(index), *rank.batch});
  } catch (...) {
    rank.error = std::current_exception();
  }
}

int Rank::runCollective(void *self, const llmc_command *command) {
  Rank &rank = *static_cast<Rank *>(self);
  if (Communicator *member = rank.communicators[size_t(command->group)].get())
    member->allReduce(static_cast<float *>(command->args[0]), command->items);
  return 0;
}

void Rank::run(const Extent &extent, const llmc_batch *stepBatch, const Observer *stepObserver,
               std::atomic<bool> *cancelled) {
  Program &program = stepObserver ? *observed : *silent;
  program.prepare(extent);
  batch = stepBatch;
  observer = stepObserver;
  cancelFlag = cancelled;
  running = &program;
  error = nullptr;
  llmc_device_step step{};
  step.module = module;
  step.commands = program.commands().data();
  step.command_count = program.commands().size();
  step.batch = stepBatch;
  if (workspaceArena >= 0) {
    step.workspace = addresses.arenas[size_t(workspaceArena)];
    step.workspace_bytes = arenaMemory[size_t(workspaceArena)].planned;
  }
  step.cancelled = cancelled ? pollCancelled : nullptr;
  step.observe = showObservation;
  step.collective = runCollective;
  if (profiling) {
    if (nanoseconds.size() != step.command_count) {
      nanoseconds.assign(step.command_count, 0);
      profiledSteps = 0;
    }
    step.nanoseconds = nanoseconds.data();
    ++profiledSteps;
  }
  step.user = this;
  try {
    llmc_device_error text{};
    llmc_device_status status = api->launch(device, &step, &text);
    if (status == LLMC_DEVICE_OK)
      status = api->synchronize(device, &text);
    if (status == LLMC_DEVICE_CANCELLED)
      throw CancelledError("the step was cancelled");
    throwDeviceStatus(status, text);
  } catch (...) {
    if (!error)
      error = std::current_exception();
  }
}

void Rank::takeError() {
  if (error)
    std::rethrow_exception(std::exchange(error, nullptr));
}

void Rank::profile(bool on) {
  profiling = on;
  nanoseconds.clear();
  profiledSteps = 0;
}

std::vector<LaunchTime> Rank::profiled() const {
  std::vector<LaunchTime> times;
  if (!running || nanoseconds.size() != running->commands().size())
    return times;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < nanoseconds.size(); ++i) {
    auto [place, isNew] = places.emplace(running->label(i), times.size());
    if (isNew)
      times.push_back({running->label(i), 0, 0});
    times[place->second].calls += profiledSteps;
    times[place->second].nanoseconds += nanoseconds[i];
  }
  std::sort(times.begin(), times.end(),
            [](const LaunchTime &a, const LaunchTime &b) { return a.nanoseconds > b.nanoseconds; });
  return times;
}

} // namespace llmc::rt
