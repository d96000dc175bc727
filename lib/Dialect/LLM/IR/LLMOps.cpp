//===- LLMOps.cpp - generated op code and what the verifiers share --------===//
#include "AsmUtils.h"
#include "VerifyUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace llmc;
using namespace llmc::llm;

//===----------------------------------------------------------------------===//
// Custom assembly
//===----------------------------------------------------------------------===//

/// A case of a closed choice as a bare keyword; `what` with its article names it in errors.
template <typename EnumAttr, typename Enum>
static ParseResult parseChoice(OpAsmParser &parser, EnumAttr &attr, StringRef what, Enum last,
                               std::optional<Enum> (*symbolize)(StringRef),
                               StringRef (*stringify)(Enum)) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  if (std::optional<Enum> value = symbolize(name)) {
    attr = EnumAttr::get(parser.getContext(), *value);
    return success();
  }
  InFlightDiagnostic error = parser.emitError(loc)
                             << "'" << name << "' is not " << what << ": expected ";
  for (uint32_t i = 0, n = uint32_t(last); i <= n; ++i)
    error << (i == 0 ? "" : i == n ? " or " : ", ") << stringify(Enum(i));
  return error;
}

static ParseResult parseActivationName(OpAsmParser &parser, ActivationAttr &function) {
  return parseChoice<ActivationAttr, Activation>(parser, function, "an activation",
                                                 Activation(getMaxEnumValForActivation()),
                                                 symbolizeActivation, stringifyActivation);
}

static void printActivationName(OpAsmPrinter &printer, Operation *, ActivationAttr function) {
  printer << stringifyActivation(function.getValue());
}

static ParseResult parseBinaryName(OpAsmParser &parser, BinaryFunctionAttr &function) {
  return parseChoice<BinaryFunctionAttr, BinaryFunction>(
      parser, function, "arithmetic of two values",
      BinaryFunction(getMaxEnumValForBinaryFunction()), symbolizeBinaryFunction,
      stringifyBinaryFunction);
}

static void printBinaryName(OpAsmPrinter &printer, Operation *, BinaryFunctionAttr function) {
  printer << stringifyBinaryFunction(function.getValue());
}

static ParseResult parseStatisticName(OpAsmParser &parser, RowStatisticAttr &statistic) {
  return parseChoice<RowStatisticAttr, RowStatistic>(
      parser, statistic, "a number of a row", RowStatistic(getMaxEnumValForRowStatistic()),
      symbolizeRowStatistic, stringifyRowStatistic);
}

static void printStatisticName(OpAsmPrinter &printer, Operation *, RowStatisticAttr statistic) {
  printer << stringifyRowStatistic(statistic.getValue());
}

/// A number, or the layer plus a number: `2`, `%i + 0`.
static ParseResult parseHeadNumber(OpAsmParser &parser,
                                   std::optional<OpAsmParser::UnresolvedOperand> &layer,
                                   IntegerAttr &number) {
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult hasLayer = parser.parseOptionalOperand(operand);
  if (hasLayer.has_value()) {
    if (failed(*hasLayer) || parser.parsePlus())
      return failure();
    layer = operand;
  }
  int64_t value;
  if (parser.parseInteger(value))
    return failure();
  number = parser.getBuilder().getI64IntegerAttr(value);
  return success();
}

static void printHeadNumber(OpAsmPrinter &printer, Operation *, Value layer, IntegerAttr number) {
  if (layer)
    printer << layer << " + ";
  printer << number.getInt();
}

/// The bounds alone: a dialect attribute would take the colon that follows for
/// that of its own type.
static ParseResult parseLayerRanges(OpAsmParser &parser, LayersAttr &layers) {
  SmallVector<int64_t> bounds;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(bounds.emplace_back()); }))
    return failure();
  auto emitError = [&] { return parser.emitError(loc); };
  layers = LayersAttr::getChecked(function_ref<InFlightDiagnostic()>(emitError),
                                  parser.getContext(), ArrayRef<int64_t>(bounds));
  return success(static_cast<bool>(layers));
}

static void printLayerRanges(OpAsmPrinter &printer, Operation *, LayersAttr layers) {
  printer << '[';
  llvm::interleaveComma(layers.getBounds(), printer);
  printer << ']';
}

/// A 64-bit float without its type.
static ParseResult parseReal(OpAsmParser &parser, FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return success();
}

static void printReal(OpAsmPrinter &printer, Operation *, FloatAttr value) {
  printShortest(printer, value.getValueAsDouble());
}

/// Types that repeat those before them and are not written.
static ParseResult parseSameTypes(OpAsmParser &, ArrayRef<Type> types,
                                  SmallVectorImpl<Type> &same) {
  same.assign(types.begin(), types.end());
  return success();
}

static void printSameTypes(OpAsmPrinter &, Operation *, TypeRange, TypeRange) {}

/// Key, value (not for a latent state), cache and batch: three or four operands.
using Operand = OpAsmParser::UnresolvedOperand;
static ParseResult parseAppendOperands(OpAsmParser &parser, Operand &key,
                                       std::optional<Operand> &value, Operand &cache,
                                       Operand &batch) {
  SmallVector<Operand> operands;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(operands))
    return failure();
  if (operands.size() != 3 && operands.size() != 4)
    return parser.emitError(loc) << "expected a key, a value unless the cache is latent, the cache "
                                    "and the batch, got " << operands.size() << " operands";
  key = operands.front();
  if (operands.size() == 4)
    value = operands[1];
  cache = operands[operands.size() - 2];
  batch = operands.back();
  return success();
}

static void printAppendOperands(OpAsmPrinter &printer, Operation *, mlir::Value key,
                                mlir::Value value, mlir::Value cache, mlir::Value batch) {
  printer << key << ", ";
  if (value)
    printer << value << ", ";
  printer << cache << ", " << batch;
}

static ParseResult parseAppendTypes(OpAsmParser &parser, Type &key, Type &value, Type &cache) {
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseTypeList(types))
    return failure();
  if (types.size() != 2 && types.size() != 3)
    return parser.emitError(loc) << "expected the types of the key, the value if there is one, and "
                                    "the cache, got " << types.size() << " types";
  key = types.front();
  if (types.size() == 3)
    value = types[1];
  cache = types.back();
  return success();
}

static void printAppendTypes(OpAsmPrinter &printer, Operation *, Type key, Type value,
                             Type cache) {
  printer << key << ", ";
  if (value)
    printer << value << ", ";
  printer << cache;
}

//===----------------------------------------------------------------------===//
// Shared checks
//===----------------------------------------------------------------------===//

static ArrayRef<int64_t> shapeOf(Type type) {
  if (auto weight = dyn_cast<WeightType>(type))
    return weight.getShape();
  if (auto cache = dyn_cast<CacheType>(type))
    return cache.getShape();
  return cast<RankedTensorType>(type).getShape();
}

static std::string extent(int64_t dim) {
  return ShapedType::isDynamic(dim) ? "?" : std::to_string(dim);
}

NamedShape::NamedShape(StringRef name, Value value) : name(name), shape(shapeOf(value.getType())) {}

LogicalResult llm::verifyRank(Operation *op, NamedShape what, int64_t rank) {
  int64_t actual = what.shape.size();
  if (actual == rank)
    return success();
  return op->emitOpError() << what.name << " must have rank " << rank << " but has rank " << actual;
}

LogicalResult llm::verifySameDim(Operation *op, NamedShape a, unsigned i, NamedShape b,
                                 unsigned j) {
  if (a.shape[i] == b.shape[j])
    return success();
  return op->emitOpError() << a.name << " dimension " << i << " (" << extent(a.shape[i])
                           << ") must equal " << b.name << " dimension " << j << " ("
                           << extent(b.shape[j]) << ")";
}

LogicalResult llm::verifySameRows(Operation *op, NamedShape a, NamedShape b) {
  if (ShapedType::isDynamic(a.shape[0]) || ShapedType::isDynamic(b.shape[0]))
    return success();
  return verifySameDim(op, a, 0, b, 0);
}

LogicalResult llm::verifyPerChannel(Operation *op, NamedShape what, NamedShape of) {
  if (of.shape.empty())
    return op->emitOpError() << of.name << " must have at least rank 1 but has rank 0";
  if (failed(verifyRank(op, what, 1)))
    return failure();
  return verifySameDim(op, what, 0, of, of.shape.size() - 1);
}

LogicalResult llm::verifySelection(Operation *op, NamedShape query, NamedShape weights,
                                   NamedShape cache, NamedShape result, int64_t top) {
  if (failed(verifyRank(op, query, 3)) || failed(verifySameDim(op, query, 2, cache, 1)) ||
      failed(verifyRank(op, weights, 2)) || failed(verifySameRows(op, weights, query)) ||
      failed(verifySameDim(op, weights, 1, query, 1)))
    return failure();
  if (top <= 0)
    return op->emitOpError() << "top must be positive but is " << top;
  if (failed(verifySameRows(op, result, query)))
    return failure();
  if (result.shape[1] != top)
    return op->emitOpError() << "result dimension 1 (" << extent(result.shape[1])
                             << ") must equal top (" << top << ")";
  return success();
}

LogicalResult llm::verifyPositive(Operation *op, StringRef name, const APFloat &value) {
  if (value.isFinite() && !value.isZero() && !value.isNegative())
    return success();
  SmallString<32> text;
  value.toString(text);
  return op->emitOpError() << name << " must be finite and positive but is " << text;
}

#define GET_OP_CLASSES
#include "llmc/Dialect/LLM/IR/LLMOps.cpp.inc"
