//===- Program.h - an entry as a list of device commands --------*- C++ -*-===//
//
// Repeats are unrolled and operands become addresses once per session; a step
// only evaluates counts.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_CORE_PROGRAM_H
#define LLMC_RUNTIME_CORE_PROGRAM_H

#include "llmc/Runtime/DevicePlugin.h"
#include "llmc/Runtime/Manifest.h"

#include <vector>

namespace llmc::rt {

/// Where a rank's arenas lie.
struct Addresses {
  std::vector<char *> arenas;
  Extent largest;
};

/// What launches get as the first argument: all of it is the same but the blocks.
struct BatchViews {
  const llmc_batch *whole;
  const llmc_batch *window; ///< for states with a window
};

class Program {
public:
  Program(const Manifest &manifest, const Entry &entry, const Addresses &addresses,
          const BatchViews &batch, bool withObservations);

  /// Fills in the counts for a step of this extent.
  void prepare(const Extent &extent);

  const std::vector<llmc_command> &commands() const { return list; }
  /// The name of an observation, or the kernel, of a command.
  const std::string &label(size_t command) const { return labels[size_t(list[command].tag)]; }
  /// The layer of an observation, -1 for none.
  int64_t layer(size_t command) const { return sources[command].layer; }
  /// Heads of a row of an observation.
  int64_t heads(size_t command) const { return sources[command].step->heads; }
  size_t indexOf(const llmc_command *command) const { return size_t(command - list.data()); }

private:
  struct Source {
    const Step *step;
    int64_t layer;
  };
  void add(const Step &step, int64_t base);
  const llmc_batch *batchFor(const Step &launch) const;
  void *address(const Operand &operand, int64_t base) const;
  void *sliceAddress(int32_t slice) const;

  const Manifest &manifest;
  const Addresses &addresses;
  BatchViews batch;
  bool withObservations;
  std::vector<int64_t> stateBase;   ///< of every state inside its arena
  std::vector<int64_t> memberBytes; ///< of every state
  std::vector<llmc_command> list;
  std::vector<Source> sources;
  std::vector<std::vector<void *>> arguments;
  std::vector<std::string> labels;
};

} // namespace llmc::rt

#endif // LLMC_RUNTIME_CORE_PROGRAM_H
