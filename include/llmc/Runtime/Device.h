//===- Device.h - the devices that the runtime knows ------------*- C++ -*-===//

#ifndef LLMC_RUNTIME_DEVICE_H
#define LLMC_RUNTIME_DEVICE_H

#include "llmc/Runtime/DevicePlugin.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt {

/// The device built into the runtime.
const llmc_device_api *cpuDevice();

/// Makes a device known. Throws UsageError for another ABI, a table that is not whole or a name
/// in use.
void registerDevice(const llmc_device_api *api);

/// Loads a plugin and registers its device. The plugin is code that runs with the rights of the
/// program, and is never unloaded. Throws InputError with the path for what is none.
const llmc_device_api *loadDevicePlugin(const std::filesystem::path &path);

/// The device for a manifest's `target.device`: the one of that name, or of the
/// part before the first '-'. Throws InputError with the known names.
const llmc_device_api *findDevice(std::string_view target);

/// Throws the exception that a status means; returns for LLMC_DEVICE_OK.
void throwDeviceStatus(llmc_device_status status, const llmc_device_error &error);

/// Instruction set extensions of this machine that the operating system has
/// switched on, by LLVM's names (avx2, avx512vnni, amx-int8, …).
std::vector<std::string> cpuFeatures();

} // namespace llmc::rt

#endif // LLMC_RUNTIME_DEVICE_H
