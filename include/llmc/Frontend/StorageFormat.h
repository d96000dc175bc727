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
#include <string>
#include <string_view>
#include <vector>

namespace llmc::frontend {

/// What one stored element is.
enum class ElementKind : uint8_t {
  Float,
  BFloat,
  Float8,
  /// A float of less than a byte, packed.
  SubByte,
  Complex,
  SignedInt,
  UnsignedInt,
  Boolean,
  Quant
};
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

/// What a weight stored so becomes in an artifact when nothing is quantised: f64 is f32, the
/// 8-bit floats are bf16, which holds each of their values; every other format is itself.
const StorageFormat &compiledFormat(const StorageFormat &stored);

/// Bytes of `elements` values; nothing when not a whole number of blocks or too large.
std::optional<uint64_t> storageBytes(const StorageFormat &format, uint64_t elements);

/// "f32, f16, ...": the readable formats, all or those of one kind of file, and all dtypes of
/// safetensors, for messages.
enum class FileKind : uint8_t { Any, Safetensors, Gguf };
std::string readableNames(FileKind kind = FileKind::Any);
std::string safetensorsNames();

/// Values of a readable format. d and m are the block's halves, q a quant, k the IQ4 value or
/// twice the e2m1 value that q stands for. All of it is exact in f32 but what is marked, which
/// is rounded once, to nearest:
///   f32 f16 bf16 f8*  widening; f8e8m0 is 2^(x - 127), its 255 and the NaN codes are NaN
///   f64               rounded once
///   q4_0  d * (q - 8)                        q5_0  d * (q - 16)
///   q4_1 q5_1         fma(q, d, m)           rounded once
///   q8_0 q8_1         d * q                  (the sum that q8_1 stores is no part of a value)
///   iq4_nl            d * k
///   mxfp4             2^(e - 128) * k        e = 255 is 2^127 as in ggml, not NaN
///   nvfp4             d / 2 * k              d an unsigned e4m3 of 16 elements, 0x7F is 0
///   q2_k q4_k q5_k    fma(q, d * sc, -(dmin * mn))   rounded once; sc and mn integers of 16 or
///                                            32 elements
///   q3_k              d * (sc - 32) * (q - 4)
///   q6_k              d * sc * (q - 32)
///   q8_k              d * q                  d is an f32: rounded once
///   iq4_xs            d * (sc - 32) * k
///   tq1_0 tq2_0       d * (q - 1)
/// These are the formulas of ggml-org/llama.cpp (ggml-quants.c) and of its Python package
/// gguf; F8 as in the OCP 8-bit floating point specification, FNUZ as in arXiv:2206.02915.
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
/// Nearest 16-bit float, ties to even; beyond the range infinite.
uint16_t floatToHalf(float value);
uint16_t floatToBfloat16(float value);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_STORAGEFORMAT_H
