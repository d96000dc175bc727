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

/// The name of an activation as a bare keyword.
static ParseResult parseActivationName(OpAsmParser &parser, ActivationAttr &function) {
  StringRef name;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<Activation> value = symbolizeActivation(name);
  if (!value)
    return parser.emitError(loc) << "'" << name << "' is not an activation: expected silu, gelu, "
                                 << "gelu_tanh, relu, sigmoid or tanh";
  function = ActivationAttr::get(parser.getContext(), *value);
  return success();
}

static void printActivationName(OpAsmPrinter &printer, Operation *, ActivationAttr function) {
  printer << stringifyActivation(function.getValue());
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

LogicalResult llm::verifyPositive(Operation *op, StringRef name, const APFloat &value) {
  if (value.isFinite() && !value.isZero() && !value.isNegative())
    return success();
  SmallString<32> text;
  value.toString(text);
  return op->emitOpError() << name << " must be finite and positive but is " << text;
}

#define GET_OP_CLASSES
#include "llmc/Dialect/LLM/IR/LLMOps.cpp.inc"
