//===- Catalogue.cpp - a file of the catalogue ----------------------------===//
#include "llmc/Frontend/Catalogue.h"
#include "Support.h"

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  folder.write("fuzzed.jsonc", textOf(data, size));
  reads([&] {
    frontend::Catalogue catalogue(folder.path());
    for (const std::string &name : catalogue.names()) {
      const frontend::Catalogue::Model *model = catalogue.find(name);
      if (!model || model->name != name || !model->config.isObject())
        __builtin_trap();
      reads([&] { (void)catalogue.open(name); });
      reads([&] { (void)catalogue.open(name + "x"); });
    }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutateText(data, size, maxSize, seed, seed % 4 == 0);
}
