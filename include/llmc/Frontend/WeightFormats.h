//===- WeightFormats.h - which weights are quantised, and how ---*- C++ -*-===//
#ifndef LLMC_FRONTEND_WEIGHTFORMATS_H
#define LLMC_FRONTEND_WEIGHTFORMATS_H

#include "llmc/Frontend/ResolvedModel.h"

#include <string>
#include <vector>

namespace llmc::frontend {

/// The format of this name that llmc can make, in upper or lower case. Throws UsageError
/// with the names that there are and the nearest one.
const StorageFormat &quantizableFormat(const std::string &name);

struct WeightFormatChoice {
  /// What deviates from the first rule, to be told to the user: one line a stored family, also
  /// where the model takes it in several parts.
  std::vector<std::string> remarks;
  /// Tensors of matrices and tables, over all layers and experts, and those that are quantised.
  int64_t tensors = 0, quantized = 0;
};

/// Sets WeightFamily::quantizedTo for `--quantize=FORMAT`:
///   - Matrices of products and of routed experts become FORMAT. Where the depth is not a whole number of its blocks
///     of 256, they become the format of blocks of 32 that has the nearest bits above: q4_0 for
///     q2_k and q3_k, q4_1 for q4_k, q5_1 for q5_k, q8_0 for q6_k. Where it is none of 32
///     either, they stay.
///   - The embedding table and the output head, tied or not, become q8_0 whatever FORMAT is:
///     what is lost there meets the tokens themselves.
///   - Routers stay: another expert may be chosen for a small error. So does everything else:
///     matrices of single heads, vectors, biases, positions, and what is quantised already.
/// Throws UsageError for a format that llmc cannot make.
WeightFormatChoice chooseWeightFormats(ResolvedModel &model, const std::string &format);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_WEIGHTFORMATS_H
