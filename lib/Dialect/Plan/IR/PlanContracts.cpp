//===- PlanContracts.cpp - sizes as text, operands of kernels -------------===//

#include "llmc/Dialect/Plan/IR/PlanAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace llmc::plan;

//===----------------------------------------------------------------------===//
// Assembly of sizes: `tokens * 2304 + 64`
//===----------------------------------------------------------------------===//

ParseResult llmc::plan::parseSizeText(AsmParser &parser, AffineMap &map) {
  MLIRContext *context = parser.getContext();
  SmallVector<std::pair<StringRef, AffineExpr>> symbols;
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    symbols.emplace_back(getName(static_cast<SizeSymbol>(i)), getAffineSymbolExpr(i, context));
  llvm::SMLoc loc = parser.getCurrentLocation();
  AffineExpr expr;
  if (parser.parseAffineExpr(symbols, expr))
    return failure();
  std::optional<Size> size =
      Size::fromMap(AffineMap::get(/*dimCount=*/0, kNumSizeSymbols, expr));
  if (!size)
    return parser.emitError(loc, "expected a linear size with no negative term"); // arena_c1
  // One map a size, however the terms were written.
  map = size->getMap(context);
  return success();
}

void llmc::plan::printSizeText(AsmPrinter &printer, AffineMap map) {
  std::optional<Size> size = Size::fromMap(map);
  assert(size && "ops that fail to verify are printed in generic form");
  bool any = false;
  for (unsigned i = 0; i < kNumSizeSymbols; ++i) {
    if (size->terms[i] == 0)
      continue;
    printer << (any ? " + " : "") << getName(static_cast<SizeSymbol>(i));
    if (size->terms[i] != 1)
      printer << " * " << size->terms[i];
    any = true;
  }
  if (!any || size->constant != 0)
    printer << (any ? " + " : "") << size->constant;
}

//===----------------------------------------------------------------------===//
// OperandAttr
//===----------------------------------------------------------------------===//

Attribute OperandAttr::parse(AsmParser &parser, Type) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  FailureOr<MemoryKind> kind = failure();
  FailureOr<Access> access = failure();
  AffineMap bytes;
  if (parser.parseLess() || failed(kind = FieldParser<MemoryKind>::parse(parser)) ||
      parser.parseComma() || failed(access = FieldParser<Access>::parse(parser)) ||
      parser.parseComma() || parseSizeText(parser, bytes) || parser.parseGreater())
    return {};
  return parser.getChecked<OperandAttr>(loc, parser.getContext(), *kind, *access, bytes);
}

void OperandAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringifyMemoryKind(getKind()) << ", " << stringifyAccess(getAccess()) << ", ";
  printSizeText(printer, getBytes());
  printer << '>';
}

LogicalResult OperandAttr::verify(function_ref<InFlightDiagnostic()> emitError, MemoryKind kind,
                                  Access, AffineMap bytes) {
  std::optional<Size> size = Size::fromMap(bytes);
  bool rightTerms = size.has_value();
  for (unsigned i = 0; size && i < kNumSizeSymbols; ++i) {
    auto symbol = static_cast<SizeSymbol>(i);
    bool ofState = symbol == SizeSymbol::Blocks || symbol == SizeSymbol::WindowBlocks;
    bool ofStep = !ofState && symbol != SizeSymbol::Threads;
    bool allowed = kind == MemoryKind::State   ? ofState || symbol == SizeSymbol::Sequences
                   : kind == MemoryKind::Slice ? ofStep
                                               : false;
    rightTerms &= allowed || size->terms[i] == 0;
  }
  // State has blocks of one kind or slots of sequences, never both.
  if (rightTerms && kind == MemoryKind::State)
    rightTerms = size->constant == 0 &&
                 llvm::count_if(size->terms, [](int64_t term) { return term != 0; }) <= 1;
  if (!rightTerms) // operand_c1
    return emitError() << "bytes of a " << stringifyMemoryKind(kind)
                       << " operand are a size of the step for a slice, a constant for weights "
                          "and 'blocks * n', 'window_blocks * n' or 'sequences * n' for state";
  return success();
}
