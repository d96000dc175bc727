//===- Checkpoint.cpp - the tensor list and lazy mappings -----------------===//
#include "llmc/Frontend/Checkpoint.h"
#include "llmc/Frontend/PairedTensors.h"

#include "llmc/Support/Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace llmc::frontend {

std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<uint64_t> elementCount(std::span<const int64_t> shape) {
  uint64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > uint64_t(std::numeric_limits<int64_t>::max()) / uint64_t(dim))
      return std::nullopt;
    count *= uint64_t(dim);
  }
  return empty ? 0 : count;
}

/// One read-only mapping a file, made when first asked for.
struct Checkpoint::Mappings {
  struct Map {
    const std::byte *base = nullptr;
    uint64_t size = 0;
  };
  std::mutex mutex;
  std::vector<Map> maps;
  /// Paired tensors computed last: parts of one tensor are asked for one after another.
  std::mutex computedMutex;
  std::vector<std::pair<const PairedTensors *, std::shared_ptr<const std::vector<float>>>>
      computed;
  /// Tensors computed of a whole one, made when first asked for.
  std::mutex derivedMutex;
  std::unordered_map<std::string, std::unique_ptr<const CheckpointTensor>> derived;

  ~Mappings() {
    for (Map &map : maps)
      if (map.base)
        munmap(const_cast<std::byte *>(map.base), map.size);
  }
};

Checkpoint::Checkpoint() : mappings(std::make_unique<Mappings>()) {}
Checkpoint::~Checkpoint() = default;

const CheckpointTensor *Checkpoint::find(std::string_view name) const {
  if (auto it = byName.find(std::string(name)); it != byName.end())
    return &list[it->second];
  auto whole = byName.find(std::string(tensorOfUnitRows(name)));
  if (whole == byName.end())
    return nullptr;
  std::lock_guard lock(mappings->derivedMutex);
  std::unique_ptr<const CheckpointTensor> &made = mappings->derived[std::string(name)];
  if (!made) {
    PairedTensors pair;
    pair.kind = PairingKind::UnitRows;
    pair.quants = list[whole->second];
    CheckpointTensor tensor = pair.quants;
    tensor.name = name;
    if (tensor.format && tensor.format->readable)
      tensor.format = findStorageFormat("f32");
    tensor.paired = std::make_shared<const PairedTensors>(std::move(pair));
    made = std::make_unique<const CheckpointTensor>(std::move(tensor));
  }
  return made.get();
}

uint32_t Checkpoint::addFile(std::string path, uint64_t size) {
  paths.push_back(std::move(path));
  sizes.push_back(size);
  return uint32_t(paths.size() - 1);
}

void Checkpoint::addFilesOf(const Checkpoint &other) {
  paths = other.paths;
  sizes = other.sizes;
  faults = other.faults;
  dataPresent = other.dataPresent;
  shapesPresent = other.shapesPresent;
}

void Checkpoint::addTensor(CheckpointTensor tensor) {
  auto [it, inserted] = byName.try_emplace(tensor.name, list.size());
  if (!inserted)
    throw InputError(paths[tensor.file] + ": tensor '" + tensor.name + "' is also in " +
                     paths[list[it->second].file] +
                     "; a tensor may be stored once, remove one of the files or copies");
  list.push_back(std::move(tensor));
}

std::span<const std::byte> Checkpoint::data(const CheckpointTensor &tensor) const {
  const std::string &path = paths[tensor.file];
  if (tensor.paired)
    throw InternalError("tensor '" + tensor.name + "' has no bytes of its own");
  if (!dataPresent)
    throw InputError(path + ": holds no data for tensor '" + tensor.name +
                     "', only its description; get the whole checkpoint to use weights");
  if (tensor.byteSize == 0)
    return {};
  std::lock_guard lock(mappings->mutex);
  mappings->maps.resize(paths.size());
  Mappings::Map &map = mappings->maps[tensor.file];
  if (!map.base) {
    int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
      int error = errno;
      if (descriptor >= 0)
        close(descriptor);
      throw InputError(path + ": cannot be opened: " + std::strerror(error));
    }
    // Offsets were checked against the size at that time.
    if (uint64_t(status.st_size) != sizes[tensor.file]) {
      close(descriptor);
      throw InputError(path + ": had " + std::to_string(sizes[tensor.file]) +
                       " bytes when its header was read and has " + std::to_string(status.st_size) +
                       " now; it was changed meanwhile");
    }
    void *base = mmap(nullptr, sizes[tensor.file], PROT_READ, MAP_PRIVATE, descriptor, 0);
    int error = errno;
    close(descriptor);
    if (base == MAP_FAILED)
      throw InputError(path + ": cannot be mapped: " + std::strerror(error));
    map = {static_cast<const std::byte *>(base), sizes[tensor.file]};
  }
  return {map.base + tensor.byteOffset, size_t(tensor.byteSize)};
}

TensorBytes Checkpoint::bytes(const CheckpointTensor &tensor) const {
  if (!tensor.paired)
    return {data(tensor), nullptr};
  auto view = [](std::shared_ptr<const std::vector<float>> values) {
    std::span<const std::byte> bytes = std::as_bytes(std::span(*values));
    return TensorBytes{bytes, std::move(values)};
  };
  constexpr size_t kept = 2;
  std::lock_guard lock(mappings->computedMutex);
  auto &computed = mappings->computed;
  for (auto &[paired, values] : computed)
    if (paired == tensor.paired.get())
      return view(values);
  auto values = std::make_shared<const std::vector<float>>(pairedValues(*this, tensor));
  if (computed.size() == kept)
    computed.erase(computed.begin());
  computed.emplace_back(tensor.paired.get(), values);
  return view(std::move(values));
}

std::vector<float> Checkpoint::values(const CheckpointTensor &tensor) const {
  auto count = elementCount(tensor.shape);
  if (!tensor.format || !tensor.shapeKnown || !count)
    throw InputError(paths[tensor.file] + ": the type and shape of tensor '" + tensor.name +
                     "' are not known; get the whole checkpoint to use weights");
  if (!tensor.format->readable)
    throw InputError(paths[tensor.file] + ": tensor '" + tensor.name + "' is stored as " +
                     std::string(tensor.format->name) +
                     ", which llmc cannot read yet; readable are " + readableNames());
  if (tensor.paired)
    return *bytes(tensor).computed;
  std::vector<float> out(*count);
  dequantize(*tensor.format, data(tensor), out);
  return out;
}

void Checkpoint::throwDeferredFaults() const {
  if (!faults.empty())
    throw InputError(faults.front());
}

} // namespace llmc::frontend
