//===- Safetensors.cpp - a safetensors file, or the index of several ------===//
//
// An input that begins with '{' is the index of a folder without its shards.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/Checkpoint.h"

#include <cstring>

using namespace llmc;
using namespace llmc::fuzz;

static void readAll(const frontend::Checkpoint &checkpoint) {
  for (const std::string &fault : checkpoint.deferredFaults())
    if (fault.empty())
      __builtin_trap();
  for (const frontend::CheckpointTensor &tensor : checkpoint.tensors()) {
    if (checkpoint.find(tensor.name) != &tensor)
      __builtin_trap();
    reads([&] {
      unsigned sum = 0;
      for (std::byte byte : checkpoint.data(tensor))
        sum += unsigned(byte);
      // A file of these sizes holds few values; more would be read from nowhere.
      if (checkpoint.values(tensor).size() > (size_t(1) << 26))
        __builtin_trap();
      static volatile unsigned sink;
      sink = sum;
    });
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  static Folder folder;
  reads([&] {
    if (size && data[0] == '{') {
      folder.write("model.safetensors.index.json", textOf(data, size));
      if (auto checkpoint = frontend::openSafetensorsFolder(folder.path()))
        readAll(*checkpoint);
      return;
    }
    readAll(*frontend::openSafetensors(file.write(textOf(data, size))));
  });
  return 0;
}

/// Bytes in a header change little but its JSON; most changes are made to that.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  uint64_t length = 0;
  if (size >= 8)
    std::memcpy(&length, data, 8);
  if (seed % 4 == 0 || size < 8 || length > size - 8)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::string_view body = textOf(data + 8 + length, size - 8 - length);
  std::string header = mutateJson(textOf(data + 8, length), seed);
  length = header.size();
  std::string file(reinterpret_cast<const char *>(&length), 8);
  file += header;
  file += body;
  return giveBack(file, data, maxSize);
}
