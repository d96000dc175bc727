//===- DeviceCheck.cpp - does a device keep its contract ------------------===//
#include "llmc/Runtime/DeviceCheck.h"

#include "llmc/Support/Error.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace llmc::rt {

namespace fs = std::filesystem;

namespace {

constexpr int64_t arenaBytes = 3 * 4096 + 128;

/// A file of known bytes that is gone with this object.
class KnownFile {
public:
  KnownFile() {
    std::string name = (fs::temp_directory_path() / "llmc-device-XXXXXX").string();
    int descriptor = mkstemp(name.data());
    if (descriptor < 0)
      throw InputError(name + ": cannot be made");
    ::close(descriptor);
    path = name;
    std::ofstream out(path, std::ios::binary);
    for (int64_t i = 0; i < arenaBytes; ++i)
      out.put(byteAt(i));
    if (!out.flush())
      throw InputError(path + ": cannot be written");
  }
  ~KnownFile() {
    std::error_code error;
    fs::remove(path, error);
  }
  static char byteAt(int64_t i) { return char(i * 31 + i / 251); }

  std::string path;
};

class Checker {
public:
  explicit Checker(const llmc_device_api &api) : api(api) {}

  std::vector<DeviceCheck> run() {
    check("open", [&] { return open(); });
    if (!device)
      return std::move(checks);
    check("describe", [&] { return describe(); });
    check("arena: zeros, a page's alignment, bytes counted", [&] { return arena(0); });
    check("arena: poison", [&] { return arena(LLMC_ARENA_POISON); });
    check("arena: no bytes", [&] { return emptyArena(); });
    check("arena: two do not overlap", [&] { return twoArenas(); });
    check("file: its bytes", [&] { return file(); });
    check("file: one that is not there", [&] { return missingFile(); });
    check("file: one that is too short", [&] { return shortFile(); });
    check("module: a folder without kernels", [&] { return missingModule(); });
    check("step: no commands", [&] { return step(0, false); });
    check("step: observations in order", [&] { return step(3, false); });
    check("step: cancelled", [&] { return step(3, true); });
    api.close(device);
    check("open again", [&] { return open(); });
    if (device)
      api.close(device);
    return std::move(checks);
  }

private:
  template <typename Body> void check(const char *name, Body body) {
    checks.push_back({name, body()});
  }

  std::string failed(llmc_device_status status) const {
    return "status " + std::to_string(int(status)) + ": " + error.text;
  }

  std::string open() {
    device = nullptr;
    llmc_device_options options{1, 0, 0, 0};
    llmc_device_status status = api.open(&options, &device, &error);
    if (status != LLMC_DEVICE_OK)
      return failed(status);
    return device ? "" : "gives no device";
  }

  std::string describe() {
    llmc_device_info info;
    std::memset(&info, 0xff, sizeof info);
    api.describe(device, &info);
    if (!std::memchr(info.name, 0, sizeof info.name) ||
        !std::memchr(info.description, 0, sizeof info.description))
      return "name and description need an end";
    if (std::strcmp(info.name, api.name) != 0)
      return std::string("is '") + info.name + "', the table says '" + api.name + "'";
    if (info.threads < 1)
      return std::to_string(info.threads) + " threads";
    hostMemory = info.host_memory == 1;
    return hostMemory ? "" : "host_memory is " + std::to_string(info.host_memory) +
                                 ", and this runtime reads results where they lie";
  }

  std::string arena(uint32_t flags) {
    void *address = nullptr;
    int64_t allocated = 0;
    llmc_device_status status =
        api.arena_allocate(device, arenaBytes, flags, &address, &allocated, &error);
    if (status != LLMC_DEVICE_OK)
      return failed(status);
    std::string problem;
    if (!address || reinterpret_cast<uintptr_t>(address) % 4096)
      problem = "the address is no page's";
    else if (allocated != arenaBytes)
      problem = "counts " + std::to_string(allocated) + " bytes for " + std::to_string(arenaBytes);
    else if (hostMemory)
      problem = contents(static_cast<const float *>(address), flags & LLMC_ARENA_POISON);
    api.arena_free(device, address, arenaBytes);
    return problem;
  }

  static std::string contents(const float *values, bool poison) {
    for (int64_t i = 0; i < arenaBytes / 4; ++i)
      if (poison ? !std::isnan(values[i]) : values[i] != 0)
        return "element " + std::to_string(i) + " is " + std::to_string(values[i]);
    return "";
  }

  std::string emptyArena() {
    void *address = this;
    int64_t allocated = 0;
    llmc_device_status status = api.arena_allocate(device, 0, 0, &address, &allocated, &error);
    if (status != LLMC_DEVICE_OK)
      return failed(status);
    api.arena_free(device, address, 0);
    return allocated == 0 ? "" : "counts " + std::to_string(allocated) + " bytes";
  }

  std::string twoArenas() {
    void *addresses[2] = {};
    int64_t allocated = 0;
    for (void *&address : addresses)
      if (auto status = api.arena_allocate(device, arenaBytes, 0, &address, &allocated, &error);
          status != LLMC_DEVICE_OK)
        return failed(status);
    std::string problem;
    if (hostMemory) {
      std::memset(addresses[0], 1, arenaBytes);
      problem = contents(static_cast<const float *>(addresses[1]), false);
    }
    for (void *address : addresses)
      api.arena_free(device, address, arenaBytes);
    return problem;
  }

  std::string file() {
    KnownFile known;
    const void *address = nullptr;
    int64_t allocated = 0;
    llmc_device_status status =
        api.file_map(device, known.path.c_str(), arenaBytes, &address, &allocated, &error);
    if (status != LLMC_DEVICE_OK)
      return failed(status);
    std::string problem;
    if (allocated != arenaBytes)
      problem = "counts " + std::to_string(allocated) + " bytes for " + std::to_string(arenaBytes);
    for (int64_t i = 0; hostMemory && problem.empty() && i < arenaBytes; ++i)
      if (static_cast<const char *>(address)[i] != KnownFile::byteAt(i))
        problem = "byte " + std::to_string(i) + " is not that of the file";
    api.file_unmap(device, address, arenaBytes);
    return problem;
  }

  /// What has to fail says why, counts nothing and gives nothing.
  std::string refused(llmc_device_status status, const void *given, int64_t allocated) const {
    if (status != LLMC_DEVICE_INPUT)
      return failed(status) + "; expected " + std::to_string(int(LLMC_DEVICE_INPUT));
    if (!error.text[0] || !std::memchr(error.text, 0, sizeof error.text))
      return "says nothing";
    return given || allocated ? "gives something all the same" : "";
  }

  std::string missingFile() {
    const void *address = nullptr;
    int64_t allocated = 0;
    error = {};
    auto status = api.file_map(device, "/nowhere/llmc", 4096, &address, &allocated, &error);
    return refused(status, address, allocated);
  }

  std::string shortFile() {
    KnownFile known;
    const void *address = nullptr;
    int64_t allocated = 0;
    error = {};
    auto status =
        api.file_map(device, known.path.c_str(), arenaBytes + 1, &address, &allocated, &error);
    return refused(status, address, allocated);
  }

  std::string missingModule() {
    llmc_device_variant variant{"any", "", nullptr, 0};
    llmc_device_kernel kernel{"k", "k", 0, nullptr, {1, 1, 1}, 0};
    llmc_device_module_desc desc{"/nowhere", &variant, 1, &kernel, 1};
    llmc_device_module *module = nullptr;
    const char *chosen = nullptr;
    error = {};
    auto status = api.module_load(device, &desc, &module, &chosen, &error);
    return refused(status, module, 0);
  }

  /// A step of observations alone, of a module without kernels.
  std::string step(int64_t count, bool cancel) {
    llmc_device_module_desc desc{"/nowhere", nullptr, 0, nullptr, 0};
    llmc_device_module *module = nullptr;
    const char *chosen = nullptr;
    llmc_device_status status = api.module_load(device, &desc, &module, &chosen, &error);
    if (status != LLMC_DEVICE_OK)
      return "a module without kernels: " + failed(status);
    float data = 0;
    void *args[] = {&data};
    std::vector<llmc_command> commands;
    for (int64_t i = 0; i < count; ++i) {
      llmc_command command{};
      command.kind = LLMC_COMMAND_OBSERVE;
      command.args = args;
      command.arg_count = command.items = command.width = 1;
      command.tag = int32_t(i);
      commands.push_back(command);
    }
    llmc_batch batch{};
    batch.tokens = batch.sequences = 1;
    cancels = cancel;
    seen.clear();
    llmc_device_step step{};
    step.module = module;
    step.commands = commands.data();
    step.command_count = commands.size();
    step.batch = &batch;
    step.cancelled = [](void *self) { return int(static_cast<Checker *>(self)->cancels); };
    step.observe = [](void *self, const llmc_command *command, const float *) {
      static_cast<Checker *>(self)->seen.push_back(command->tag);
    };
    step.user = this;
    status = api.launch(device, &step, &error);
    if (status == LLMC_DEVICE_OK)
      status = api.synchronize(device, &error);
    api.module_unload(device, module);
    return judged(status, count, cancel);
  }

  std::string judged(llmc_device_status status, int64_t count, bool cancel) const {
    if (cancel)
      return status == LLMC_DEVICE_CANCELLED && seen.empty()
                 ? ""
                 : failed(status) + "; " + std::to_string(seen.size()) + " commands were run";
    if (status != LLMC_DEVICE_OK)
      return failed(status);
    for (int64_t i = 0; i < count; ++i)
      if (int64_t(seen.size()) != count || seen[size_t(i)] != i)
        return std::to_string(seen.size()) + " of " + std::to_string(count) +
               " observations, or in another order";
    return "";
  }

  const llmc_device_api &api;
  llmc_device *device = nullptr;
  llmc_device_error error{};
  bool hostMemory = false, cancels = false;
  std::vector<int32_t> seen;
  std::vector<DeviceCheck> checks;
};

} // namespace

std::vector<DeviceCheck> checkDevice(const llmc_device_api &api) { return Checker(api).run(); }

} // namespace llmc::rt
