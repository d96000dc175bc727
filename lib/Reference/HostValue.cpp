//===- HostValue.cpp - values of the reference evaluator ------------------===//
#include "llmc/Reference/HostValue.h"

#include "llmc/Dialect/LLM/IR/LLMDialect.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace llmc::reference;

std::string llmc::reference::shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << '[';
  llvm::interleaveComma(shape, os);
  os << ']';
  return text;
}

int64_t llmc::reference::elementCount(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t dimension : shape)
    count *= dimension;
  return count;
}

int64_t Batch::tokens() const {
  int64_t count = 0;
  for (const BatchSequence &sequence : sequences)
    count += sequence.count;
  return count;
}

static std::string typeText(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

template <typename Kind, typename T> static const Kind *get(const HostValue<T> &value) {
  return std::get_if<Kind>(&value);
}

static std::string checkShape(llvm::ArrayRef<int64_t> actual, int64_t elements,
                              mlir::RankedTensorType type) {
  bool fits = int64_t(actual.size()) == type.getRank();
  for (int64_t i = 0; fits && i < type.getRank(); ++i)
    fits = actual[i] >= 0 && (type.isDynamicDim(i) || type.getDimSize(i) == actual[i]);
  if (!fits)
    return "the shape is " + shapeText(actual) + ", the type " + typeText(type);
  if (elements != elementCount(actual))
    return "there are " + std::to_string(elements) + " elements for shape " + shapeText(actual);
  return {};
}

template <typename T>
static std::string checkTensor(const HostValue<T> &value, mlir::RankedTensorType type) {
  // Token ids, or numbers of experts or positions: rows of a static width.
  if (type.getElementType().isInteger(32) && type.getRank() <= 2 && type.getRank() >= 1 &&
      (type.getRank() == 1 || type.getDimSize(1) > 0)) {
    auto numbers = get<std::shared_ptr<const std::vector<int32_t>>, T>(value);
    if (!numbers || !*numbers)
      return "whole numbers are needed for " + typeText(type);
    int64_t count = int64_t((*numbers)->size());
    if (type.getRank() == 1)
      return checkShape(count, count, type);
    int64_t width = type.getDimSize(1);
    return checkShape({count / width, width}, count, type);
  }
  if (!mlir::isa<mlir::FloatType>(type.getElementType()))
    return "the evaluator has no values of type " + typeText(type);
  auto tensor = get<std::shared_ptr<const HostTensor<T>>, T>(value);
  if (!tensor || !*tensor)
    return "a tensor is needed for " + typeText(type);
  return checkShape((*tensor)->shape, int64_t((*tensor)->data.size()), type);
}

template <typename T>
std::string llmc::reference::mismatch(const HostValue<T> &value, mlir::Type type) {
  return llvm::TypeSwitch<mlir::Type, std::string>(type)
      .Case([&](mlir::RankedTensorType tensor) { return checkTensor<T>(value, tensor); })
      .Case([&](mlir::IndexType) -> std::string {
        return get<int64_t, T>(value) ? "" : "an index is needed";
      })
      .Case([&](llm::BatchType) -> std::string {
        auto batch = get<std::shared_ptr<const Batch>, T>(value);
        if (!batch || !*batch)
          return "a batch is needed";
        for (const BatchSequence &sequence : (*batch)->sequences)
          if (sequence.start < 0 || sequence.count < 0)
            return "a sequence of the batch starts at " + std::to_string(sequence.start) +
                   " and has " + std::to_string(sequence.count) + " tokens";
        for (int64_t row : (*batch)->outputRows)
          if (row < 0 || row >= (*batch)->tokens())
            return "output row " + std::to_string(row) + " is outside of the " +
                   std::to_string((*batch)->tokens()) + " tokens";
        return {};
      })
      .Case([&](llm::WeightType expected) -> std::string {
        auto weight = get<Weight, T>(value);
        if (!weight || !weight->values)
          return "a weight is needed for " + typeText(type);
        if (llvm::ArrayRef<int64_t>(weight->shape) != expected.getShape())
          return "the weight's shape is " + shapeText(weight->shape) + ", the type " +
                 typeText(type);
        if (int64_t(weight->values->size()) != elementCount(weight->shape))
          return "the weight has " + std::to_string(weight->values->size()) +
                 " values for shape " + shapeText(weight->shape);
        return {};
      })
      .Case([&](llm::CacheType expected) -> std::string {
        auto cache = get<CacheHandle<T>, T>(value);
        if (!cache || !cache->state)
          return "a state is needed for " + typeText(type);
        if (llvm::ArrayRef<int64_t>(cache->state->shape) != expected.getShape())
          return "the state's shape is " + shapeText(cache->state->shape) + ", the type " +
                 typeText(type);
        return {};
      })
      .Default([](mlir::Type other) {
        return "the evaluator has no values of type " + typeText(other);
      });
}

template std::string llmc::reference::mismatch(const HostValue<float> &, mlir::Type);
template std::string llmc::reference::mismatch(const HostValue<double> &, mlir::Type);
