//===- WeightSource.h - where the evaluator's weights come from -*- C++ -*-===//
#ifndef LLMC_REFERENCE_WEIGHTSOURCE_H
#define LLMC_REFERENCE_WEIGHTSOURCE_H

#include "llmc/Reference/HostValue.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <list>
#include <memory>
#include <vector>

namespace llmc::frontend {
class Checkpoint;
}

namespace llmc::reference {

/// Gives a tensor's exact f32 values by its checkpoint name, row-major. A tensor that is
/// absent or has another shape is an error that names it.
class WeightSource {
public:
  virtual ~WeightSource();
  virtual llvm::Expected<std::vector<float>> load(llvm::StringRef tensor,
                                                  llvm::ArrayRef<int64_t> shape) = 0;
  /// The format that a tensor is stored in; empty: its values are those of the weight.
  virtual std::string storage(llvm::StringRef tensor) { return {}; }
};

/// Weights held in memory.
class InMemoryWeights : public WeightSource {
public:
  /// Replaces a tensor of that name.
  void set(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape, std::vector<float> values);
  llvm::Expected<std::vector<float>> load(llvm::StringRef tensor,
                                          llvm::ArrayRef<int64_t> shape) override;

private:
  struct Entry {
    Shape shape;
    std::vector<float> values;
  };
  llvm::StringMap<Entry> entries;
};

/// Weights of a checkpoint, dequantised on demand.
class CheckpointWeights : public WeightSource {
public:
  explicit CheckpointWeights(std::shared_ptr<const frontend::Checkpoint> checkpoint)
      : checkpoint(std::move(checkpoint)) {}
  llvm::Expected<std::vector<float>> load(llvm::StringRef tensor,
                                          llvm::ArrayRef<int64_t> shape) override;
  std::string storage(llvm::StringRef tensor) override;

private:
  std::shared_ptr<const frontend::Checkpoint> checkpoint;
};

/// How a weight lies in its tensor: element [a, b, ...] is element
/// `first + a * strides[0] + b * strides[1] + ...` of a tensor of shape `stored`. Where the
/// tensor's name holds `{e}`, the first dimension of the weight counts tensors and the rest is
/// that of one of them.
struct WeightPart {
  Shape stored;
  int64_t first = 0;
  Shape strides;
  /// Of the weight. Where its tensor is stored otherwise, the values are quantised to it as
  /// packing does.
  std::string storage;
};

/// Keeps loaded weights up to a number of bytes, the least recently used go first. Weights
/// in use stay alive beyond that.
class WeightCache {
public:
  WeightCache(WeightSource &source, uint64_t limitBytes)
      : source(source), limitBytes(limitBytes) {}

  llvm::Expected<Weight> get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape);
  /// A part of a tensor; `shape` is that of the weight.
  llvm::Expected<Weight> get(llvm::StringRef tensor, llvm::ArrayRef<int64_t> shape,
                             const WeightPart &part);
  uint64_t getBytes() const { return bytes; }

private:
  /// Adds the values of one tensor, as much of it as the weight takes.
  llvm::Error append(const std::string &tensor, llvm::ArrayRef<int64_t> shape,
                     const WeightPart &part, std::vector<float> &values);

  WeightSource &source;
  uint64_t limitBytes;
  uint64_t bytes = 0;
  /// Most recently used first.
  std::list<Weight> recent;
  llvm::StringMap<std::list<Weight>::iterator> byName;
};

} // namespace llmc::reference

#endif // LLMC_REFERENCE_WEIGHTSOURCE_H
