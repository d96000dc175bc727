//===- PlanAttrs.cpp - attributes of the plan dialect ---------------------===//

#include "llmc/Dialect/Plan/IR/PlanAttrs.h"
#include "llmc/Support/StateRing.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace llmc::plan;

#define GET_ATTRDEF_CLASSES
#include "llmc/Dialect/Plan/IR/PlanAttrs.cpp.inc"

void PlanDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "llmc/Dialect/Plan/IR/PlanAttrs.cpp.inc"
      >();
}

bool llmc::plan::isElementType(Type type) {
  return type.isF32() || type.isF16() || type.isBF16() || type.isSignlessInteger(32);
}

//===----------------------------------------------------------------------===//
// The program as a whole
//===----------------------------------------------------------------------===//

/// Fails where one of the named numbers is below the least one allowed.
static LogicalResult
verifyAtLeast(function_ref<InFlightDiagnostic()> emitError, int64_t least,
              std::initializer_list<std::pair<llvm::StringRef, int64_t>> values) {
  for (auto [name, value] : values)
    if (value < least)
      return emitError() << name << " is " << value << ", the least is " << least;
  return success();
}

LogicalResult ModelAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef, StringRef,
                                StringRef, int64_t vocabSize, int64_t hiddenSize, int64_t layers,
                                int64_t contextLength, int64_t parameters) {
  if (layers > LayersAttr::kMaxLayers) // model_c2
    return emitError() << "layers is " << layers << ", the most is " << LayersAttr::kMaxLayers;
  return verifyAtLeast(emitError, 0, // model_c1
                       {{"vocab_size", vocabSize},
                        {"hidden_size", hiddenSize},
                        {"layers", layers},
                        {"context_length", contextLength},
                        {"parameters", parameters}});
}

LogicalResult LimitsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t maxTokens,
                                 int64_t maxSequences, int64_t maxContext, int64_t blockTokens,
                                 int64_t blocks, std::optional<int64_t> maxOutputs,
                                 std::optional<int64_t> ringBlocks) {
  if (maxOutputs && (*maxOutputs < 1 || *maxOutputs > maxTokens)) // limits_c2
    return emitError() << "max_outputs is " << *maxOutputs << ", of max_tokens " << maxTokens;
  return verifyAtLeast(emitError, 1, // limits_c1
                       {{"max_tokens", maxTokens},
                        {"max_sequences", maxSequences},
                        {"max_context", maxContext},
                        {"block_tokens", blockTokens},
                        {"blocks", blocks},
                        {"ring_blocks", ringBlocks.value_or(1)}});
}

int64_t LimitsAttr::getWindowBlocks(int64_t sequences, int64_t blocks) const {
  return getRingBlocks() ? windowBlocks(*getRingBlocks(), sequences, blocks) : blocks;
}

bool LimitsAttr::wantsRing(int64_t window) const {
  return leastRingBlocks(window, getMaxTokens(), getBlockTokens()) <
         int64_t(llvm::divideCeil(uint64_t(getMaxContext()), uint64_t(getBlockTokens())));
}

int64_t LimitsAttr::getLargest(Extent extent) const {
  switch (extent) {
  case Extent::One:
    return 1;
  case Extent::Tokens:
    return getMaxTokens();
  case Extent::Outputs:
    return getMaxOutputs().value_or(getMaxTokens());
  case Extent::Sequences:
    return getMaxSequences();
  }
  llvm_unreachable("every extent has a case");
}

int64_t LimitsAttr::getLargest(AffineMap size, int64_t threads) const {
  std::optional<Size> value = Size::fromMap(size);
  assert(value && "size map was verified");
  return value->evaluate({getLargest(Extent::Tokens), getLargest(Extent::Outputs),
                          getLargest(Extent::Sequences), getBlocks(), threads,
                          getWindowBlocks(getMaxSequences(), getBlocks())});
}

//===----------------------------------------------------------------------===//
// LayersAttr
//===----------------------------------------------------------------------===//

Attribute LayersAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> bounds;
  auto parseRange = [&] {
    return failure(parser.parseInteger(bounds.emplace_back()) || parser.parseKeyword("to") ||
                   parser.parseInteger(bounds.emplace_back()));
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseRange))
    return {};
  return parser.getChecked<LayersAttr>(loc, parser.getContext(), ArrayRef<int64_t>(bounds));
}

void LayersAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::seq<size_t>(0, getNumRanges()), printer, [&](size_t i) {
    auto [begin, end] = getRange(i);
    printer << begin << " to " << end;
  });
  printer << '>';
}

LogicalResult LayersAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> bounds) {
  // layers_c1: ranges ascend, are not empty and do not touch, so that a set has
  // one form only.
  if (bounds.empty() || bounds.size() % 2 != 0)
    return emitError() << "a layer set has at least one range and two bounds a range, got "
                       << bounds.size() << " bounds";
  if (bounds[0] < 0)
    return emitError() << "layer set begins at " << bounds[0] << ", below layer 0";
  for (size_t i = 1; i < bounds.size(); ++i)
    if (bounds[i] <= bounds[i - 1])
      return emitError() << "bounds of a layer set ascend, " << bounds[i] << " follows "
                         << bounds[i - 1];
  if (bounds.back() > kMaxLayers)
    return emitError() << "layer set ends at " << bounds.back() << ", past the largest, "
                       << kMaxLayers;
  return success();
}

LayersAttr LayersAttr::fromLayers(MLIRContext *context, ArrayRef<int64_t> layers) {
  SmallVector<int64_t> bounds;
  for (int64_t layer : layers) {
    if (bounds.empty() || bounds.back() != layer)
      bounds.append({layer, layer});
    ++bounds.back();
  }
  return get(context, bounds);
}

int64_t LayersAttr::getNumLayers() const {
  int64_t layers = 0;
  for (size_t i = 0; i < getNumRanges(); ++i)
    layers += getRange(i).second - getRange(i).first;
  return layers;
}

std::optional<int64_t> LayersAttr::getMember(int64_t layer) const {
  int64_t member = 0;
  for (size_t i = 0; i < getNumRanges(); ++i) {
    auto [begin, end] = getRange(i);
    if (layer < begin)
      return std::nullopt;
    if (layer < end)
      return member + layer - begin;
    member += end - begin;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Memory and steps
//===----------------------------------------------------------------------===//

LogicalResult LiveAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t first,
                               int64_t last) {
  if (first < 0 || last < first) // live_c1
    return emitError() << "live from step " << first << " to step " << last
                       << " is no interval of steps";
  return success();
}

LogicalResult ViewAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<int64_t> stored, int64_t first,
                               ArrayRef<int64_t> strides) {
  // view_c1
  if (stored.empty() || first < 0)
    return emitError() << "view needs a stored shape and a first element, " << first
                       << " is none";
  // What a tensor may have at most, so that positions are numbers of 64 bits.
  constexpr int64_t most = int64_t(1) << 42;
  int64_t elements = 1;
  for (int64_t dim : stored) {
    if (dim < 1 || dim > most / elements)
      return emitError() << "view of a tensor [" << stored << "], whose dimensions must be "
                         << "positive and their product at most " << most;
    elements *= dim;
  }
  if (strides.size() < 2 || strides.size() > 3)
    return emitError() << "view has " << strides.size() << " strides, it needs those of rows and "
                       << "columns, and of matrices before them";
  for (int64_t stride : strides)
    if (stride < 1 || stride > elements)
      return emitError() << "view has stride " << stride << ", it must be from 1 to the "
                         << elements << " elements of its tensor";
  return success();
}

int64_t ViewAttr::getNumElements() const {
  int64_t elements = 1;
  for (int64_t dim : getStored())
    elements = saturatingMul(elements, dim);
  return elements;
}

bool ViewAttr::contains(ArrayRef<int64_t> shape) const {
  int64_t last = getFirst();
  for (auto [dim, stride] : llvm::zip_equal(shape, getStrides()))
    last = saturatingAdd(last, saturatingMul(dim - 1, stride));
  return last < getNumElements();
}

Attribute SourceAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  std::string tensor, name;
  int64_t rows = 0;
  if (parser.parseLess())
    return {};
  DenseF32ArrayAttr values;
  if (succeeded(parser.parseOptionalKeyword("values"))) {
    SmallVector<float> numbers;
    auto number = [&]() {
      double value;
      if (parser.parseFloat(value))
        return failure();
      numbers.push_back(float(value));
      return success();
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, number))
      return {};
    values = parser.getBuilder().getDenseF32ArrayAttr(numbers);
  } else if (failed(parser.parseOptionalKeyword("zeros")) && parser.parseString(&tensor)) {
    return {};
  }
  if (parser.parseComma() || parser.parseKeyword("rows") || parser.parseEqual() ||
      parser.parseInteger(rows))
    return {};
  StringAttr nameAttr;
  int64_t first = 0, of = 0;
  bool transposed = false;
  ViewAttr view;
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("first"))) {
      if (parser.parseEqual() || parser.parseInteger(first) || parser.parseComma() ||
          parser.parseKeyword("of") || parser.parseEqual() || parser.parseInteger(of))
        return {};
    } else if (succeeded(parser.parseOptionalKeyword("view"))) {
      FailureOr<ViewAttr> parsed = FieldParser<ViewAttr>::parse(parser);
      if (failed(parsed))
        return {};
      view = *parsed;
    } else if (succeeded(parser.parseOptionalKeyword("transposed"))) {
      transposed = true;
    } else {
      if (parser.parseKeyword("name") || parser.parseEqual() || parser.parseString(&name))
        return {};
      nameAttr = parser.getBuilder().getStringAttr(name);
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<SourceAttr>(loc, parser.getContext(), StringRef(tensor), rows, nameAttr,
                                       values, first, of, transposed, view);
}

void SourceAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (DenseF32ArrayAttr values = getValues()) {
    printer << "values [";
    llvm::interleaveComma(values.asArrayRef(), printer,
                          [&](float value) { printer.printFloat(llvm::APFloat(value)); });
    printer << ']';
  } else if (isZeros()) {
    printer << "zeros";
  } else {
    printer.printString(getTensor());
  }
  printer << ", rows = " << getRows();
  if (getOf())
    printer << ", first = " << getFirst() << ", of = " << getOf();
  if (getTransposed())
    printer << ", transposed";
  if (getView()) {
    printer << ", view ";
    printer.printStrippedAttrOrType(getView());
  }
  if (getName()) {
    printer << ", name = ";
    printer.printString(getName().getValue());
  }
  printer << '>';
}

LogicalResult SourceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef tensor,
                                 int64_t rows, StringAttr, DenseF32ArrayAttr values,
                                 int64_t first, int64_t of, bool transposed, ViewAttr view) {
  if (values && !tensor.empty()) // source_c2
    return emitError() << "source gives " << values.size() << " values beside tensor '" << tensor
                       << "'";
  // As many for each member, or one set for all; how many members there are, the weights know.
  if (values && (rows <= 0 || values.empty() || values.size() % rows != 0)) // source_c2
    return emitError() << "source gives " << values.size() << " values for " << rows << " rows";
  auto isFinite = [](float value) { return std::isfinite(value); };
  if (values && !llvm::all_of(values.asArrayRef(), isFinite))
    return emitError() << "source gives a value that is not finite"; // source_c3
  if (rows <= 0) // source_c1
    return emitError() << "source '" << (tensor.empty() ? StringRef("zeros") : tensor)
                       << "' gives " << rows << " rows, it has to give at least one";
  if (tensor.empty() && (of || first || transposed || view)) // source_c4
    return emitError() << "source without a tensor has a range of rows or a view, or is transposed";
  if (first < 0 || of < 0 || (of ? rows > of || first > of - rows : first != 0)) // source_c4
    return emitError() << "source '" << tensor << "' gives " << rows << " rows from row " << first
                       << " on of a tensor of " << of << " rows";
  if (view && (of || transposed)) // source_c5
    return emitError() << "source '" << tensor << "' has a view, which says all that a range of "
                          "rows and transposed do";
  return success();
}

LogicalResult ItemsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t factor,
                                Extent, int64_t tile, int64_t plus) {
  if (failed(verifyAtLeast(emitError, 0, {{"factor", factor}, {"plus", plus}}))) // items_c1
    return failure();
  return verifyAtLeast(emitError, 1, {{"tile", tile}});
}

LogicalResult DeviceAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef,
                                 ArrayRef<ItemsAttr> grid, ArrayRef<int64_t> block,
                                 int64_t sharedBytes) {
  // device_c1
  if (grid.empty() || grid.size() > 3 || block.empty() || block.size() > 3)
    return emitError() << "grid and block have one to three dimensions, got " << grid.size()
                       << " and " << block.size();
  for (int64_t threads : block)
    if (failed(verifyAtLeast(emitError, 1, {{"block", threads}})))
      return failure();
  return verifyAtLeast(emitError, 0, {{"shared_bytes", sharedBytes}});
}
