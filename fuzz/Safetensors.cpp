//===- Safetensors.cpp - a safetensors file, or the index of several ------===//
//
// An input that begins with '{' is the index of a folder without its shards.
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"

using namespace llmc;
using namespace llmc::fuzz;

static void readAll(const frontend::Checkpoint &checkpoint) {
  readTensors(checkpoint, [&](const frontend::CheckpointTensor &tensor) {
    unsigned sum = 0;
    for (std::byte byte : checkpoint.data(tensor))
      sum += unsigned(byte);
    // A file of these sizes holds few values; more would be read from nowhere.
    if (checkpoint.values(tensor).size() > (size_t(1) << 26))
      __builtin_trap();
    [[maybe_unused]] static volatile unsigned sink;
    sink = sum;
  });
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
  std::optional<std::string> file = mutateHeader(textOf(data, size), seed);
  if (seed % 4 == 0 || !file)
    return LLVMFuzzerMutate(data, size, maxSize);
  return giveBack(*file, data, maxSize);
}
