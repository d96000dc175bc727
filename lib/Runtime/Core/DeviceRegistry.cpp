//===- DeviceRegistry.cpp - devices by name -------------------------------===//

#include "llmc/Runtime/Device.h"
#include "llmc/Support/Error.h"

#include <dlfcn.h>
#include <mutex>

namespace llmc::rt {

namespace {
struct Registry {
  std::mutex mutex;
  std::vector<const llmc_device_api *> devices = {cpuDevice()};
};
} // namespace

static Registry &registry() {
  static Registry instance;
  return instance;
}

/// Why a table of functions is none that this runtime can call; empty where it is. Nothing
/// behind the version is read before the version is known.
static std::string problemOf(const llmc_device_api &api) {
  if (api.abi_major != LLMC_DEVICE_ABI_MAJOR)
    return "ABI version " + std::to_string(api.abi_major) + ", this llmc has " +
           std::to_string(LLMC_DEVICE_ABI_MAJOR);
  if (api.size < sizeof(llmc_device_api))
    return "a table of " + std::to_string(api.size) + " bytes, this llmc has " +
           std::to_string(sizeof(llmc_device_api));
  if (!api.name || !*api.name)
    return "a device without a name";
  bool isWhole = api.open && api.close && api.describe && api.arena_allocate && api.arena_free &&
                 api.file_map && api.file_unmap && api.module_load && api.module_unload &&
                 api.launch && api.synchronize;
  return isWhole ? "" : "a table that lacks a function";
}

void registerDevice(const llmc_device_api *api) {
  if (std::string problem = problemOf(*api); !problem.empty())
    throw UsageError("device plugin: " + problem);
  std::lock_guard lock(registry().mutex);
  for (const llmc_device_api *known : registry().devices)
    if (std::string_view(known->name) == api->name)
      throw UsageError(std::string("device plugin '") + api->name + "' is registered already");
  registry().devices.push_back(api);
}

const llmc_device_api *loadDevicePlugin(const std::filesystem::path &path) {
  // Never unloaded: sessions and their callbacks may outlive any owner.
  void *handle = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw InputError(path.string() + ": cannot be loaded: " + dlerror());
  auto query =
      reinterpret_cast<llmc_device_plugin_query_fn>(dlsym(handle, "llmc_device_plugin_query"));
  const llmc_device_api *api = query ? query() : nullptr;
  if (!api)
    throw InputError(path.string() + ": is no device plugin: it has no llmc_device_plugin_query");
  if (std::string problem = problemOf(*api); !problem.empty())
    throw InputError(path.string() + ": has " + problem + ". Build the plugin with the header of this "
                                                          "llmc (llmc/Runtime/DevicePlugin.h)");
  registerDevice(api);
  return api;
}

const llmc_device_api *findDevice(std::string_view target) {
  std::lock_guard lock(registry().mutex);
  std::string names;
  for (std::string_view wanted : {target, target.substr(0, target.find('-'))})
    for (const llmc_device_api *api : registry().devices)
      if (wanted == api->name)
        return api;
  for (const llmc_device_api *api : registry().devices)
    names += (names.empty() ? "" : ", ") + std::string(api->name);
  throw InputError("the artifact is for '" + std::string(target) + "', devices here: " + names +
                   ". Load the device's plug-in (--device-plugin FILE), or compile for another "
                   "target");
}

void throwDeviceStatus(llmc_device_status status, const llmc_device_error &error) {
  switch (status) {
  case LLMC_DEVICE_OK:
    return;
  case LLMC_DEVICE_INPUT:
    throw InputError(error.text);
  case LLMC_DEVICE_USAGE:
    throw UsageError(error.text);
  case LLMC_DEVICE_CANCELLED:
    throw UsageError("the step was cancelled");
  case LLMC_DEVICE_INTERNAL:
    break;
  }
  throw InternalError(error.text);
}

} // namespace llmc::rt
