//===- Storage.h - element formats of packed weights ------------*- C++ -*-===//
//
// One table for the packer and the generators. Free of MLIR.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_KERNELS_CPU_STORAGE_H
#define LLMC_KERNELS_CPU_STORAGE_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace llmc::kernels {

enum class Storage : uint8_t { F32, F16, BF16, Q4_0, Q4_1, Q8_0 };

/// Features of a panel.
inline constexpr int64_t panelFeatures = 16;

struct StorageInfo {
  std::string_view name;
  /// Values of k in one group, and bytes of one source block of as many.
  int64_t group;
  int64_t blockBytes;
  /// Bytes of the record of one panel for one group, and where its quants begin.
  int64_t recordBytes;
  int64_t quantOffset;

  bool isFloat() const { return group == 1; }
};

constexpr StorageInfo storageInfo(Storage storage) {
  switch (storage) {
  case Storage::F32:
    return {"f32", 1, 4, 64, 0};
  case Storage::F16:
    return {"f16", 1, 2, 32, 0};
  case Storage::BF16:
    return {"bf16", 1, 2, 32, 0};
  case Storage::Q4_0:
    return {"q4_0", 32, 18, 288, 32};
  case Storage::Q4_1:
    return {"q4_1", 32, 20, 320, 64};
  case Storage::Q8_0:
    return {"q8_0", 32, 34, 544, 32};
  }
  return {};
}

constexpr std::optional<Storage> findStorage(std::string_view name) {
  for (Storage storage : {Storage::F32, Storage::F16, Storage::BF16, Storage::Q4_0, Storage::Q4_1,
                          Storage::Q8_0})
    if (storageInfo(storage).name == name)
      return storage;
  return std::nullopt;
}

/// Bytes of one item: `tile` panels of depth `cols`.
constexpr int64_t itemBytes(Storage storage, int64_t cols, int64_t tile) {
  StorageInfo info = storageInfo(storage);
  return cols / info.group * info.recordBytes * tile;
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
