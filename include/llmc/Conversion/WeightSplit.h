//===- WeightSplit.h - weights that ranks divide ----------------*- C++ -*-===//
#ifndef LLMC_CONVERSION_WEIGHTSPLIT_H
#define LLMC_CONVERSION_WEIGHTSPLIT_H

#include "llvm/ADT/StringRef.h"

namespace llmc {

/// On a plan.weights: the dimension (i64) of its published tensors that the ranks divide
/// into equal parts, rank r taking the r-th. Until the package phase only: the artifact
/// holds each rank's part in its own file.
inline constexpr llvm::StringLiteral splitAttrName = "plan.split";

} // namespace llmc

#endif // LLMC_CONVERSION_WEIGHTSPLIT_H
