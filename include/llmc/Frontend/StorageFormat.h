//===- StorageFormat.h - how a tensor's elements are stored -----*- C++ -*-===//
//
// One table describes every element type of safetensors and every ggml type
// that files hold. A format with `readable` false is known by name and size, so
// that a checkpoint can be listed; asking for its values is refused by name.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_STORAGEFORMAT_H
#define LLMC_FRONTEND_STORAGEFORMAT_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace llmc::frontend {

/// What one stored element is.
enum class ElementKind : uint8_t { Float, BFloat, Float8, SignedInt, UnsignedInt, Boolean, Quant };
/// What multiplies a block's quants.
enum class ScaleKind : uint8_t { None, F16, F32, Other };

/// A row of the format table. Compare formats by address.
struct StorageFormat {
  /// Lower-case name used in messages, artifacts and tests: "f32", "q4_1".
  std::string_view name;
  ElementKind element;
  /// Bits of one element without scales, rounded down.
  unsigned bits;
  /// Elements per block (1 for plain types) and bytes of one block, scales included.
  unsigned blockSize;
  unsigned blockBytes;
  ScaleKind scale;
  /// Blocks carry a minimum that is added to scale * quant.
  bool hasMin;
  /// llmc can compute the values.
  bool readable;
  /// Spelling in safetensors headers, empty when it has none there.
  std::string_view safetensorsName;
  /// ggml type number, -1 when it has none.
  int ggmlType;

  bool isPlain() const { return blockSize == 1; }
};

/// All formats, in a fixed order.
std::span<const StorageFormat> storageFormats();
/// Lookups; null when there is none.
const StorageFormat *findStorageFormat(std::string_view name);
const StorageFormat *findSafetensorsFormat(std::string_view dtype);
const StorageFormat *findGgmlFormat(uint32_t ggmlType);

/// Bytes of `elements` values; nothing when not a whole number of blocks or too large.
std::optional<uint64_t> storageBytes(const StorageFormat &format, uint64_t elements);

/// Exact values of a readable float format:
///   f32, f16, bf16  exact widening (f64 rounds to nearest)
///   q4_0  d * (q - 8)            exact
///   q4_1  fma(q, d, m) in f32    d * q is exact, then one rounding
///   q8_0  d * q                  exact
/// `bytes` must hold whole blocks and `out` as many elements as they have. Throws
/// InputError naming the format when it is not readable.
void dequantize(const StorageFormat &format, std::span<const std::byte> bytes,
                std::span<float> out);
/// The values of `rows` consecutive rows of `columns` elements each, from `firstRow`.
std::vector<float> dequantizeRows(const StorageFormat &format, std::span<const std::byte> bytes,
                                  uint64_t columns, uint64_t firstRow, uint64_t rows);

/// Exact widening of the 16-bit float types.
float halfToFloat(uint16_t bits);
float bfloat16ToFloat(uint16_t bits);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_STORAGEFORMAT_H
