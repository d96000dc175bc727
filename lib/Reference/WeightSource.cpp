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

llvm::Expected<Weight> WeightCache::get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape) {
  if (auto it = byName.find(tensor); it != byName.end()) {
    if (llvm::ArrayRef<int64_t>(it->second->shape) != shape)
      return weightError("the tensor '" + tensor + "' is used with shape " + shapeText(shape) +
                         " and with " + shapeText(it->second->shape));
    recent.splice(recent.begin(), recent, it->second);
    return recent.front();
  }
  llvm::Expected<std::vector<float>> values = source.load(tensor, shape);
  if (!values)
    return values.takeError();
  if (int64_t(values->size()) != elementCount(shape))
    return weightError("the tensor '" + tensor + "' has " + llvm::Twine(values->size()) +
                       " values, its shape is " + shapeText(shape));
  uint64_t size = values->size() * sizeof(float);
  while (!recent.empty() && bytes + size > limitBytes) {
    bytes -= recent.back().values->size() * sizeof(float);
    byName.erase(recent.back().name);
    recent.pop_back();
  }
  bytes += size;
  recent.push_front(Weight{tensor.str(), Shape(shape),
                           std::make_shared<const std::vector<float>>(std::move(*values))});
  byName[tensor] = recent.begin();
  return recent.front();
}
