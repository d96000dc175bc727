//===- Checkpoint.h - tensors of a checkpoint, format-neutral ---*- C++ -*-===//
//
// Safetensors (one file, shards, headers alone, an index alone) and GGUF files
// become one list of tensors. Everything in the headers is checked before a
// tensor appears here; data is mapped read-only on first use.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_CHECKPOINT_H
#define LLMC_FRONTEND_CHECKPOINT_H

#include "llmc/Frontend/StorageFormat.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace llmc::frontend {

struct PairedTensors;

struct CheckpointTensor {
  std::string name;
  /// Null when only an index is known (see `shapeKnown`).
  const StorageFormat *format = nullptr;
  /// Row-major: the last dimension is contiguous. GGUF dimensions are reversed.
  std::vector<int64_t> shape;
  /// Index into Checkpoint::files().
  uint32_t file = 0;
  /// From the start of the file.
  uint64_t byteOffset = 0;
  uint64_t byteSize = 0;
  /// False when only the name is known: an index without its shards.
  bool shapeKnown = true;
  /// Set where several stored tensors make up this one, whose format is f32 then; see
  /// PairedTensors.h.
  std::shared_ptr<const PairedTensors> paired;
};

/// Bytes of a tensor, those of the file or computed; valid while this and the checkpoint live.
struct TensorBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const std::vector<float>> computed;
};

/// "[32, 128]".
std::string shapeText(std::span<const int64_t> shape);
/// Product of the dimensions; nothing when one is negative or the product overflows.
std::optional<uint64_t> elementCount(std::span<const int64_t> shape);

class Checkpoint {
public:
  Checkpoint();
  ~Checkpoint();
  Checkpoint(const Checkpoint &) = delete;
  Checkpoint &operator=(const Checkpoint &) = delete;

  /// In the order of the files, then of the data.
  const std::vector<CheckpointTensor> &tensors() const { return list; }
  const CheckpointTensor *find(std::string_view name) const;
  const std::vector<std::string> &files() const { return paths; }

  /// False when the tensors' bytes are not there: header-only files or an index alone.
  bool hasData() const { return dataPresent; }
  /// True when every tensor's shape is known.
  bool hasShapes() const { return shapesPresent; }

  /// The stored bytes. Maps the file on first use (thread-safe); throws InputError when the
  /// data is absent or the file changed in size since its header was read. Valid while the
  /// checkpoint lives.
  std::span<const std::byte> data(const CheckpointTensor &tensor) const;
  /// The same, of a paired tensor too: its values, kept for the next that asks.
  TensorBytes bytes(const CheckpointTensor &tensor) const;
  /// Values of a float tensor as f32, see `dequantize`.
  std::vector<float> values(const CheckpointTensor &tensor) const;

  /// Faults that do not hinder reading the list: unnamed bytes between or behind tensors.
  /// A missing tensor explains them better than their offsets do, so the tensor ledger is
  /// compared first; call this afterwards.
  void throwDeferredFaults() const;
  const std::vector<std::string> &deferredFaults() const { return faults; }

  // Used by the readers.
  uint32_t addFile(std::string path, uint64_t size);
  /// Those of another checkpoint, in its order.
  void addFilesOf(const Checkpoint &other);
  /// A stored tensor that is no part of a weight's values, such as a scale of activations.
  void addCompanion(std::string name) { companionNames.push_back(std::move(name)); }
  const std::vector<std::string> &companions() const { return companionNames; }
  /// Throws InputError on a second tensor of that name.
  void addTensor(CheckpointTensor tensor);
  void addDeferredFault(std::string message) { faults.push_back(std::move(message)); }
  void setDataAbsent() { dataPresent = false; }
  void setShapesAbsent() { shapesPresent = false; }

private:
  struct Mappings;
  std::vector<CheckpointTensor> list;
  std::unordered_map<std::string, size_t> byName;
  std::vector<std::string> paths;
  std::vector<uint64_t> sizes;
  std::vector<std::string> faults, companionNames;
  bool dataPresent = true, shapesPresent = true;
  std::unique_ptr<Mappings> mappings;
};

/// Reads one .safetensors file, or a *.safetensors.index.json with or without its shards.
std::shared_ptr<Checkpoint> openSafetensors(const std::string &path);
/// The checkpoint of a Hugging Face folder; null when it holds no safetensors at all.
std::shared_ptr<Checkpoint> openSafetensorsFolder(const std::string &folder);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_CHECKPOINT_H
