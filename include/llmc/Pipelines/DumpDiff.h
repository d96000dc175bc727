//===- DumpDiff.h - what differs between two dumps --------------*- C++ -*-===//
//
// Two .mlir of one model in the same form, llm or plan: as --dump-phases or --emit
// writes them. Compares what they say, not how it is written.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_PIPELINES_DUMPDIFF_H
#define LLMC_PIPELINES_DUMPDIFF_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llmc {

struct DumpDiff {
  struct Entry {
    /// Function of the layers that it is of; empty for the program.
    std::string function;
    /// Layers that run the function, of the dump that has more; 0 outside of layers.
    int64_t layers = 0;
    std::string name;
    /// Nothing where that dump has nothing of the name.
    std::optional<std::string> a, b;
  };

  std::string a, b;
  /// "llm" or "plan".
  std::string form;
  /// Facts of the model and the deployment; which layers run what; operations, also those
  /// inside of fusions; fusions; launches; arenas; slices; families of weights and state.
  std::vector<Entry> model, kinds, operations, fusions, launches, arenas, slices, families;

  bool equal() const;
  std::string toText() const;
  /// docs/Diff.md has the schema.
  std::string toJson() const;
};

/// Throws InputError where a file cannot be read, is not one program, or is of another form than
/// the other.
DumpDiff diffDumps(const std::string &a, const std::string &b);

} // namespace llmc

#endif // LLMC_PIPELINES_DUMPDIFF_H
