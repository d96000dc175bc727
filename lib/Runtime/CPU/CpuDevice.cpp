//===- CpuDevice.cpp - the built-in device's table of functions -----------===//

#include "CpuDevice.h"
#include "llmc/Support/Error.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

struct llmc_device {
  llmc::rt::CpuExecutor executor;
  int32_t weights; // llmc_weights_mode
};

namespace llmc::rt {
namespace {

/// Runs the body; what it throws becomes a status and a text.
template <typename Body>
llmc_device_status guarded(llmc_device_error *error, Body body) {
  llmc_device_status status = LLMC_DEVICE_INTERNAL;
  try {
    return body();
  } catch (const InputError &e) {
    status = LLMC_DEVICE_INPUT;
    std::snprintf(error->text, sizeof error->text, "%s", e.what());
  } catch (const UsageError &e) {
    status = LLMC_DEVICE_USAGE;
    std::snprintf(error->text, sizeof error->text, "%s", e.what());
  } catch (const std::exception &e) {
    std::snprintf(error->text, sizeof error->text, "%s", e.what());
  }
  return status;
}

std::string systemText() { return std::error_code(errno, std::generic_category()).message(); }

llmc_device_status open(const llmc_device_options *options, llmc_device **device,
                        llmc_device_error *error) {
  return guarded(error, [&] {
    int threads = options->threads > 0 ? options->threads : ThreadTeam::availableThreads();
    if (threads > 1024)
      throw UsageError("cpu: " + std::to_string(threads) + " threads, at most 1024");
    if (options->weights < LLMC_WEIGHTS_MAPPED || options->weights > LLMC_WEIGHTS_STREAMED)
      throw UsageError("cpu: " + std::to_string(options->weights) + " is no mode of weights");
    *device = new llmc_device{CpuExecutor(threads, options->pin != 0), options->weights};
    return LLMC_DEVICE_OK;
  });
}

void close(llmc_device *device) { delete device; }

void describe(llmc_device *device, llmc_device_info *info) {
  *info = {};
  std::snprintf(info->name, sizeof info->name, "cpu");
  std::string features;
  for (const std::string &feature : cpuFeatures())
    features += (features.empty() ? "" : " ") + feature;
  std::snprintf(info->description, sizeof info->description, "%s", features.c_str());
  info->threads = device->executor.threads();
  info->host_memory = 1;
}

llmc_device_status arenaAllocate(llmc_device *, int64_t bytes, uint32_t flags, void **address,
                                 int64_t *allocated, llmc_device_error *error) {
  return guarded(error, [&] {
    *address = nullptr;
    if (bytes == 0)
      return LLMC_DEVICE_OK;
    // Pages come when they are touched: a state pool costs what is used of it.
    void *memory = mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
      throw InputError("cpu: " + std::to_string(bytes) + " bytes are not available: " +
                       systemText() + ". A smaller context or fewer sequences need less");
    if (flags & LLMC_ARENA_HUGE_PAGES)
      madvise(memory, size_t(bytes), MADV_HUGEPAGE);
    if (flags & LLMC_ARENA_POISON)
      std::memset(memory, 0xff, size_t(bytes)); // a NaN in every float format
    *address = memory;
    *allocated += bytes;
    return LLMC_DEVICE_OK;
  });
}

void arenaFree(llmc_device *, void *address, int64_t bytes) {
  if (address)
    munmap(address, size_t(bytes));
}

/// Reads all pages of a mapping; false where one cannot be read, with errno.
bool readPages(void *memory, int64_t bytes) {
  constexpr int populateRead = 22; // MADV_POPULATE_READ of Linux 5.14
  return madvise(memory, size_t(bytes), populateRead) == 0;
}

llmc_device_status fileMap(llmc_device *device, const char *path, int64_t bytes, const void **address,
                           int64_t *allocated, llmc_device_error *error) {
  return guarded(error, [&] {
    *address = nullptr;
    if (bytes == 0)
      return LLMC_DEVICE_OK;
    int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
      throw InputError(std::string(path) + ": cannot be opened: " + systemText());
    struct stat status;
    bool whole = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= bytes;
    void *memory =
        whole ? mmap(nullptr, size_t(bytes), PROT_READ, MAP_SHARED, file, 0) : MAP_FAILED;
    std::string text = whole ? systemText() : "it is no plain file of that size";
    ::close(file);
    if (memory == MAP_FAILED)
      throw InputError(std::string(path) + ": " + std::to_string(bytes) +
                       " bytes cannot be mapped: " + text);
    if (device->weights == LLMC_WEIGHTS_STREAMED) {
      device->executor.streamedPages().add(memory, bytes);
    } else {
      madvise(memory, size_t(bytes), MADV_HUGEPAGE);
      madvise(memory, size_t(bytes), MADV_WILLNEED);
    }
    if (device->weights == LLMC_WEIGHTS_RESIDENT && !readPages(memory, bytes)) {
      text = systemText();
      munmap(memory, size_t(bytes));
      throw InputError(std::string(path) + ": " + std::to_string(bytes) +
                       " bytes cannot all be read into memory: " + text +
                       ". Mapped or streamed weights need less");
    }
    *address = memory;
    *allocated += bytes;
    return LLMC_DEVICE_OK;
  });
}

void fileUnmap(llmc_device *device, const void *address, int64_t bytes) {
  if (!address)
    return;
  device->executor.streamedPages().remove(address);
  munmap(const_cast<void *>(address), size_t(bytes));
}

llmc_device_status moduleLoad(llmc_device *, const llmc_device_module_desc *desc,
                              llmc_device_module **module, const char **variant,
                              llmc_device_error *error) {
  return guarded(error, [&] {
    for (size_t i = 0; i < desc->kernel_count; ++i)
      if (desc->kernels[i].file)
        throw InputError(std::string(desc->folder) + "/manifest.json: kernels[" +
                         std::to_string(i) + "].device: the cpu runs no device code");
    *module = new llmc_device_module{CpuModule(*desc)};
    *variant = (*module)->module.variant();
    return LLMC_DEVICE_OK;
  });
}

void moduleUnload(llmc_device *, llmc_device_module *module) { delete module; }

llmc_device_status launch(llmc_device *device, const llmc_device_step *step,
                          llmc_device_error *error) {
  return guarded(
      error, [&] { return device->executor.run(*step) ? LLMC_DEVICE_OK : LLMC_DEVICE_CANCELLED; });
}

llmc_device_status synchronize(llmc_device *, llmc_device_error *) { return LLMC_DEVICE_OK; }

} // namespace

const llmc_device_api *cpuDevice() {
  static const llmc_device_api api = {LLMC_DEVICE_ABI_MAJOR,
                                      LLMC_DEVICE_ABI_MINOR,
                                      sizeof(llmc_device_api),
                                      "cpu",
                                      open,
                                      close,
                                      describe,
                                      arenaAllocate,
                                      arenaFree,
                                      fileMap,
                                      fileUnmap,
                                      moduleLoad,
                                      moduleUnload,
                                      launch,
                                      synchronize};
  return &api;
}

} // namespace llmc::rt
