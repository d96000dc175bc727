//===- WeightSource.cpp - where the evaluator's weights come from ---------===//
#include "llmc/Reference/WeightSource.h"

#include "CheckpointReader.h"

using namespace llmc::reference;

static llvm::Error weightError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

WeightSource::~WeightSource() = default;

void InMemoryWeights::set(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape,
                          std::vector<float> values) {
  entries[tensor] = Entry{Shape(shape), std::move(values)};
}

llvm::Expected<std::vector<float>> InMemoryWeights::load(llvm::StringRef tensor,
                                                         llvm::ArrayRef<int64_t> shape) {
  auto it = entries.find(tensor);
  if (it == entries.end())
    return weightError("there is no tensor '" + tensor + "'");
  const Entry &entry = it->second;
  if (llvm::ArrayRef<int64_t>(entry.shape) != shape)
    return weightError("the tensor '" + tensor + "' has shape " + shapeText(entry.shape) +
                       ", the program's weight " + shapeText(shape));
  return entry.values;
}

llvm::Expected<std::vector<float>> CheckpointWeights::load(llvm::StringRef tensor,
                                                           llvm::ArrayRef<int64_t> shape) {
  CheckpointValues read = readCheckpointTensor(*checkpoint, tensor.str(), shape);
  if (!read.error.empty())
    return weightError(read.error);
  return std::move(read.values);
}

std::string CheckpointWeights::storage(llvm::StringRef tensor) {
  return checkpointStorage(*checkpoint, tensor.str());
}

llvm::Expected<Weight> WeightCache::get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape) {
  return get(tensor, shape, WeightPart{Shape(shape)});
}

/// The rows of `part` out of the whole tensor.
static std::vector<float> takePart(std::vector<float> values, llvm::ArrayRef<int64_t> shape,
                                   const WeightPart &part) {
  int64_t size = elementCount(shape);
  if (part.transposed) {
    int64_t rows = shape[0], cols = shape[1], stored = part.stored[1];
    std::vector<float> out(static_cast<size_t>(size));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t col = 0; col < cols; ++col)
        out[row * cols + col] = values[col * stored + part.firstRow + row];
    return out;
  }
  if (int64_t(values.size()) == size)
    return values;
  int64_t begin = part.firstRow * (size / shape[0]);
  return std::vector<float>(values.begin() + begin, values.begin() + begin + size);
}

llvm::Expected<Weight> WeightCache::get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape,
                                        const WeightPart &part) {
  // Parts of one tensor are weights of their own.
  std::string key = tensor.str();
  if (part.transposed || llvm::ArrayRef<int64_t>(part.stored) != shape)
    key += (" rows " + llvm::Twine(part.firstRow) + " to " +
            llvm::Twine(part.firstRow + shape[0]) + (part.transposed ? " transposed" : ""))
               .str();
  if (auto it = byName.find(key); it != byName.end()) {
    if (llvm::ArrayRef<int64_t>(it->second->shape) != shape)
      return weightError("the tensor '" + tensor + "' is used with shape " + shapeText(shape) +
                         " and with " + shapeText(it->second->shape));
    recent.splice(recent.begin(), recent, it->second);
    return recent.front();
  }
  llvm::Expected<std::vector<float>> values = source.load(tensor, part.stored);
  if (!values)
    return values.takeError();
  if (int64_t(values->size()) != elementCount(part.stored))
    return weightError("the tensor '" + tensor + "' has " + llvm::Twine(values->size()) +
                       " values, its shape is " + shapeText(part.stored));
  *values = takePart(std::move(*values), shape, part);
  if (std::string stored = source.storage(tensor);
      !stored.empty() && !part.storage.empty() && stored != part.storage) {
    CheckpointValues read = throughStorage(std::move(*values), part.storage, tensor.str());
    if (!read.error.empty())
      return weightError(read.error);
    *values = std::move(read.values);
  }
  uint64_t size = values->size() * sizeof(float);
  while (!recent.empty() && bytes + size > limitBytes) {
    bytes -= recent.back().values->size() * sizeof(float);
    byName.erase(recent.back().name);
    recent.pop_back();
  }
  bytes += size;
  recent.push_front(
      Weight{key, Shape(shape), std::make_shared<const std::vector<float>>(std::move(*values))});
  byName[key] = recent.begin();
  return recent.front();
}
