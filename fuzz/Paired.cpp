//===- Paired.cpp - tensors of a quantised checkpoint that are one weight -===//
//
// quantization_config, a NUL, and a safetensors file.
//
//===----------------------------------------------------------------------===//
#include "Tensors.h"
#include "llmc/Frontend/PairedTensors.h"

using namespace llmc;
using namespace llmc::fuzz;

static void readAll(const frontend::Checkpoint &checkpoint, size_t fileSize) {
  readTensors(checkpoint, [&](const frontend::CheckpointTensor &tensor) {
    // The smallest stored element has two bits.
    std::vector<float> values = checkpoint.values(tensor);
    if (values.size() != *frontend::elementCount(tensor.shape) || values.size() > 4 * fileSize)
      __builtin_trap();
  });
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
  std::optional<std::string> file = mutateHeader(texts[1], seed);
  if (seed % 5 == 0 || !file)
    return LLVMFuzzerMutate(data, size, maxSize);
  if (seed % 5 == 1)
    texts[0] = mutateJson(texts[0], seed);
  else
    texts[1] = *file;
  return giveBack(texts[0] + '\0' + texts[1], data, maxSize);
}
