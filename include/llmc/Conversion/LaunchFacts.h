//===- LaunchFacts.h - what reports need of a launch ------------*- C++ -*-===//
//
// Attributes of plan.launch that no step depends on and no manifest holds. Whoever reads
// them has them checked against the launch: a dump may have been edited.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_CONVERSION_LAUNCHFACTS_H
#define LLMC_CONVERSION_LAUNCHFACTS_H

#include "llvm/ADT/StringRef.h"

namespace llmc {

/// The function that the launch was made for: the kind of its layer. Absent outside of layers.
inline constexpr llvm::StringLiteral layerKindAttrName = "plan.layer_kind";

/// Which layer of a repeat's period the launch is of; absent where the first.
inline constexpr llvm::StringLiteral placeAttrName = "plan.place";

/// An array with two numbers for each use: the columns, f32 elements of a row, that the launch
/// reads of a slice, and that it writes; -1 where that is not known. Absent where all are whole rows.
inline constexpr llvm::StringLiteral touchedColumnsAttrName = "plan.touched_columns";

} // namespace llmc

#endif // LLMC_CONVERSION_LAUNCHFACTS_H
