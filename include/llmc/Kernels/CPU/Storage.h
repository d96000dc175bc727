//===- Storage.h - element formats of packed weights ------------*- C++ -*-===//
//
// One table for the packer, the generators, the plan and the runtime's checks.
// Free of MLIR. The bytes of a record are those of docs/Manifest.md.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_STORAGE_H
#define LLMC_KERNELS_CPU_STORAGE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace llmc::kernels {

enum class Storage : uint8_t {
  F32,
  F16,
  BF16,
  Q4_0,
  Q4_1,
  Q8_0,
  Q5_0,
  Q5_1,
  Q8_1,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  Q8_K,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
};
inline constexpr int storageCount = int(Storage::MXFP4) + 1;

/// Features of a panel.
inline constexpr int64_t panelFeatures = 16;

/// What a record says about scales and minima; S and M of a weight S * q or
/// fma(q, S, M).
enum class ScaleForm : uint8_t {
  None,     ///< Plain floats.
  Half,     ///< f16 d: S = d.
  HalfMin,  ///< f16 d, f16 m: S = d, M = m.
  E8M0,     ///< u8 e: S = 2^(e - 128).
  Float,    ///< In the header f32 d: S = d.
  Sub,      ///< In the header f16 d, in the record i8 s for each sub-group: S = d s.
  SubMin,   ///< In the header f16 d, f16 n; u8 s, u8 t: S = d s, M = -(n t).
  SubPair,  ///< The same with s in the low and t in the high half of one byte.
};

/// What the quants of a format choose from, where they are no numbers.
enum class Codebook : uint8_t { None, NonLinear4, TwiceE2M1 };

struct StorageInfo {
  std::string_view name;
  /// Values of k of one record: 1 for plain floats, else 32; and of one block of the
  /// source, with its bytes.
  int64_t group;
  int64_t block;
  int64_t blockBytes;
  /// Bits of a quant (0: plain floats) and the code that stands for 0.
  int64_t bits;
  int64_t zero;
  ScaleForm scale;
  /// Values of k that share a sub-scale.
  int64_t subGroup;
  Codebook codebook;
  /// Bytes of one panel ahead of the records of a block, and of the record of one panel
  /// for one group, with the place of its quants.
  int64_t headerBytes;
  int64_t recordBytes;
  int64_t quantOffset;

  constexpr bool isFloat() const { return scale == ScaleForm::None; }
  constexpr bool hasMinimum() const {
    return scale == ScaleForm::HalfMin || scale == ScaleForm::SubMin || scale == ScaleForm::SubPair;
  }
  /// Bytes of one panel for one block.
  constexpr int64_t panelBytes() const { return headerBytes + block / group * recordBytes; }
};

namespace detail {
struct StorageRow {
  std::string_view name;
  int64_t block, blockBytes, bits, zero;
  ScaleForm scale;
  int64_t subGroup = 32;
  Codebook codebook = Codebook::None;
};
// clang-format off
inline constexpr StorageRow storageRows[storageCount] = {
    // name     block bytes bits zero
    {"f32",       1,   4, 0,   0, ScaleForm::None},
    {"f16",       1,   2, 0,   0, ScaleForm::None},
    {"bf16",      1,   2, 0,   0, ScaleForm::None},
    {"q4_0",     32,  18, 4,   8, ScaleForm::Half},
    {"q4_1",     32,  20, 4,   0, ScaleForm::HalfMin},
    {"q8_0",     32,  34, 8, 128, ScaleForm::Half},
    {"q5_0",     32,  22, 5,  16, ScaleForm::Half},
    {"q5_1",     32,  24, 5,   0, ScaleForm::HalfMin},
    {"q8_1",     32,  36, 8, 128, ScaleForm::Half},
    {"q2_k",    256,  84, 2,   0, ScaleForm::SubPair, 16},
    {"q3_k",    256, 110, 3,   4, ScaleForm::Sub, 16},
    {"q4_k",    256, 144, 4,   0, ScaleForm::SubMin},
    {"q5_k",    256, 176, 5,   0, ScaleForm::SubMin},
    {"q6_k",    256, 210, 6,  32, ScaleForm::Sub, 16},
    {"q8_k",    256, 292, 8, 128, ScaleForm::Float},
    {"iq4_nl",   32,  18, 4,   0, ScaleForm::Half, 32, Codebook::NonLinear4},
    {"iq4_xs",  256, 136, 4,   0, ScaleForm::Sub, 32, Codebook::NonLinear4},
    {"mxfp4",    32,  17, 4,   0, ScaleForm::E8M0, 32, Codebook::TwiceE2M1},
};
// clang-format on
} // namespace detail

constexpr StorageInfo storageInfo(Storage storage) {
  const detail::StorageRow &row = detail::storageRows[int(storage)];
  StorageInfo info = {row.name,  1,         row.block,    row.blockBytes, row.bits, row.zero,
                      row.scale, row.subGroup, row.codebook, 0,           0,        0};
  if (info.isFloat()) {
    info.recordBytes = panelFeatures * row.blockBytes;
    return info;
  }
  info.group = 32;
  int64_t header = 0, record = 0, subGroups = 32 / row.subGroup; // Bytes of one feature.
  switch (row.scale) {
  case ScaleForm::None:
    break;
  case ScaleForm::Half:
    record = 2;
    break;
  case ScaleForm::HalfMin:
    record = 4;
    break;
  case ScaleForm::E8M0:
    record = 1;
    break;
  case ScaleForm::Float:
    header = 4;
    break;
  case ScaleForm::Sub:
    header = 2, record = subGroups;
    break;
  case ScaleForm::SubMin:
    header = 4, record = 2 * subGroups;
    break;
  case ScaleForm::SubPair:
    header = 4, record = subGroups;
    break;
  }
  info.headerBytes = header * panelFeatures;
  info.quantOffset = record * panelFeatures;
  info.recordBytes = info.quantOffset + 4 * row.bits * panelFeatures;
  return info;
}

constexpr std::optional<Storage> findStorage(std::string_view name) {
  for (int i = 0; i < storageCount; ++i)
    if (detail::storageRows[i].name == name)
      return Storage(i);
  return std::nullopt;
}

/// The integers that a codebook's codes stand for.
constexpr int codebookValue(Codebook book, int code) {
  constexpr int8_t nonLinear4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};
  constexpr int8_t twiceE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  return book == Codebook::NonLinear4 ? nonLinear4[code] : twiceE2M1[code];
}

/// Where element k of a group lies among its quants. For bits that divide 32: bits
/// [shift, shift + bits) of word `word` of the feature's lane. Of 3, 5 and 6 bits a word
/// holds 32 / bits elements, thirty in all, and the two topmost bits of word j are bits
/// 2 j and 2 j + 1 of a value that holds elements 30 and 31: `word` is -1.
struct QuantPlace {
  int64_t word;
  int64_t shift;
};
constexpr QuantPlace quantPlace(int64_t bits, int64_t k) {
  int64_t inWord = 32 / bits;
  if (32 % bits == 0)
    // Bytes ascend first, so that a mask leaves four consecutive elements.
    return {k / inWord, k % 4 * 8 + k % inWord / 4 * bits};
  if (k >= 30)
    return {-1, (k - 30) * bits};
  return {k / inWord, k % inWord * bits};
}

/// Bytes of one item: `tile` panels of depth `cols`.
constexpr int64_t itemBytes(Storage storage, int64_t cols, int64_t tile) {
  StorageInfo info = storageInfo(storage);
  return cols / info.block * info.panelBytes() * tile;
}

/// Items of `rows` features.
constexpr int64_t panelItems(int64_t rows, int64_t tile) {
  return (rows + panelFeatures * tile - 1) / (panelFeatures * tile);
}

/// Bytes of one packed weight, a multiple of 64.
constexpr int64_t packedBytes(Storage storage, int64_t rows, int64_t cols, int64_t tile) {
  return (panelItems(rows, tile) * itemBytes(storage, cols, tile) + 63) / 64 * 64;
}

} // namespace llmc::kernels

#endif // LLMC_KERNELS_CPU_STORAGE_H
