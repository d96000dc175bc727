//===- DeviceTest.cpp - the contract of devices ---------------------------===//
//
// The built-in device keeps it; a device with one fault fails the check of that name, and a
// table that cannot be called is refused before it is.
//
//===----------------------------------------------------------------------===//
#include "llmc/Runtime/Device.h"
#include "llmc/Runtime/DeviceCheck.h"
#include "llmc/Support/Error.h"

#include <cstdio>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace llmc;
using namespace llmc::rt;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const llmc_device_api &cpu() { return *cpuDevice(); }

std::vector<std::string> failedChecks(const llmc_device_api &api) {
  std::vector<std::string> names;
  for (const DeviceCheck &check : checkDevice(api))
    if (!check.problem.empty())
      names.push_back(check.name);
  return names;
}

TEST(DeviceCheck, TheCpuKeepsTheContract) { EXPECT_THAT(failedChecks(cpu()), ElementsAre()); }

TEST(DeviceCheck, AFaultIsFoundUnderItsName) {
  llmc_device_api api = cpu();
  api.describe = [](llmc_device *device, llmc_device_info *info) {
    cpu().describe(device, info);
    std::snprintf(info->name, sizeof info->name, "other");
  };
  // What holds of the memory cannot be looked at then.
  EXPECT_THAT(failedChecks(api), ElementsAre("describe"));

  api = cpu();
  api.arena_allocate = [](llmc_device *device, int64_t bytes, uint32_t, void **address,
                          int64_t *allocated, llmc_device_error *error) {
    return cpu().arena_allocate(device, bytes, 0, address, allocated, error);
  };
  EXPECT_THAT(failedChecks(api), ElementsAre("arena: poison"));

  api = cpu();
  api.arena_allocate = [](llmc_device *device, int64_t bytes, uint32_t flags, void **address,
                          int64_t *allocated, llmc_device_error *error) {
    int64_t uncounted = 0;
    (void)allocated;
    return cpu().arena_allocate(device, bytes, flags, address, &uncounted, error);
  };
  EXPECT_THAT(failedChecks(api),
              ElementsAre("arena: zeros, a page's alignment, bytes counted", "arena: poison"));

  api = cpu();
  api.file_map = [](llmc_device *, const char *, int64_t, const void **, int64_t *,
                    llmc_device_error *) { return LLMC_DEVICE_INPUT; };
  EXPECT_THAT(failedChecks(api), ElementsAre("file: its bytes", "file: one that is not there",
                                             "file: one that is too short"));

  api = cpu();
  api.launch = [](llmc_device *device, const llmc_device_step *step, llmc_device_error *error) {
    llmc_device_step deaf = *step;
    deaf.cancelled = nullptr;
    return cpu().launch(device, &deaf, error);
  };
  EXPECT_THAT(failedChecks(api), ElementsAre("step: cancelled"));

  api = cpu();
  api.launch = [](llmc_device *device, const llmc_device_step *step, llmc_device_error *error) {
    llmc_device_step shorter = *step;
    shorter.command_count = step->command_count / 2;
    return cpu().launch(device, &shorter, error);
  };
  EXPECT_THAT(failedChecks(api), ElementsAre("step: observations in order"));

  api = cpu();
  api.open = [](const llmc_device_options *, llmc_device **, llmc_device_error *error) {
    std::snprintf(error->text, sizeof error->text, "no chip here");
    return LLMC_DEVICE_INPUT;
  };
  EXPECT_THAT(checkDevice(api).front().problem, HasSubstr("no chip here"));
}

std::string refusal(const llmc_device_api &api) {
  try {
    registerDevice(&api);
  } catch (const UsageError &error) {
    return error.what();
  }
  return "";
}

TEST(DeviceRegistry, RefusesWhatCannotBeCalled) {
  llmc_device_api api = cpu();
  api.name = "other";
  api.abi_major = LLMC_DEVICE_ABI_MAJOR + 1;
  EXPECT_THAT(refusal(api), HasSubstr("ABI version 3, this llmc has 2"));
  api = cpu();
  api.size = 64;
  EXPECT_THAT(refusal(api), HasSubstr("a table of 64 bytes"));
  api = cpu();
  api.name = nullptr;
  EXPECT_THAT(refusal(api), HasSubstr("a device without a name"));
  api = cpu();
  api.name = "other";
  api.synchronize = nullptr;
  EXPECT_THAT(refusal(api), HasSubstr("a table that lacks a function"));
  EXPECT_THAT(refusal(cpu()), HasSubstr("'cpu' is registered already"));
}

TEST(DeviceRegistry, APluginThatIsNoneIsNamed) {
  try {
    loadDevicePlugin("/nowhere.so");
    FAIL();
  } catch (const InputError &error) {
    EXPECT_THAT(error.what(), HasSubstr("/nowhere.so: cannot be loaded"));
  }
}

} // namespace
