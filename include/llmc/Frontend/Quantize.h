//===- Quantize.h - float weights as blocks ---------------------*- C++ -*-===//
//
// llmc's own quantisers, for `--quantize`. They need nothing but the weights and
// are deterministic: a block depends on its own values only.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_QUANTIZE_H
#define LLMC_FRONTEND_QUANTIZE_H

#include "llmc/Frontend/StorageFormat.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace llmc::frontend {

/// q4_0 q4_1 q5_0 q5_1 q8_0 and q2_k to q6_k can be made.
bool canQuantize(const StorageFormat &format);
/// Their names, for messages.
std::string quantizableNames();

/// Finds blocks for `values`, row-major and a whole number of blocks, that make the sum of
/// squared errors small: scales (and minima) start from several widths of the range of the
/// values, follow the least squares fit of the quants they give, and are compared as they are
/// stored, in f16. The error of a block is never above that of the plain rule of
/// ggml-org/llama.cpp (the largest value on the outermost quant), which is one of the starts.
/// `bytes` has storageBytes(format, values.size()). Throws InputError where a value is not
/// finite or beyond the largest f16; `where` names the tensor in the message.
void quantize(const StorageFormat &format, std::span<const float> values,
              std::span<std::byte> bytes, const std::string &where);

/// Stores values in a plain float format (f32, f16, bf16), to nearest, or in blocks as above.
std::vector<std::byte> encodeValues(const StorageFormat &format, std::span<const float> values,
                                    const std::string &where);

/// What storing the values of a tensor in another format costs, in the order of the rows.
struct StorageError {
  uint64_t elements = 0;
  double squaredErrors = 0, squaredValues = 0;
  double largestError = 0, largestValue = 0;

  void add(double value, double stored);
  void add(std::span<const float> values, std::span<const float> stored);
  void add(const StorageError &other);
  /// Root mean square error, absolute, and in parts of the root mean square of the values.
  double rms() const;
  double relativeRms() const;
  /// Largest error in parts of the largest value.
  double relativeMax() const;
};

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_QUANTIZE_H
