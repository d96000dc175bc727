//===- CheckpointReader.cpp - a checkpoint's values, without exceptions ----===//
#include "CheckpointReader.h"

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Quantize.h"
#include "llmc/Frontend/WholeNumbers.h"

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
    if (tensor->format && frontend::isWholeNumbers(*tensor->format))
      // Those of quantised weights are parts of what is computed.
      if (frontend::TensorBytes stored = checkpoint.bytes(*tensor); !stored.computed)
        return {frontend::wholeNumbers(*tensor->format, stored.bytes, name), {}};
    return {checkpoint.values(*tensor), {}};
  } catch (const std::exception &exception) {
    return {{}, exception.what()};
  }
}

std::string llmc::reference::checkpointStorage(const frontend::Checkpoint &checkpoint,
                                               const std::string &name) noexcept {
  const frontend::CheckpointTensor *tensor = checkpoint.find(name);
  return tensor && tensor->format ? std::string(tensor->format->name) : std::string();
}

CheckpointValues llmc::reference::throughStorage(std::vector<float> values,
                                                 const std::string &storage,
                                                 const std::string &name) noexcept {
  try {
    const frontend::StorageFormat *format = frontend::findStorageFormat(storage);
    if (!format || !frontend::canQuantize(*format))
      return {std::move(values), {}};
    auto bytes = frontend::encodeValues(*format, values, "tensor '" + name + "'");
    frontend::dequantize(*format, bytes, values);
    return {std::move(values), {}};
  } catch (const std::exception &exception) {
    return {{}, exception.what()};
  }
}
