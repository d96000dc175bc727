//===- TableBound.h - tables whose numbers name something -------*- C++ -*-===//
#ifndef LLMC_CONVERSION_TABLEBOUND_H
#define LLMC_CONVERSION_TABLEBOUND_H

#include "llvm/ADT/StringRef.h"

namespace llmc {

/// On a plan.weights of rows: all its numbers are whole, and from 0 up to less than this (i64).
/// Until the package phase only, which refuses a checkpoint with others.
inline constexpr llvm::StringLiteral numbersBelowAttrName = "plan.numbers_below";

} // namespace llmc

#endif // LLMC_CONVERSION_TABLEBOUND_H
