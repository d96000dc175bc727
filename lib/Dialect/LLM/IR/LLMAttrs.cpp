//===- LLMAttrs.cpp - attributes of the llm dialect -----------------------===//
#include "AsmUtils.h"
#include "llmc/Dialect/LLM/IR/LLMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/ADT/bit.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// Custom assembly
//===----------------------------------------------------------------------===//

static ParseResult parseDouble(AsmParser &parser, double &value) {
  return parser.parseFloat(value);
}

/// `value` is a float or a double: the digits are those of its type.
template <typename T> static void printDigits(AsmPrinter &printer, T value) {
  char digits[64];
  bool plain = value == 0 || (std::abs(value) >= T(1e-4) && std::abs(value) < T(1e15));
  auto [end, error] =
      std::to_chars(digits, digits + sizeof(digits), value,
                    plain ? std::chars_format::fixed : std::chars_format::scientific);
  StringRef text(digits, end - digits);
  if (!std::isfinite(value) || text.contains('.')) {
    printer << text;
    return;
  }
  size_t exponent = text.find('e');
  printer << text.substr(0, exponent) << ".0"
          << (exponent == StringRef::npos ? "" : text.substr(exponent));
}

void llmc::llm::printShortest(AsmPrinter &printer, double value) { printDigits(printer, value); }

static void printDouble(AsmPrinter &printer, double value) { printDigits(printer, value); }

/// A list of floats of which every bit survives; that of DenseF32ArrayAttr
/// prints seven digits.
static ParseResult parseFrequencies(AsmParser &parser, DenseF32ArrayAttr &frequencies) {
  SmallVector<float> values;
  auto parseOne = [&]() -> ParseResult {
    APFloat value(APFloat::IEEEsingle());
    if (parser.parseFloat(APFloat::IEEEsingle(), value))
      return failure();
    values.push_back(value.convertToFloat());
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseOne))
    return failure();
  frequencies = DenseF32ArrayAttr::get(parser.getContext(), values);
  return success();
}

static void printFrequencies(AsmPrinter &printer, DenseF32ArrayAttr frequencies) {
  printer << '[';
  llvm::interleaveComma(frequencies.asArrayRef(), printer,
                        [&](float value) { printDigits(printer, value); });
  printer << ']';
}

//===----------------------------------------------------------------------===//
// Storage of the rotary record
//===----------------------------------------------------------------------===//

namespace llmc::llm::detail {
/// Numbers are equal where their bits are, so that printing and reading a
/// record gives the same attribute.
struct RopeAttrStorage : AttributeStorage {
  using KeyTy = std::tuple<StringRef, double, int64_t, RopePairing, double, DenseF32ArrayAttr>;

  explicit RopeAttrStorage(const KeyTy &key)
      : type(std::get<0>(key)), base(std::get<1>(key)), width(std::get<2>(key)),
        pairing(std::get<3>(key)), magnitude(std::get<4>(key)), frequencies(std::get<5>(key)) {}

  bool operator==(const KeyTy &key) const {
    return type == std::get<0>(key) && bits(base) == bits(std::get<1>(key)) &&
           width == std::get<2>(key) && pairing == std::get<3>(key) &&
           bits(magnitude) == bits(std::get<4>(key)) && frequencies == std::get<5>(key);
  }

  static llvm::hash_code hashKey(const KeyTy &key) {
    return llvm::hash_combine(std::get<0>(key), bits(std::get<1>(key)), std::get<2>(key),
                              std::get<3>(key), bits(std::get<4>(key)), std::get<5>(key));
  }

  static RopeAttrStorage *construct(AttributeStorageAllocator &allocator, KeyTy &&key) {
    std::get<0>(key) = allocator.copyInto(std::get<0>(key));
    return new (allocator.allocate<RopeAttrStorage>()) RopeAttrStorage(key);
  }

  KeyTy getAsKey() const { return {type, base, width, pairing, magnitude, frequencies}; }

  static uint64_t bits(double value) { return llvm::bit_cast<uint64_t>(value); }

  StringRef type;
  double base;
  int64_t width;
  RopePairing pairing;
  double magnitude;
  DenseF32ArrayAttr frequencies;
};
} // namespace llmc::llm::detail

#define GET_ATTRDEF_CLASSES
#include "llmc/Dialect/LLM/IR/LLMAttrs.cpp.inc"

void LLMDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "llmc/Dialect/LLM/IR/LLMAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult DenseAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type elementType) {
  if (isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() % 8 == 0)
    return success();
  return emitError() << "dense storage holds floats of whole bytes but the element type is "
                     << elementType;
}

LogicalResult BlocksAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 unsigned bits, unsigned size, Type scale, Type min, int64_t zero,
                                 BlockOrder order) {
  if (name.empty())
    return emitError() << "block storage needs a name";
  if (bits < 1 || bits > 8)
    return emitError() << "bits must be in 1 to 8 but is " << bits;
  if (size == 0 || bits * size % 8 != 0)
    return emitError() << "size must be positive and fill whole bytes but " << size
                       << " elements of " << bits << " bits do not";
  if (!isa<FloatType>(scale))
    return emitError() << "scale must be a float type but is " << scale;
  if (min && !isa<FloatType>(min))
    return emitError() << "min must be a float type but is " << min;
  if (min && zero != 0)
    return emitError() << "zero must be 0 where a minimum is given but is " << zero;
  if (zero < 0 || zero >= int64_t(1) << bits)
    return emitError() << "zero must be a value of " << bits << " bits but is " << zero;
  if (order == BlockOrder::Halves && (bits != 4 || size % 2 != 0))
    return emitError() << "order halves needs 4 bits and an even size but has " << bits
                       << " bits and size " << size;
  return success();
}

unsigned BlocksAttr::getBlockBytes() const {
  unsigned bytes = getBits() * getSize() / 8 + getScale().getIntOrFloatBitWidth() / 8;
  return getMin() ? bytes + getMin().getIntOrFloatBitWidth() / 8 : bytes;
}

//===----------------------------------------------------------------------===//
// Rotary record
//===----------------------------------------------------------------------===//

StringRef RopeAttr::getType() const { return getImpl()->type; }
double RopeAttr::getBase() const { return getImpl()->base; }
int64_t RopeAttr::getWidth() const { return getImpl()->width; }
RopePairing RopeAttr::getPairing() const { return getImpl()->pairing; }
double RopeAttr::getMagnitude() const { return getImpl()->magnitude; }
DenseF32ArrayAttr RopeAttr::getFrequencies() const { return getImpl()->frequencies; }

LogicalResult RopeAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef type,
                               double base, int64_t width, RopePairing pairing, double magnitude,
                               DenseF32ArrayAttr frequencies) {
  if (!std::isfinite(base) || base <= 0)
    return emitError() << "base must be finite and positive but is " << base;
  if (width <= 0)
    return emitError() << "width must be positive but is " << width;
  if (!std::isfinite(magnitude) || magnitude <= 0)
    return emitError() << "magnitude must be finite and positive but is " << magnitude;
  for (auto [i, frequency] : llvm::enumerate(frequencies.asArrayRef()))
    if (!std::isfinite(frequency))
      return emitError() << "frequency " << i << " must be finite but is " << frequency;
  return success();
}

//===----------------------------------------------------------------------===//
// Sets of layers
//===----------------------------------------------------------------------===//

LogicalResult LayersAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> bounds) {
  if (bounds.empty() || bounds.size() % 2 != 0)
    return emitError() << "layers are pairs of bounds but there are " << bounds.size() << " bounds";
  if (bounds.front() < 0)
    return emitError() << "bound 0 must not be negative but is " << bounds.front();
  for (size_t i = 1; i < bounds.size(); ++i)
    if (bounds[i] <= bounds[i - 1])
      return emitError() << "bounds must ascend but bound " << i << " (" << bounds[i]
                         << ") follows " << bounds[i - 1];
  return success();
}

int64_t LayersAttr::size() const {
  int64_t count = 0;
  ArrayRef<int64_t> bounds = getBounds();
  for (size_t i = 0; i < bounds.size(); i += 2)
    count += bounds[i + 1] - bounds[i];
  return count;
}

bool LayersAttr::contains(int64_t layer) const { return memberOf(layer) >= 0; }

int64_t LayersAttr::memberOf(int64_t layer) const {
  int64_t before = 0;
  ArrayRef<int64_t> bounds = getBounds();
  for (size_t i = 0; i < bounds.size(); i += 2) {
    if (layer >= bounds[i] && layer < bounds[i + 1])
      return before + layer - bounds[i];
    before += bounds[i + 1] - bounds[i];
  }
  return -1;
}

SmallVector<int64_t> LayersAttr::expand() const {
  SmallVector<int64_t> layers;
  ArrayRef<int64_t> bounds = getBounds();
  for (size_t i = 0; i < bounds.size(); i += 2)
    for (int64_t layer = bounds[i]; layer < bounds[i + 1]; ++layer)
      layers.push_back(layer);
  return layers;
}

LayersAttr LayersAttr::fromList(MLIRContext *context, ArrayRef<int64_t> layers) {
  SmallVector<int64_t> sorted(layers), bounds;
  llvm::sort(sorted);
  sorted.erase(llvm::unique(sorted), sorted.end());
  for (int64_t layer : sorted) {
    if (!bounds.empty() && bounds.back() == layer)
      ++bounds.back();
    else
      bounds.append({layer, layer + 1});
  }
  return LayersAttr::get(context, bounds);
}
