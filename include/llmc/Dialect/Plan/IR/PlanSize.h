//===- PlanSize.h - sizes that depend on the step ---------------*- C++ -*-===//
//
// A size is an affine map over `()[tokens, outputs, sequences, blocks, threads,
// window_blocks]` in the IR and an object with those keys in the manifest. Size is
// the form in between: what the map says, as numbers.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_DIALECT_PLAN_IR_PLANSIZE_H
#define LLMC_DIALECT_PLAN_IR_PLANSIZE_H

#include "mlir/IR/AffineMap.h"

#include <array>
#include <optional>

namespace llmc::plan {

/// Symbols of a size map, in order.
enum class SizeSymbol : unsigned { Tokens, Outputs, Sequences, Blocks, Threads, WindowBlocks };
constexpr unsigned kNumSizeSymbols = 6;
/// Their names in assembly and in the manifest.
llvm::StringRef getName(SizeSymbol symbol);

/// Alignment of every slice, weight and scratch area in bytes.
constexpr int64_t kAlignment = 64;
/// The most bytes of an arena: what JSON numbers hold exactly.
constexpr int64_t kMostBytes = int64_t(1) << 53;

/// `constant + sum over symbols of terms[symbol] * symbol`, no part negative.
/// Arithmetic saturates, so that a hostile size is too large and never wraps.
struct Size {
  int64_t constant = 0;
  std::array<int64_t, kNumSizeSymbols> terms = {};

  /// `value` a row, token, block... as the symbol says.
  static Size of(SizeSymbol symbol, int64_t value);
  /// The same bytes at every step.
  static Size fixed(int64_t value);
  /// The size that a map means; nothing when the map is not a size.
  static std::optional<Size> fromMap(mlir::AffineMap map);

  mlir::AffineMap getMap(mlir::MLIRContext *context) const;
  int64_t getTerm(SizeSymbol symbol) const { return terms[static_cast<unsigned>(symbol)]; }
  int64_t evaluate(const std::array<int64_t, kNumSizeSymbols> &values) const;

  Size operator+(const Size &other) const;
  Size operator*(int64_t factor) const;
  bool operator==(const Size &) const = default;
};

/// Whether the map is a size: six symbols, no dimension, one linear result
/// whose coefficients and constant are not negative.
bool isSizeMap(mlir::AffineMap map);

/// Sums, products and rounding up of non-negative numbers that stop at the
/// largest value.
int64_t saturatingAdd(int64_t a, int64_t b);
int64_t saturatingMul(int64_t a, int64_t b);
int64_t saturatingAlign(int64_t value, int64_t alignment = kAlignment);

} // namespace llmc::plan

#endif // LLMC_DIALECT_PLAN_IR_PLANSIZE_H
