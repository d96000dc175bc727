//===- HostValue.h - values of the reference evaluator ----------*- C++ -*-===//
//
// What an SSA value of an llm program is while the evaluator runs it. All
// values are immutable and shared; the one exception is the state behind a
// CacheHandle, which an append changes in place as the dialect prescribes.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_REFERENCE_HOSTVALUE_H
#define LLMC_REFERENCE_HOSTVALUE_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace llmc::reference {

using Shape = llvm::SmallVector<int64_t, 3>;

/// "[3, 64]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);
/// Product of the dimensions.
int64_t elementCount(llvm::ArrayRef<int64_t> shape);

/// A dense row-major tensor in the compute type.
template <typename T> struct HostTensor {
  Shape shape;
  std::vector<T> data;

  HostTensor() = default;
  explicit HostTensor(llvm::ArrayRef<int64_t> shape)
      : shape(shape), data(size_t(elementCount(shape))) {}
  HostTensor(llvm::ArrayRef<int64_t> shape, std::vector<T> data)
      : shape(shape), data(std::move(data)) {}

  int64_t rank() const { return int64_t(shape.size()); }
  /// The first dimension; 1 for a scalar.
  int64_t rows() const { return shape.empty() ? 1 : shape.front(); }
  /// The last dimension; 1 for a scalar.
  int64_t width() const { return shape.empty() ? 1 : shape.back(); }
  /// Elements of one row, over all dimensions but the first.
  int64_t rowSize() const {
    return shape.empty() ? 1 : elementCount(llvm::ArrayRef<int64_t>(shape).drop_front());
  }
  const T *row(int64_t r) const { return data.data() + r * rowSize(); }
  T *row(int64_t r) { return data.data() + r * rowSize(); }
};

/// Consecutive tokens of one sequence in a step.
struct BatchSequence {
  /// Names the sequence from step to step.
  int64_t id = 0;
  /// Position of the first of the tokens.
  int64_t start = 0;
  int64_t count = 0;
  /// Tokens known of the sequence: the whole prompt and what was generated so far; 0: up
  /// to those of this step.
  int64_t known = 0;

  int64_t extent() const { return known > 0 ? known : start + count; }
};

/// Which rows of a step belong to which sequence at which position: sequences one after
/// another, each with ascending positions.
struct Batch {
  std::vector<BatchSequence> sequences;
  /// Rows whose logits are wanted.
  std::vector<int64_t> outputRows;

  int64_t tokens() const;
};

/// A weight's exact f32 values.
struct Weight {
  std::string name;
  Shape shape;
  std::shared_ptr<const std::vector<float>> values;
};

/// Keys and values of one sequence, one position after another.
template <typename T> struct SequenceState {
  int64_t length = 0;
  std::vector<T> keys, values;
};

/// The state of one layer: plain growing arrays, no paging.
template <typename T> struct CacheState {
  std::string name;
  Shape shape;
  std::map<int64_t, SequenceState<T>> sequences;
  /// Counts appends, so that a use of an overwritten state is an error.
  uint64_t version = 0, versionBeforeStep = 0;
};

/// A state as it stood after a certain append.
template <typename T> struct CacheHandle {
  std::shared_ptr<CacheState<T>> state;
  uint64_t version = 0;

  bool isCurrent() const { return state->version == version; }
};

/// One value. The kinds correspond to the types of the dialect: a float tensor, whole numbers
/// (token ids, or rows of experts or positions: tensors of i32), an index, a batch, a weight, a
/// state.
template <typename T>
using HostValue =
    std::variant<std::monostate, std::shared_ptr<const HostTensor<T>>,
                 std::shared_ptr<const std::vector<int32_t>>, int64_t,
                 std::shared_ptr<const Batch>, Weight, CacheHandle<T>>;

template <typename T> HostValue<T> makeTensor(HostTensor<T> tensor) {
  return std::make_shared<const HostTensor<T>>(std::move(tensor));
}
template <typename T> HostValue<T> makeTokens(std::vector<int32_t> tokens) {
  return std::make_shared<const std::vector<int32_t>>(std::move(tokens));
}
template <typename T> HostValue<T> makeBatch(Batch batch) {
  return std::make_shared<const Batch>(std::move(batch));
}
template <typename T>
HostValue<T> makeWeight(std::string name, llvm::ArrayRef<int64_t> shape,
                        std::vector<float> values) {
  return Weight{std::move(name), Shape(shape),
                std::make_shared<const std::vector<float>>(std::move(values))};
}
/// An empty state for [kv heads, key width, value width].
template <typename T> HostValue<T> makeCache(std::string name, llvm::ArrayRef<int64_t> shape) {
  auto state = std::make_shared<CacheState<T>>();
  state->name = std::move(name);
  state->shape = Shape(shape);
  return CacheHandle<T>{std::move(state), 0};
}

/// Why the value cannot stand for an SSA value of that type; empty where it can.
template <typename T> std::string mismatch(const HostValue<T> &value, mlir::Type type);

} // namespace llmc::reference

#endif // LLMC_REFERENCE_HOSTVALUE_H
