//===- PlanSize.cpp - sizes that depend on the step -----------------------===//

#include "llmc/Dialect/Plan/IR/PlanSize.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace llmc::plan;

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

int64_t llmc::plan::saturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? kLargest : sum;
}

int64_t llmc::plan::saturatingMul(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kLargest : product;
}

int64_t llmc::plan::saturatingAlign(int64_t value, int64_t alignment) {
  if (value > kLargest - alignment)
    return kLargest / alignment * alignment;
  return (value + alignment - 1) / alignment * alignment;
}

llvm::StringRef llmc::plan::getName(SizeSymbol symbol) {
  constexpr llvm::StringLiteral names[] = {"tokens", "outputs", "sequences",
                                         "blocks", "threads", "window_blocks"};
  return names[static_cast<unsigned>(symbol)];
}

Size Size::of(SizeSymbol symbol, int64_t value) {
  Size size;
  size.terms[static_cast<unsigned>(symbol)] = value;
  return size;
}

Size Size::fixed(int64_t value) {
  Size size;
  size.constant = value;
  return size;
}

Size Size::operator+(const Size &other) const {
  Size sum = fixed(saturatingAdd(constant, other.constant));
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    sum.terms[i] = saturatingAdd(terms[i], other.terms[i]);
  return sum;
}

Size Size::operator*(int64_t factor) const {
  Size product = fixed(saturatingMul(constant, factor));
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    product.terms[i] = saturatingMul(terms[i], factor);
  return product;
}

int64_t Size::evaluate(const std::array<int64_t, kNumSizeSymbols> &values) const {
  int64_t sum = constant;
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    sum = saturatingAdd(sum, saturatingMul(terms[i], values[i]));
  return sum;
}

AffineMap Size::getMap(MLIRContext *context) const {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (unsigned i = 0; i < kNumSizeSymbols; ++i)
    sum = sum + getAffineSymbolExpr(i, context) * terms[i];
  return AffineMap::get(/*dimCount=*/0, kNumSizeSymbols, sum + constant);
}

/// Adds `scale * expr` to the size; fails where the expression is not linear.
static bool addTerms(AffineExpr expr, int64_t scale, Size &size) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t value;
    return !llvm::MulOverflow(scale, constant.getValue(), value) &&
           !llvm::AddOverflow(size.constant, value, size.constant);
  }
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    int64_t &term = size.terms[symbol.getPosition()];
    return !llvm::AddOverflow(term, scale, term);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return addTerms(binary.getLHS(), scale, size) && addTerms(binary.getRHS(), scale, size);
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  int64_t product;
  return binary.getKind() == AffineExprKind::Mul && factor &&
         !llvm::MulOverflow(scale, factor.getValue(), product) &&
         addTerms(binary.getLHS(), product, size);
}

std::optional<Size> Size::fromMap(AffineMap map) {
  if (!map || map.getNumDims() != 0 || map.getNumSymbols() != kNumSizeSymbols ||
      map.getNumResults() != 1)
    return std::nullopt;
  Size size;
  if (!addTerms(map.getResult(0), 1, size) || size.constant < 0 ||
      llvm::any_of(size.terms, [](int64_t term) { return term < 0; }))
    return std::nullopt;
  return size;
}

bool llmc::plan::isSizeMap(AffineMap map) { return Size::fromMap(map).has_value(); }
