//===- CheckpointReader.cpp - a checkpoint's values, without exceptions ----===//
#include "CheckpointReader.h"

#include "llmc/Frontend/Checkpoint.h"

using namespace llmc::reference;

CheckpointValues
llmc::reference::readCheckpointTensor(const frontend::Checkpoint &checkpoint,
                                      const std::string &name,
                                      std::span<const int64_t> shape) noexcept {
  try {
    const frontend::CheckpointTensor *tensor = checkpoint.find(name);
    if (!tensor)
      return {{}, "the checkpoint has no tensor '" + name + "'"};
    if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end()))
      return {{}, "the checkpoint's tensor '" + name + "' has shape " +
                      frontend::shapeText(tensor->shape) + ", the program's weight " +
                      frontend::shapeText(shape)};
    return {checkpoint.values(*tensor), {}};
  } catch (const std::exception &exception) {
    return {{}, exception.what()};
  }
}
