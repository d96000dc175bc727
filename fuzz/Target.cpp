//===- Target.cpp - the file of a chip, and one that it extends -----------===//
//
// Two files with a NUL between them; the first may extend the second, "base".
//
//===----------------------------------------------------------------------===//
#include "Support.h"
#include "llmc/Frontend/TargetFile.h"

using namespace llmc;
using namespace llmc::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Folder folder;
  std::vector<std::string> texts = parts(textOf(data, size), 2);
  folder.write("chip.jsonc", texts[0]);
  folder.write("base.jsonc", texts[1]);
  reads([&] {
    frontend::TargetFile chip = frontend::TargetFile::read("chip", folder.path());
    static const std::vector<frontend::OperatorFacts> uses = {
        {},
        {{"storage", "f32"}, {"in", "48"}, {"heads", "8"}, {"width", "9223372036854775807"}},
        {{"storage", "nan"}, {"in", "-inf"}, {"heads", ""}, {"width", "1e999"}}};
    for (const auto &[op, covered] : chip.operators) {
      for (const frontend::OperatorFacts &facts : uses) {
        std::string by;
        // Either it is covered, by somebody, or there is a reason.
        if (chip.whyNotCovered(op, facts, by).empty() == by.empty())
          __builtin_trap();
      }
      for (const auto &[fact, values] : covered.only)
        (void)values.toText();
    }
  });
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  return mutatePair(data, size, maxSize, seed, seed % 4 == 0, seed % 5 == 0);
}
