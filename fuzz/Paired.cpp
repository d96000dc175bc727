//===- Paired.cpp - tensors of a quantised checkpoint that are one weight -===//
//
// quantization_config, a NUL, and a safetensors file.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/PairedTensors.h"

#include <cstring>

using namespace llmc;
using namespace llmc::fuzz;

static void readAll(const frontend::Checkpoint &checkpoint, size_t fileSize) {
  for (const std::string &fault : checkpoint.deferredFaults())
    if (fault.empty())
      __builtin_trap();
  for (const frontend::CheckpointTensor &tensor : checkpoint.tensors()) {
    if (checkpoint.find(tensor.name) != &tensor)
      __builtin_trap();
    reads([&] {
      // The smallest stored element has two bits.
      std::vector<float> values = checkpoint.values(tensor);
      if (values.size() != *frontend::elementCount(tensor.shape) || values.size() > 4 * fileSize)
        __builtin_trap();
    });
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  reads([&] {
    frontend::QuantScheme scheme =
        frontend::readQuantScheme(frontend::parseJson(texts[0], "config.json"), "config.json");
    if (!scheme.readable && scheme.reason.empty())
      __builtin_trap();
    if (scheme.readable)
      readAll(*frontend::pairTensors(frontend::openSafetensors(file.write(texts[1])), scheme),
              texts[1].size());
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  std::string &file = texts[1];
  uint64_t length = 0;
  if (file.size() >= 8)
    std::memcpy(&length, file.data(), 8);
  if (seed % 5 == 0 || file.size() < 8 || length > file.size() - 8)
    return LLVMFuzzerMutate(data, size, maxSize);
  if (seed % 5 == 1) {
    texts[0] = mutateJson(texts[0], seed);
  } else {
    std::string header = mutateJson(file.substr(8, length), seed);
    std::string body = file.substr(8 + length);
    length = header.size();
    file.assign(reinterpret_cast<const char *>(&length), 8);
    file += header + body;
  }
  return giveBack(texts[0] + '\0' + file, data, maxSize);
}
