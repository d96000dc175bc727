//===- LLMTypes.cpp - types of the llm dialect ----------------------------===//
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace llmc::llm;

#define GET_TYPEDEF_CLASSES
#include "llmc/Dialect/LLM/IR/LLMTypes.cpp.inc"

void LLMDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "llmc/Dialect/LLM/IR/LLMTypes.cpp.inc"
      >();
}

/// Every dimension of `shape` is positive.
static LogicalResult verifyShape(function_ref<InFlightDiagnostic()> emitError, StringRef what,
                                 ArrayRef<int64_t> shape) {
  if (shape.empty())
    return emitError() << what << " must have at least one dimension";
  for (auto [i, dim] : llvm::enumerate(shape))
    if (dim <= 0)
      return emitError() << what << " dimension " << i << " must be positive but is " << dim;
  return success();
}

/// Whether the product of positive dimensions is above `limit`.
static bool exceeds(ArrayRef<int64_t> shape, int64_t limit) {
  int64_t product = 1;
  for (int64_t dim : shape) {
    if (dim > limit / product)
      return true;
    product *= dim;
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Elements of the largest weight, so that sizes in bytes, over all layers and ranks, are
/// numbers of 64 bits.
static constexpr int64_t maxWeightElements = int64_t(1) << 42;
/// Elements that a token may add to the state of a layer, or a sequence has there.
static constexpr int64_t maxCacheElements = int64_t(1) << 24;

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Attribute storage) {
  if (failed(verifyShape(emitError, "weight", shape)))
    return failure();
  if (exceeds(shape, maxWeightElements))
    return emitError() << "weight [" << shape << "] has more than " << maxWeightElements
                       << " elements";
  if (isa<DenseAttr>(storage))
    return success();
  auto blocks = dyn_cast<BlocksAttr>(storage);
  if (!blocks)
    return emitError() << "storage must be dense or blocks but is " << storage;
  if (shape.back() % blocks.getSize() != 0)
    return emitError() << "weight dimension " << shape.size() - 1 << " (" << shape.back()
                       << ") must be a multiple of the block size (" << blocks.getSize() << ")";
  return success();
}

int64_t WeightType::getNumElements() const {
  int64_t count = 1;
  for (int64_t dim : getShape())
    count *= dim;
  return count;
}

int64_t WeightType::getStorageBytes() const {
  if (auto dense = dyn_cast<DenseAttr>(getStorage()))
    return getNumElements() * (dense.getElementType().getIntOrFloatBitWidth() / 8);
  auto blocks = cast<BlocksAttr>(getStorage());
  return getNumElements() / blocks.getSize() * blocks.getBlockBytes();
}

std::string WeightType::getStorageName() const {
  if (auto blocks = dyn_cast<BlocksAttr>(getStorage()))
    return blocks.getName().str();
  std::string name;
  llvm::raw_string_ostream os(name);
  os << cast<DenseAttr>(getStorage()).getElementType();
  return name;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError, CacheKind kind,
                                ArrayRef<int64_t> shape, Type elementType) {
  if (!isa<FloatType>(elementType))
    return emitError() << "cache element type must be a float but is " << elementType;
  bool isEntries = kind == CacheKind::Entries;
  if (isEntries && shape.size() != 3)
    return emitError() << "entries cache shape must be [tokens an entry, key width, value width] "
                       << "but has " << shape.size() << " dimensions";
  bool perToken =
      kind == CacheKind::Paged || kind == CacheKind::Window || kind == CacheKind::Latent;
  if (perToken && shape.size() != 3)
    return emitError() << stringifyCacheKind(kind) << " cache shape must be [kv heads, key width, "
                       << "value width] but has " << shape.size() << " dimensions";
  // State of a sequence: sums over all of its tokens, so never narrower than they are made.
  bool recurrent = kind == CacheKind::Recurrent, conv = kind == CacheKind::Conv;
  if (recurrent && shape.size() != 3)
    return emitError() << "recurrent cache shape must be [heads, key width, value width] but has "
                       << shape.size() << " dimensions";
  if (conv && shape.size() != 2)
    return emitError() << "conv cache shape must be [channels, taps - 1] but has " << shape.size()
                       << " dimensions";
  if ((recurrent || conv) && !elementType.isF32())
    return emitError() << stringifyCacheKind(kind) << " cache element type must be f32 but is "
                       << elementType;
  if (kind == CacheKind::Latent || isEntries) {
    // Values are a part of the keys; an index has none.
    if (shape[2] < 0 || shape[2] > shape[1])
      return emitError() << stringifyCacheKind(kind) << " cache value width (" << shape[2]
                         << ") must be from 0 to the key width (" << shape[1] << ")";
    shape = shape.drop_back();
  }
  if (failed(verifyShape(emitError, "cache", shape)))
    return failure();
  if (exceeds(shape, maxCacheElements))
    return emitError() << "cache [" << shape << "] has more than " << maxCacheElements
                       << " elements";
  return success();
}
