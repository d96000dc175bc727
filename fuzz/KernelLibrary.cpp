//===- KernelLibrary.cpp - files that name kernels of the user's own ------===//
//
// Two files with a NUL between them, given in this order; the objects that they name
// are there under two names.
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/KernelLibrary.h"

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  static const bool hasObjects = [] {
    folder.write("a.o", "a");
    folder.write("b.o", "b");
    return true;
  }();
  (void)hasObjects;
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  std::vector<std::string> files;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty())
      continue;
    std::string name = i ? "second.jsonc" : "first.jsonc";
    folder.write(name, texts[i]);
    files.push_back(folder.path(name));
  }
  reads([&] {
    static const std::vector<frontend::OperatorFacts> uses = {
        {},
        {{"storage", "f32"}, {"in", "48"}, {"heads", "8"}, {"width", "9223372036854775807"}},
        {{"storage", "nan"}, {"in", "-inf"}, {"heads", ""}, {"width", "1e999"}},
        {{"storage", "f32"}, {"in", "16"}, {"heads", "-1"}, {"width", "1e300"}}};
    for (const frontend::UserKernel &kernel : frontend::readKernelLibraries(files))
      for (const frontend::OperatorFacts &facts : uses) {
        if (!kernel.whyNot(facts).empty())
          continue;
        // What it computes it can be launched for.
        if (kernel.factsOf(facts).size() != kernel.facts.size() || kernel.scratchOf(facts) < 0)
          __builtin_trap();
      }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutatePair(data, size, maxSize, seed, seed % 4 == 0, seed % 5 == 0);
}
