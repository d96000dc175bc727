//===- ToyDevice.cpp - the device plugin of a toy chip --------------------===//
//
// A chip in software: memory of its own, cores that run the artifact's kernels.so, and a
// matrix unit that reads programs. Needs one header of llmc and no library of it.
//
//===----------------------------------------------------------------------===//
#include "llmc/Runtime/DevicePlugin.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// What a program of the matrix unit says: y = x W^T, W as panels of 16 rows (docs/Manifest.md,
/// weight layouts), x and y dense f32 rows of all tokens.
struct MatrixProgram {
  int64_t rows = 0, cols = 0, tile = 0, width = 0;

  void run(void *const *args, int64_t tokens) const {
    const float *x = static_cast<const float *>(args[1]), *w = static_cast<const float *>(args[2]);
    float *y = static_cast<float *>(args[3]);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t row = 0; row < width; ++row) {
        int64_t panel = row / 16, item = panel / tile;
        const float *k0 = w + item * tile * 16 * cols + panel % tile * 16 + row % 16;
        float sum = 0;
        for (int64_t k = 0; k < cols; ++k)
          sum = std::fma(k0[k * tile * 16], x[t * cols + k], sum);
        y[t * width + row] = sum;
      }
  }
};

/// One kernel: a program, or a function for the cores.
struct Kernel {
  bool isProgram = false;
  MatrixProgram program;
  llmc_kernel_fn function = nullptr;
};

llmc_device_status refuse(llmc_device_error *error, const std::string &text) {
  std::snprintf(error->text, sizeof error->text, "toy: %s", text.c_str());
  return LLMC_DEVICE_INPUT;
}

/// Empty, or what is wrong with the file.
std::string readProgram(const std::string &path, MatrixProgram &program) {
  std::ifstream file(path);
  std::string toy, matmul, rows, cols, tile, width;
  int version = 0;
  file >> toy >> version >> matmul >> rows >> program.rows >> cols >> program.cols >> tile >>
      program.tile >> width >> program.width;
  constexpr int64_t most = int64_t(1) << 24;
  auto isSize = [](int64_t size) { return size >= 1 && size <= most; };
  bool isRight = file && toy == "toy" && version == 1 && matmul == "matmul" && rows == "rows" &&
                 cols == "cols" && tile == "tile" && width == "width" && isSize(program.rows) &&
                 isSize(program.cols) && isSize(program.tile) && program.width >= 1 &&
                 program.width <= program.rows;
  return isRight ? "" : path + ": is no program of version 1";
}

} // namespace

struct llmc_device {
  int64_t bytesInUse = 0;
};

struct llmc_device_module {
  void *library = nullptr;
  std::vector<Kernel> kernels;
  ~llmc_device_module() {
    if (library)
      dlclose(library);
  }
};

namespace {

llmc_device_status openDevice(const llmc_device_options *, llmc_device **device,
                              llmc_device_error *) {
  *device = new llmc_device;
  return LLMC_DEVICE_OK;
}

void closeDevice(llmc_device *device) { delete device; }

void describe(llmc_device *, llmc_device_info *info) {
  *info = {};
  std::snprintf(info->name, sizeof info->name, "toy");
  std::snprintf(info->description, sizeof info->description, "a chip in software, one core");
  info->threads = 1;
  info->host_memory = 1;
}

llmc_device_status allocate(llmc_device *device, int64_t bytes, uint32_t flags, void **address,
                            int64_t *allocated, llmc_device_error *error) {
  *address = nullptr;
  if (bytes == 0)
    return LLMC_DEVICE_OK;
  size_t rounded = (size_t(bytes) + 4095) / 4096 * 4096;
  *address = std::aligned_alloc(4096, rounded);
  if (!*address)
    return refuse(error, std::to_string(bytes) + " bytes are not available");
  std::memset(*address, flags & LLMC_ARENA_POISON ? 0xff : 0, rounded);
  device->bytesInUse += bytes;
  *allocated += bytes;
  return LLMC_DEVICE_OK;
}

void release(llmc_device *device, void *address, int64_t bytes) {
  device->bytesInUse -= address ? bytes : 0;
  std::free(address);
}

/// Weights are copied into the chip's memory, as a chip with memory of its own has to.
llmc_device_status mapFile(llmc_device *device, const char *path, int64_t bytes,
                           const void **address, int64_t *allocated, llmc_device_error *error) {
  void *memory = nullptr;
  llmc_device_status status = allocate(device, bytes, 0, &memory, allocated, error);
  if (status != LLMC_DEVICE_OK || !memory) {
    *address = memory;
    return status;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file.read(static_cast<char *>(memory), bytes)) {
    release(device, memory, bytes);
    *allocated -= bytes;
    *address = nullptr;
    return refuse(error, std::string(path) + ": has no " + std::to_string(bytes) + " bytes to read");
  }
  *address = memory;
  return LLMC_DEVICE_OK;
}

void unmapFile(llmc_device *device, const void *address, int64_t bytes) {
  release(device, const_cast<void *>(address), bytes);
}

/// The toy's cores have what the last variant needs, the least of all.
llmc_device_status loadModule(llmc_device *, const llmc_device_module_desc *desc,
                              llmc_device_module **module, const char **variant,
                              llmc_device_error *error) {
  auto loaded = new llmc_device_module;
  auto fail = [&](const std::string &text) {
    delete loaded;
    return refuse(error, text);
  };
  std::string folder = desc->folder, suffix;
  *variant = "toy";
  for (size_t i = 0; i < desc->kernel_count; ++i) {
    Kernel kernel;
    const llmc_device_kernel &wanted = desc->kernels[i];
    if (wanted.file) {
      kernel.isProgram = true;
      if (std::string problem = readProgram(folder + "/" + wanted.file, kernel.program);
          !problem.empty())
        return fail(problem);
      loaded->kernels.push_back(kernel);
      continue;
    }
    if (!loaded->library) {
      if (!desc->variant_count)
        return fail(folder + ": has kernels for cores and no variant of them");
      suffix = desc->variants[desc->variant_count - 1].suffix;
      loaded->library = dlopen((folder + "/kernels.so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!loaded->library)
        return fail(dlerror());
    }
    std::string symbol = wanted.symbol + suffix;
    kernel.function = reinterpret_cast<llmc_kernel_fn>(dlsym(loaded->library, symbol.c_str()));
    if (!kernel.function)
      return fail(folder + "/kernels.so: has no symbol " + symbol);
    loaded->kernels.push_back(kernel);
  }
  *module = loaded;
  return LLMC_DEVICE_OK;
}

void unloadModule(llmc_device *, llmc_device_module *module) { delete module; }

llmc_device_status launch(llmc_device *, const llmc_device_step *step, llmc_device_error *) {
  for (size_t i = 0; i < step->command_count; ++i) {
    const llmc_command &command = step->commands[i];
    if (step->cancelled && step->cancelled(step->user))
      return LLMC_DEVICE_CANCELLED;
    if (command.kind == LLMC_COMMAND_OBSERVE) {
      step->observe(step->user, &command, static_cast<const float *>(command.args[0]));
    } else if (command.kind == LLMC_COMMAND_COLLECTIVE) {
      step->collective(step->user, &command);
    } else if (command.items > 0) {
      const Kernel &kernel = step->module->kernels[command.kernel];
      if (kernel.isProgram)
        kernel.program.run(command.args, step->batch->tokens);
      else
        kernel.function(command.args, 0, command.items, step->workspace);
    }
  }
  return LLMC_DEVICE_OK;
}

llmc_device_status synchronize(llmc_device *, llmc_device_error *) { return LLMC_DEVICE_OK; }

} // namespace

extern "C" const llmc_device_api *llmc_device_plugin_query(void) {
  static const llmc_device_api api = {LLMC_DEVICE_ABI_MAJOR, LLMC_DEVICE_ABI_MINOR, sizeof api,
                                      "toy", openDevice, closeDevice, describe, allocate, release,
                                      mapFile, unmapFile, loadModule, unloadModule, launch,
                                      synchronize};
  return &api;
}
