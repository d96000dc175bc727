//===- DeviceCheck.h - does a device keep its contract ----------*- C++ -*-===//
#ifndef LLMC_RUNTIME_DEVICECHECK_H
#define LLMC_RUNTIME_DEVICECHECK_H

#include "llmc/Runtime/DevicePlugin.h"

#include <string>
#include <vector>

namespace llmc::rt {

struct DeviceCheck {
  /// What was asked of the device.
  std::string name;
  /// Empty where it answered as DevicePlugin.h says.
  std::string problem;
};

/// Calls every function of a device as a session does, and as a session with bad luck does: files
/// that are not there, steps that are ended. Needs no artifact. Throws InputError where the
/// machine has no room for a file of a few bytes.
std::vector<DeviceCheck> checkDevice(const llmc_device_api &api);

} // namespace llmc::rt

#endif // LLMC_RUNTIME_DEVICECHECK_H
