//===- StorageFormat.cpp - the table of formats and their values ----------===//
#include "BlockValues.h"

#include "llmc/Support/Error.h"

#include <cmath>
#include <limits>
#include <string>

namespace llmc::frontend {

using enum ElementKind;

// clang-format off
static constexpr StorageFormat table[] = {
    // name         element      bits block bytes scale             min    read   safetensors    ggml
    {"f32",         Float,        32,   1,   4, ScaleKind::None,  false, true,  "F32",          0},
    {"f16",         Float,        16,   1,   2, ScaleKind::None,  false, true,  "F16",          1},
    {"bf16",        BFloat,       16,   1,   2, ScaleKind::None,  false, true,  "BF16",        30},
    {"f64",         Float,        64,   1,   8, ScaleKind::None,  false, true,  "F64",         28},
    {"f8e4m3",      Float8,        8,   1,   1, ScaleKind::None,  false, true,  "F8_E4M3",     -1},
    {"f8e5m2",      Float8,        8,   1,   1, ScaleKind::None,  false, true,  "F8_E5M2",     -1},
    {"f8e4m3fnuz",  Float8,        8,   1,   1, ScaleKind::None,  false, true,  "F8_E4M3FNUZ", -1},
    {"f8e5m2fnuz",  Float8,        8,   1,   1, ScaleKind::None,  false, true,  "F8_E5M2FNUZ", -1},
    {"f8e8m0",      Float8,        8,   1,   1, ScaleKind::None,  false, true,  "F8_E8M0",     -1},
    {"f6e2m3",      SubByte,       6,   4,   3, ScaleKind::None,  false, false, "F6_E2M3",     -1},
    {"f6e3m2",      SubByte,       6,   4,   3, ScaleKind::None,  false, false, "F6_E3M2",     -1},
    {"f4e2m1",      SubByte,       4,   2,   1, ScaleKind::None,  false, false, "F4",          -1},
    {"c64",         Complex,      64,   1,   8, ScaleKind::None,  false, false, "C64",         -1},
    {"i64",         SignedInt,    64,   1,   8, ScaleKind::None,  false, false, "I64",         27},
    {"i32",         SignedInt,    32,   1,   4, ScaleKind::None,  false, false, "I32",         26},
    {"i16",         SignedInt,    16,   1,   2, ScaleKind::None,  false, false, "I16",         25},
    {"i8",          SignedInt,     8,   1,   1, ScaleKind::None,  false, false, "I8",          24},
    {"u64",         UnsignedInt,  64,   1,   8, ScaleKind::None,  false, false, "U64",         -1},
    {"u32",         UnsignedInt,  32,   1,   4, ScaleKind::None,  false, false, "U32",         -1},
    {"u16",         UnsignedInt,  16,   1,   2, ScaleKind::None,  false, false, "U16",         -1},
    {"u8",          UnsignedInt,   8,   1,   1, ScaleKind::None,  false, false, "U8",          -1},
    {"bool",        Boolean,       8,   1,   1, ScaleKind::None,  false, false, "BOOL",        -1},
    {"q4_0",        Quant,         4,  32,  18, ScaleKind::F16,   false, true,  "",             2},
    {"q4_1",        Quant,         4,  32,  20, ScaleKind::F16,   true,  true,  "",             3},
    {"q5_0",        Quant,         5,  32,  22, ScaleKind::F16,   false, true,  "",             6},
    {"q5_1",        Quant,         5,  32,  24, ScaleKind::F16,   true,  true,  "",             7},
    {"q8_0",        Quant,         8,  32,  34, ScaleKind::F16,   false, true,  "",             8},
    {"q8_1",        Quant,         8,  32,  36, ScaleKind::F16,   false, true,  "",             9},
    {"q2_k",        Quant,         2, 256,  84, ScaleKind::Other, true,  true,  "",            10},
    {"q3_k",        Quant,         3, 256, 110, ScaleKind::Other, false, true,  "",            11},
    {"q4_k",        Quant,         4, 256, 144, ScaleKind::Other, true,  true,  "",            12},
    {"q5_k",        Quant,         5, 256, 176, ScaleKind::Other, true,  true,  "",            13},
    {"q6_k",        Quant,         6, 256, 210, ScaleKind::Other, false, true,  "",            14},
    {"q8_k",        Quant,         8, 256, 292, ScaleKind::F32,   false, true,  "",            15},
    {"iq2_xxs",     Quant,         2, 256,  66, ScaleKind::Other, false, false, "",            16},
    {"iq2_xs",      Quant,         2, 256,  74, ScaleKind::Other, false, false, "",            17},
    {"iq3_xxs",     Quant,         3, 256,  98, ScaleKind::Other, false, false, "",            18},
    {"iq1_s",       Quant,         1, 256,  50, ScaleKind::Other, false, false, "",            19},
    {"iq4_nl",      Quant,         4,  32,  18, ScaleKind::F16,   false, true,  "",            20},
    {"iq3_s",       Quant,         3, 256, 110, ScaleKind::Other, false, false, "",            21},
    {"iq2_s",       Quant,         2, 256,  82, ScaleKind::Other, false, false, "",            22},
    {"iq4_xs",      Quant,         4, 256, 136, ScaleKind::Other, false, true,  "",            23},
    {"iq1_m",       Quant,         1, 256,  56, ScaleKind::Other, false, false, "",            29},
    {"tq1_0",       Quant,         1, 256,  54, ScaleKind::F16,   false, true,  "",            34},
    {"tq2_0",       Quant,         2, 256,  66, ScaleKind::F16,   false, true,  "",            35},
    {"mxfp4",       Quant,         4,  32,  17, ScaleKind::Other, false, true,  "",            39},
    {"nvfp4",       Quant,         4,  64,  36, ScaleKind::Other, false, true,  "",            40},
    {"q1_0",        Quant,         1, 128,  18, ScaleKind::F16,   false, false, "",            41},
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

std::string readableNames(FileKind kind) {
  std::string names;
  for (const StorageFormat &format : table)
    if (format.readable && (kind != FileKind::Safetensors || !format.safetensorsName.empty()) &&
        (kind != FileKind::Gguf || format.ggmlType >= 0))
      (names += names.empty() ? "" : ", ") += format.name;
  return names;
}

std::string safetensorsNames() {
  std::string names;
  for (const StorageFormat &format : table)
    if (!format.safetensorsName.empty())
      (names += names.empty() ? "" : ", ") += format.safetensorsName;
  return names;
}

const StorageFormat *findGgmlFormat(uint32_t ggmlType) {
  for (const StorageFormat &format : table)
    if (format.ggmlType >= 0 && uint32_t(format.ggmlType) == ggmlType)
      return &format;
  return nullptr;
}

const StorageFormat &compiledFormat(const StorageFormat &stored) {
  if (stored.name == "f64")
    return *findStorageFormat("f32");
  if (stored.element == Float8)
    return *findStorageFormat("bf16");
  return stored;
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

uint16_t floatToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = uint16_t(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000)
    return uint16_t(sign | 0x7E00);
  if (bits >= 0x477FF000) // 65520: half way from the largest to what would be the next.
    return uint16_t(sign | 0x7C00);
  // Adding a power of two with the unit 2^-24 rounds to a multiple of it.
  if (bits < 0x38800000)
    return uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(bits) + 0.5f) & 0x7FF));
  bits += 0xFFF + (bits >> 13 & 1);
  return uint16_t(sign | (bits - 0x38000000) >> 13);
}

template <typename Stored, auto convert>
static void eachElement(const std::byte *in, uint64_t count, float *out) {
  for (uint64_t i = 0; i < count; ++i)
    out[i] = convert(loadAs<Stored>(in + i * sizeof(Stored)));
}

static float sameFloat(float value) { return value; }
/// To nearest, ties to even: the one rounding of plain types.
static float fromDouble(double value) { return float(value); }

static float nan() { return std::numeric_limits<float>::quiet_NaN(); }

/// Sign, `exponentBits`, then the mantissa: normal and subnormal codes, no special ones.
static float smallFloat(uint8_t code, int exponentBits, int bias) {
  int mantissaBits = 7 - exponentBits;
  int exponent = code >> mantissaBits & ((1 << exponentBits) - 1);
  int mantissa = code & ((1 << mantissaBits) - 1);
  if (exponent)
    mantissa |= 1 << mantissaBits;
  float value = std::ldexp(float(mantissa), std::max(exponent, 1) - bias - mantissaBits);
  return code & 0x80 ? -value : value;
}

static float e4m3(uint8_t code) { return (code & 0x7F) == 0x7F ? nan() : smallFloat(code, 4, 7); }
/// The upper half of an f16, special codes included.
static float e5m2(uint8_t code) { return halfToFloat(uint16_t(code << 8)); }
/// Without infinities and -0, whose code is the NaN.
static float e4m3fnuz(uint8_t code) { return code == 0x80 ? nan() : smallFloat(code, 4, 8); }
static float e5m2fnuz(uint8_t code) { return code == 0x80 ? nan() : smallFloat(code, 5, 16); }
static float e8m0(uint8_t code) { return code == 0xFF ? nan() : std::ldexp(1.0f, code - 127); }

BlockReader plainReader(std::string_view name) {
  static constexpr NamedReader rows[] = {
      {"f32", eachElement<float, sameFloat>},
      {"f16", eachElement<uint16_t, halfToFloat>},
      {"bf16", eachElement<uint16_t, bfloat16ToFloat>},
      {"f64", eachElement<double, fromDouble>},
      {"f8e4m3", eachElement<uint8_t, e4m3>},
      {"f8e5m2", eachElement<uint8_t, e5m2>},
      {"f8e4m3fnuz", eachElement<uint8_t, e4m3fnuz>},
      {"f8e5m2fnuz", eachElement<uint8_t, e5m2fnuz>},
      {"f8e8m0", eachElement<uint8_t, e8m0>},
  };
  return findReader(rows, name);
}

static BlockReader readerOf(const StorageFormat &format) {
  for (auto find : {plainReader, smallBlockReader, superBlockReader})
    if (BlockReader reader = find(format.name))
      return reader;
  return nullptr;
}

void dequantize(const StorageFormat &format, std::span<const std::byte> bytes,
                std::span<float> out) {
  BlockReader reader = format.readable ? readerOf(format) : nullptr;
  if (!reader)
    throw InputError("values stored as " + std::string(format.name) +
                     " cannot be read yet; readable are " + readableNames());
  auto expected = storageBytes(format, out.size());
  if (!expected || *expected != bytes.size())
    throw InternalError("dequantize: " + std::to_string(bytes.size()) + " bytes of " +
                        std::string(format.name) + " for " + std::to_string(out.size()) +
                        " elements");
  reader(bytes.data(), out.size() / format.blockSize, out.data());
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
