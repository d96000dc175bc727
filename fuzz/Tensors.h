//===- Tensors.h - reading every tensor of a checkpoint ---------*- C++ -*-===//
#ifndef LLMC_FUZZ_TENSORS_H
#define LLMC_FUZZ_TENSORS_H

#include "Support.h"
#include "llmc/Frontend/Checkpoint.h"

namespace llmc::fuzz {

/// Calls `read` with each tensor, which may refuse it, once faults have texts and the tensor is
/// found by its name.
template <typename Read>
void readTensors(const frontend::Checkpoint &checkpoint, Read &&read) {
  for (const std::string &fault : checkpoint.deferredFaults())
    if (fault.empty())
      __builtin_trap();
  for (const frontend::CheckpointTensor &tensor : checkpoint.tensors()) {
    if (checkpoint.find(tensor.name) != &tensor)
      __builtin_trap();
    reads([&] { read(tensor); });
  }
}

} // namespace llmc::fuzz

#endif // LLMC_FUZZ_TENSORS_H
