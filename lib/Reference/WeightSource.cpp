//===- WeightSource.cpp - where the evaluator's weights come from ---------===//
#include "llmc/Reference/WeightSource.h"

#include "CheckpointReader.h"
#include "llmc/Support/LayerName.h"

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

/// Row by row: the strides of a whole tensor.
static Shape stridesOf(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

llvm::Expected<Weight> WeightCache::get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape) {
  return get(tensor, shape, WeightPart{Shape(shape), 0, stridesOf(shape), {}});
}

/// Appends the elements that lie at `first` plus multiples of the strides, in the order of the
/// weight.
static void gather(const std::vector<float> &values, llvm::ArrayRef<int64_t> shape, int64_t first,
                   llvm::ArrayRef<int64_t> strides, std::vector<float> &out) {
  if (shape.size() == 1) {
    for (int64_t i = 0; i < shape[0]; ++i)
      out.push_back(values[size_t(first + i * strides[0])]);
    return;
  }
  for (int64_t i = 0; i < shape[0]; ++i)
    gather(values, shape.drop_front(), first + i * strides[0], strides.drop_front(), out);
}

llvm::Error WeightCache::append(const std::string &tensor, llvm::ArrayRef<int64_t> shape,
                                const WeightPart &part, std::vector<float> &values) {
  llvm::Expected<std::vector<float>> stored = source.load(tensor, part.stored);
  if (!stored)
    return stored.takeError();
  if (int64_t(stored->size()) != elementCount(part.stored))
    return weightError("the tensor '" + tensor + "' has " + llvm::Twine(stored->size()) +
                       " values, its shape is " + shapeText(part.stored));
  std::vector<float> taken;
  if (llvm::ArrayRef<int64_t>(part.stored) == shape && part.first == 0 &&
      part.strides == stridesOf(shape)) {
    taken = std::move(*stored);
  } else {
    taken.reserve(size_t(elementCount(shape)));
    gather(*stored, shape, part.first, part.strides, taken);
  }
  if (std::string format = source.storage(tensor);
      !format.empty() && !part.storage.empty() && format != part.storage) {
    CheckpointValues read = throughStorage(std::move(taken), part.storage, tensor);
    if (!read.error.empty())
      return weightError(read.error);
    taken = std::move(read.values);
  }
  if (values.empty())
    values = std::move(taken);
  else
    values.insert(values.end(), taken.begin(), taken.end());
  return llvm::Error::success();
}

llvm::Expected<Weight> WeightCache::get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape,
                                        const WeightPart &part) {
  // Parts of one tensor are weights of their own.
  std::string key = tensor.str();
  if (llvm::ArrayRef<int64_t>(part.stored) != shape || part.first != 0 ||
      part.strides != stridesOf(shape)) {
    key += (" from " + llvm::Twine(part.first) + " by").str();
    for (int64_t stride : part.strides)
      key += " " + std::to_string(stride);
    key += " as " + shapeText(shape);
  }
  if (auto it = byName.find(key); it != byName.end()) {
    if (llvm::ArrayRef<int64_t>(it->second->shape) != shape)
      return weightError("the tensor '" + tensor + "' is used with shape " + shapeText(shape) +
                         " and with " + shapeText(it->second->shape));
    recent.splice(recent.begin(), recent, it->second);
    return recent.front();
  }
  std::vector<float> values;
  if (tensor.contains("{e}")) {
    values.reserve(size_t(elementCount(shape)));
    for (int64_t expert = 0; expert < shape[0]; ++expert)
      if (llvm::Error error =
              append(llmc::resolveExpert(tensor, expert), shape.drop_front(), part, values))
        return std::move(error);
  } else if (llvm::Error error = append(tensor.str(), shape, part, values)) {
    return std::move(error);
  }
  uint64_t size = values.size() * sizeof(float);
  while (!recent.empty() && bytes + size > limitBytes) {
    bytes -= recent.back().values->size() * sizeof(float);
    byName.erase(recent.back().name);
    recent.pop_back();
  }
  bytes += size;
  recent.push_front(
      Weight{key, Shape(shape), std::make_shared<const std::vector<float>>(std::move(values))});
  byName[key] = recent.begin();
  return recent.front();
}
