//===- CheckpointReader.h - a checkpoint's values, without exceptions -*- C++ -*-===//
//
// The boundary between the checkpoint readers, which throw, and the targets that
// face MLIR, which are compiled without exceptions.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_LIB_REFERENCE_CHECKPOINTREADER_H
#define LLMC_LIB_REFERENCE_CHECKPOINTREADER_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace llmc::frontend {
class Checkpoint;
}

namespace llmc::reference {

struct CheckpointValues {
  std::vector<float> values;
  /// What is wrong; empty on success.
  std::string error;
};

/// The f32 values of a tensor that must have this shape.
CheckpointValues readCheckpointTensor(const frontend::Checkpoint &checkpoint,
                                      const std::string &name,
                                      std::span<const int64_t> shape) noexcept;

/// The name of the format that a tensor is stored in, empty where there is no such tensor.
std::string checkpointStorage(const frontend::Checkpoint &checkpoint,
                              const std::string &name) noexcept;

/// Values as an artifact holds them that makes blocks of a format of float weights: quantised
/// and dequantised. Unchanged where `storage` is no format that llmc makes blocks of.
CheckpointValues throughStorage(std::vector<float> values, const std::string &storage,
                                const std::string &name) noexcept;

} // namespace llmc::reference

#endif // LLMC_LIB_REFERENCE_CHECKPOINTREADER_H
