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

/// `, long [...] beyond n`, where there are long frequencies.
static ParseResult parseLongFrequencies(AsmParser &parser, DenseF32ArrayAttr &frequencies,
                                        int64_t &beyond) {
  beyond = 0;
  if (failed(parser.parseOptionalComma())) {
    frequencies = DenseF32ArrayAttr::get(parser.getContext(), {});
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword("long") || parseFrequencies(parser, frequencies) ||
      parser.parseKeyword("beyond") || parser.parseInteger(beyond))
    return failure();
  if (frequencies.empty())
    return parser.emitError(loc, "'long' needs frequencies; leave it out where there are none");
  return success();
}

static void printLongFrequencies(AsmPrinter &printer, DenseF32ArrayAttr frequencies,
                                 int64_t beyond) {
  if (frequencies.empty())
    return;
  printer << ", long ";
  printFrequencies(printer, frequencies);
  printer << " beyond " << beyond;
}

//===----------------------------------------------------------------------===//
// Storage of the rotary record
//===----------------------------------------------------------------------===//

namespace llmc::llm::detail {
/// Numbers are equal where their bits are, so that printing and reading a
/// record gives the same attribute.
struct RopeAttrStorage : AttributeStorage {
  using KeyTy = std::tuple<StringRef, double, int64_t, RopePairing, double, DenseF32ArrayAttr,
                           DenseF32ArrayAttr, int64_t>;

  explicit RopeAttrStorage(const KeyTy &key)
      : type(std::get<0>(key)), base(std::get<1>(key)), width(std::get<2>(key)),
        pairing(std::get<3>(key)), magnitude(std::get<4>(key)), frequencies(std::get<5>(key)),
        longFrequencies(std::get<6>(key)), beyond(std::get<7>(key)) {}

  bool operator==(const KeyTy &key) const {
    return type == std::get<0>(key) && bits(base) == bits(std::get<1>(key)) &&
           width == std::get<2>(key) && pairing == std::get<3>(key) &&
           bits(magnitude) == bits(std::get<4>(key)) && frequencies == std::get<5>(key) &&
           longFrequencies == std::get<6>(key) && beyond == std::get<7>(key);
  }

  static llvm::hash_code hashKey(const KeyTy &key) {
    return llvm::hash_combine(std::get<0>(key), bits(std::get<1>(key)), std::get<2>(key),
                              std::get<3>(key), bits(std::get<4>(key)), std::get<5>(key),
                              std::get<6>(key), std::get<7>(key));
  }

  static RopeAttrStorage *construct(AttributeStorageAllocator &allocator, KeyTy &&key) {
    std::get<0>(key) = allocator.copyInto(std::get<0>(key));
    return new (allocator.allocate<RopeAttrStorage>()) RopeAttrStorage(key);
  }

  KeyTy getAsKey() const {
    return {type, base, width, pairing, magnitude, frequencies, longFrequencies, beyond};
  }

  static uint64_t bits(double value) { return llvm::bit_cast<uint64_t>(value); }

  StringRef type;
  double base;
  int64_t width;
  RopePairing pairing;
  double magnitude;
  DenseF32ArrayAttr frequencies, longFrequencies;
  int64_t beyond;
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

/// The planes of a block hold `bits` bits of each of `size` elements in whole runs of
/// whole bytes.
static LogicalResult verifyPlanes(function_ref<InFlightDiagnostic()> emitError,
                                  ArrayRef<int64_t> planes, unsigned bits, unsigned size) {
  if (planes.size() % 2 != 0)
    return emitError() << "planes are pairs of bits and run but there are " << planes.size()
                       << " numbers";
  int64_t total = 0;
  for (size_t i = 0; i < planes.size(); i += 2) {
    int64_t width = planes[i], run = planes[i + 1];
    if ((width != 1 && width != 2 && width != 4) || run <= 0 || size % run != 0 ||
        run * width % 8 != 0)
      return emitError() << "plane " << i / 2 << " must have 1, 2 or 4 bits and a run that fills "
                         << "whole bytes and divides the size (" << size << ") but has " << width
                         << " bits and run " << run;
    total += width;
  }
  if (total != bits)
    return emitError() << "planes must hold " << bits << " bits but hold " << total;
  return success();
}

LogicalResult BlocksAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 unsigned bits, unsigned size, Type scale, int64_t zero,
                                 BlockOrder order, Type min, unsigned group, Type subscale,
                                 DenseI64ArrayAttr planes, DenseF32ArrayAttr codebook,
                                 unsigned extra) {
  if (name.empty())
    return emitError() << "block storage needs a name";
  if (bits < 1 || bits > 8)
    return emitError() << "bits must be in 1 to 8 but is " << bits;
  if (size == 0 || size > 65536 || bits * size % 8 != 0)
    return emitError() << "size must be positive, at most 65536 and fill whole bytes but " << size
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
  if ((order == BlockOrder::Planes) != bool(planes))
    return emitError() << "order planes and a list of planes need each other";
  if (planes && failed(verifyPlanes(emitError, planes.asArrayRef(), bits, size)))
    return failure();
  if (bool(group) != bool(subscale))
    return emitError() << "group and subscale need each other";
  if (subscale && (!isa<IntegerType>(subscale) || subscale.isSignlessInteger() ||
                   subscale.getIntOrFloatBitWidth() > 8))
    return emitError() << "subscale must be a signed or unsigned integer of at most 8 bits but is "
                       << subscale;
  if (group && size % group != 0)
    return emitError() << "group must divide the size (" << size << ") but is " << group;
  if (codebook && (codebook.size() != int64_t(1) << bits || zero != 0 || min))
    return emitError() << "a codebook has a value for each of " << (1 << bits)
                       << " codes, zero 0 and no minimum but has " << codebook.size() << " values";
  if (extra > 65536)
    return emitError() << "extra must be at most 65536 bytes but is " << extra;
  return success();
}

unsigned BlocksAttr::getBlockBytes() const {
  unsigned bytes = getBits() * getSize() / 8 + getScale().getIntOrFloatBitWidth() / 8 + getExtra();
  if (getMin())
    bytes += getMin().getIntOrFloatBitWidth() / 8;
  if (!getGroup())
    return bytes;
  unsigned integers = getSize() / getGroup() * (getMin() ? 2 : 1);
  return bytes + (integers * getSubscale().getIntOrFloatBitWidth() + 7) / 8;
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
DenseF32ArrayAttr RopeAttr::getLongFrequencies() const { return getImpl()->longFrequencies; }
int64_t RopeAttr::getBeyond() const { return getImpl()->beyond; }

LogicalResult RopeAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef type,
                               double base, int64_t width, RopePairing pairing, double magnitude,
                               DenseF32ArrayAttr frequencies, DenseF32ArrayAttr longFrequencies,
                               int64_t beyond) {
  if (!std::isfinite(base) || base <= 0)
    return emitError() << "base must be finite and positive but is " << base;
  if (width <= 0)
    return emitError() << "width must be positive but is " << width;
  if (!std::isfinite(magnitude) || magnitude <= 0)
    return emitError() << "magnitude must be finite and positive but is " << magnitude;
  for (auto [i, frequency] : llvm::enumerate(frequencies.asArrayRef()))
    if (!std::isfinite(frequency))
      return emitError() << "frequency " << i << " must be finite but is " << frequency;
  for (auto [i, frequency] : llvm::enumerate(longFrequencies.asArrayRef()))
    if (!std::isfinite(frequency))
      return emitError() << "long frequency " << i << " must be finite but is " << frequency;
  if (!longFrequencies.empty() && beyond < 1)
    return emitError() << "the length beyond which frequencies are the long ones must be positive "
                       << "but is " << beyond;
  if (longFrequencies.empty() && beyond != 0)
    return emitError() << "there are no long frequencies for lengths beyond " << beyond;
  return success();
}

//===----------------------------------------------------------------------===//
// Views of stored tensors
//===----------------------------------------------------------------------===//

LogicalResult ViewAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> stored, int64_t first,
                               ArrayRef<int64_t> strides) {
  if (stored.empty() || strides.empty() || first < 0)
    return emitError() << "view needs a stored shape, strides and a first element that is not "
                          "negative";
  // What a weight may have at most, so that positions are numbers of 64 bits.
  constexpr int64_t most = int64_t(1) << 42;
  int64_t elements = 1;
  for (int64_t dim : stored) {
    if (dim < 1 || dim > most / elements)
      return emitError() << "view of a tensor [" << stored << "], whose dimensions must be "
                         << "positive and their product at most " << most;
    elements *= dim;
  }
  for (int64_t stride : strides)
    if (stride < 1 || stride > elements)
      return emitError() << "view has stride " << stride << ", it must be from 1 to the "
                         << elements << " elements of its tensor";
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
