//===- CpuModule.cpp - kernels of an artifact -----------------------------===//

#include "CpuDevice.h"
#include "llmc/Support/Error.h"

#include <dlfcn.h>

namespace llmc::rt {

/// The first variant whose features are all there.
static const llmc_device_variant &chooseVariant(const llmc_device_module_desc &desc) {
  std::string refused;
  for (size_t i = 0; i < desc.variant_count; ++i) {
    const llmc_device_variant &variant = desc.variants[i];
    std::string missing;
    for (size_t f = 0; f < variant.requires_count; ++f)
      if (!cpuHasFeature(variant.requires_features[f]))
        missing += (missing.empty() ? "" : ", ") + std::string(variant.requires_features[f]);
    if (missing.empty())
      return variant;
    refused += std::string(refused.empty() ? "" : "; ") + "'" + variant.name + "' needs " + missing;
  }
  throw InputError(std::string(desc.folder) +
                   "/manifest.json: variants: none fits this processor: " + refused +
                   ". Compile the model for this machine, or run it where these are offered");
}

CpuModule::CpuModule(const llmc_device_module_desc &desc) {
  if (!desc.kernel_count)
    return;
  const llmc_device_variant &variant = chooseVariant(desc);
  variantName = variant.name;
  std::string path = std::string(desc.folder) + "/kernels.so";
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw InputError(path + ": cannot be loaded: " + dlerror());
  std::string missing;
  for (size_t i = 0; i < desc.kernel_count; ++i) {
    std::string symbol = std::string(desc.kernels[i].symbol) + variant.suffix;
    void *address = dlsym(handle, symbol.c_str());
    if (!address)
      missing +=
          (missing.empty() ? "" : ", ") + symbol + " (kernel '" + desc.kernels[i].name + "')";
    functions.push_back(reinterpret_cast<llmc_kernel_fn>(address));
  }
  if (missing.empty())
    return;
  dlclose(handle);
  throw InputError(path + ": has no symbol " + missing +
                   ", which the manifest names. Compile the model again");
}

CpuModule::~CpuModule() {
  if (handle)
    dlclose(handle);
}

} // namespace llmc::rt
