//===- CheckpointReader.cpp - a checkpoint's values, without exceptions ----===//
#include "CheckpointReader.h"

#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/Quantize.h"

#include <cstring>

using namespace llmc::reference;

/// A table of whole numbers, which must be exact in f32.
template <typename Integer>
static CheckpointValues wholeNumbers(std::span<const std::byte> bytes, const std::string &name) {
  std::vector<float> values(bytes.size() / sizeof(Integer));
  for (size_t i = 0; i < values.size(); ++i) {
    Integer number;
    std::memcpy(&number, bytes.data() + i * sizeof(Integer), sizeof(Integer));
    constexpr Integer most = Integer(1) << 24;
    if (number < -most || number > most)
      return {{}, "element " + std::to_string(i) + " of the checkpoint's tensor '" + name +
                      "' is " + std::to_string(number) +
                      ", whole numbers can be read up to 16777216"};
    values[i] = float(number);
  }
  return {std::move(values), {}};
}

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
    bool isWide = tensor->format && tensor->format->name == "i64";
    if (isWide || (tensor->format && tensor->format->name == "i32"))
      // Those of quantised weights are parts of what is computed.
      if (frontend::TensorBytes stored = checkpoint.bytes(*tensor); !stored.computed)
        return isWide ? wholeNumbers<int64_t>(stored.bytes, name)
                      : wholeNumbers<int32_t>(stored.bytes, name);
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
