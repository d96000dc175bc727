//===- StorageFormat.cpp - the table of formats and their values ----------===//
#include "llmc/Frontend/StorageFormat.h"

#include "llmc/Support/Error.h"

#include <bit>
#include <cstring>
#include <limits>
#include <string>

namespace llmc::frontend {

using enum ElementKind;

// clang-format off
static constexpr StorageFormat table[] = {
    // name     element      bits block bytes scale             min    read   safetensors  ggml
    {"f32",     Float,        32,   1,   4, ScaleKind::None,  false, true,  "F32",        0},
    {"f16",     Float,        16,   1,   2, ScaleKind::None,  false, true,  "F16",        1},
    {"bf16",    BFloat,       16,   1,   2, ScaleKind::None,  false, true,  "BF16",      30},
    {"f64",     Float,        64,   1,   8, ScaleKind::None,  false, false, "F64",       28},
    {"f8e4m3",  Float8,        8,   1,   1, ScaleKind::None,  false, false, "F8_E4M3",   -1},
    {"f8e5m2",  Float8,        8,   1,   1, ScaleKind::None,  false, false, "F8_E5M2",   -1},
    {"f8e8m0",  Float8,        8,   1,   1, ScaleKind::None,  false, false, "F8_E8M0",   -1},
    {"i64",     SignedInt,    64,   1,   8, ScaleKind::None,  false, false, "I64",       27},
    {"i32",     SignedInt,    32,   1,   4, ScaleKind::None,  false, false, "I32",       26},
    {"i16",     SignedInt,    16,   1,   2, ScaleKind::None,  false, false, "I16",       25},
    {"i8",      SignedInt,     8,   1,   1, ScaleKind::None,  false, false, "I8",        24},
    {"u64",     UnsignedInt,  64,   1,   8, ScaleKind::None,  false, false, "U64",       -1},
    {"u32",     UnsignedInt,  32,   1,   4, ScaleKind::None,  false, false, "U32",       -1},
    {"u16",     UnsignedInt,  16,   1,   2, ScaleKind::None,  false, false, "U16",       -1},
    {"u8",      UnsignedInt,   8,   1,   1, ScaleKind::None,  false, false, "U8",        -1},
    {"bool",    Boolean,       8,   1,   1, ScaleKind::None,  false, false, "BOOL",      -1},
    {"q4_0",    Quant,         4,  32,  18, ScaleKind::F16,   false, true,  "",           2},
    {"q4_1",    Quant,         4,  32,  20, ScaleKind::F16,   true,  true,  "",           3},
    {"q5_0",    Quant,         5,  32,  22, ScaleKind::F16,   false, false, "",           6},
    {"q5_1",    Quant,         5,  32,  24, ScaleKind::F16,   true,  false, "",           7},
    {"q8_0",    Quant,         8,  32,  34, ScaleKind::F16,   false, true,  "",           8},
    {"q8_1",    Quant,         8,  32,  36, ScaleKind::F16,   true,  false, "",           9},
    {"q2_k",    Quant,         2, 256,  84, ScaleKind::Other, true,  false, "",          10},
    {"q3_k",    Quant,         3, 256, 110, ScaleKind::Other, false, false, "",          11},
    {"q4_k",    Quant,         4, 256, 144, ScaleKind::Other, true,  false, "",          12},
    {"q5_k",    Quant,         5, 256, 176, ScaleKind::Other, true,  false, "",          13},
    {"q6_k",    Quant,         6, 256, 210, ScaleKind::Other, false, false, "",          14},
    {"q8_k",    Quant,         8, 256, 292, ScaleKind::F32,   false, false, "",          15},
    {"iq2_xxs", Quant,         2, 256,  66, ScaleKind::Other, false, false, "",          16},
    {"iq2_xs",  Quant,         2, 256,  74, ScaleKind::Other, false, false, "",          17},
    {"iq3_xxs", Quant,         3, 256,  98, ScaleKind::Other, false, false, "",          18},
    {"iq1_s",   Quant,         1, 256,  50, ScaleKind::Other, false, false, "",          19},
    {"iq4_nl",  Quant,         4,  32,  18, ScaleKind::F16,   false, false, "",          20},
    {"iq3_s",   Quant,         3, 256, 110, ScaleKind::Other, false, false, "",          21},
    {"iq2_s",   Quant,         2, 256,  82, ScaleKind::Other, false, false, "",          22},
    {"iq4_xs",  Quant,         4, 256, 136, ScaleKind::Other, false, false, "",          23},
    {"iq1_m",   Quant,         1, 256,  56, ScaleKind::Other, false, false, "",          29},
    {"tq1_0",   Quant,         1, 256,  54, ScaleKind::F16,   false, false, "",          34},
    {"tq2_0",   Quant,         2, 256,  66, ScaleKind::F16,   false, false, "",          35},
    {"mxfp4",   Quant,         4,  32,  17, ScaleKind::Other, false, false, "",          39},
};
// clang-format on

std::span<const StorageFormat> storageFormats() { return table; }

const StorageFormat *findStorageFormat(std::string_view name) {
  for (const StorageFormat &format : table)
    if (format.name == name)
      return &format;
  return nullptr;
}

const StorageFormat *findSafetensorsFormat(std::string_view dtype) {
  for (const StorageFormat &format : table)
    if (!dtype.empty() && format.safetensorsName == dtype)
      return &format;
  return nullptr;
}

const StorageFormat *findGgmlFormat(uint32_t ggmlType) {
  for (const StorageFormat &format : table)
    if (format.ggmlType >= 0 && uint32_t(format.ggmlType) == ggmlType)
      return &format;
  return nullptr;
}

std::optional<uint64_t> storageBytes(const StorageFormat &format, uint64_t elements) {
  if (elements % format.blockSize)
    return std::nullopt;
  uint64_t blocks = elements / format.blockSize;
  if (blocks > std::numeric_limits<uint64_t>::max() / 2 / format.blockBytes)
    return std::nullopt;
  return blocks * format.blockBytes;
}

float bfloat16ToFloat(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

float halfToFloat(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7F800000 | mantissa << 13);
  if (exponent == 0) {
    // Subnormal: mantissa * 2^-24, exact in f32.
    float value = float(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

template <typename T>
static T load(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Files are little-endian, and so is every machine llmc runs on.
static_assert(std::endian::native == std::endian::little);

static float scaleOf(const std::byte *block) { return halfToFloat(load<uint16_t>(block)); }

// Low nibbles hold elements 0..15 of a block, high nibbles 16..31. A scale has 11 significant
// bits and a quant at most 8, so every product below is exact in f32 and each value is rounded
// once at most, with or without fused operations.

static void dequantizeQ40(const std::byte *in, float *out) {
  float d = scaleOf(in);
  for (size_t j = 0; j < 16; ++j) {
    int q = std::to_integer<int>(in[2 + j]);
    out[j] = d * float((q & 15) - 8);
    out[16 + j] = d * float((q >> 4) - 8);
  }
}

static void dequantizeQ41(const std::byte *in, float *out) {
  float d = scaleOf(in), m = scaleOf(in + 2);
  for (size_t j = 0; j < 16; ++j) {
    int q = std::to_integer<int>(in[4 + j]);
    out[j] = d * float(q & 15) + m;
    out[16 + j] = d * float(q >> 4) + m;
  }
}

static void dequantizeQ80(const std::byte *in, float *out) {
  float d = scaleOf(in);
  for (size_t j = 0; j < 32; ++j)
    out[j] = d * float(load<int8_t>(in + 2 + j));
}

template <typename Block>
static void forBlocks(const StorageFormat &format, const std::byte *in, std::span<float> out,
                      Block block) {
  for (size_t at = 0; at < out.size(); at += format.blockSize, in += format.blockBytes)
    block(in, out.data() + at);
}

void dequantize(const StorageFormat &format, std::span<const std::byte> bytes,
                std::span<float> out) {
  if (!format.readable)
    throw InputError("values stored as " + std::string(format.name) +
                     " cannot be read yet; readable are f32, f16, bf16, q4_0, q4_1 and q8_0");
  auto expected = storageBytes(format, out.size());
  if (!expected || *expected != bytes.size())
    throw InternalError("dequantize: " + std::to_string(bytes.size()) + " bytes of " +
                        std::string(format.name) + " for " + std::to_string(out.size()) +
                        " elements");
  if (out.empty())
    return;
  const std::byte *in = bytes.data();
  if (format.name == "f32") {
    std::memcpy(out.data(), in, bytes.size());
  } else if (format.name == "f16") {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = halfToFloat(load<uint16_t>(in + 2 * i));
  } else if (format.name == "bf16") {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = bfloat16ToFloat(load<uint16_t>(in + 2 * i));
  } else if (format.name == "q4_0") {
    forBlocks(format, in, out, dequantizeQ40);
  } else if (format.name == "q4_1") {
    forBlocks(format, in, out, dequantizeQ41);
  } else {
    forBlocks(format, in, out, dequantizeQ80);
  }
}

std::vector<float> dequantizeRows(const StorageFormat &format, std::span<const std::byte> bytes,
                                  uint64_t columns, uint64_t firstRow, uint64_t rows) {
  auto rowBytes = storageBytes(format, columns);
  if (!rowBytes || *rowBytes * (firstRow + rows) > bytes.size())
    throw InternalError("dequantizeRows: rows " + std::to_string(firstRow) + " to " +
                        std::to_string(firstRow + rows) + " of " + std::to_string(columns) +
                        " columns are not in " + std::to_string(bytes.size()) + " bytes of " +
                        std::string(format.name));
  std::vector<float> out(rows * columns);
  dequantize(format, bytes.subspan(*rowBytes * firstRow, *rowBytes * rows), out);
  return out;
}

} // namespace llmc::frontend
