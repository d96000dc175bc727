//===- RandomBlocks.h - checkpoint bytes of every storage -------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_KERNELS_RANDOMBLOCKS_H
#define LLMC_UNITTESTS_KERNELS_RANDOMBLOCKS_H

#include "llmc/Kernels/CPU/Storage.h"
#include <cstddef>
#include <cstring>
#include <random>
#include <vector>

namespace llmc::kernels::test {

inline std::vector<Storage> everyStorage() {
  std::vector<Storage> all;
  for (int i = 0; i < storageCount; ++i)
    all.push_back(Storage(i));
  return all;
}

/// Places of the f16 scale and minimum of a block; -1: none.
struct HalfPlaces {
  int scale, minimum;
};
inline HalfPlaces halvesOf(Storage storage) {
  switch (storage) {
  case Storage::Q4_1:
  case Storage::Q5_1:
  case Storage::Q4_K:
  case Storage::Q5_K:
    return {0, 2};
  case Storage::Q2_K:
    return {80, 82};
  case Storage::Q3_K:
    return {108, -1};
  case Storage::Q6_K:
    return {208, -1};
  case Storage::F32:
  case Storage::BF16:
  case Storage::Q8_K:
  case Storage::MXFP4:
    return {-1, -1};
  default:
    return {0, -1};
  }
}

/// `count` blocks of random bytes. Scales are near 1/32, of either sign; every eighth block
/// has one of zero, the smallest or the largest size, or quants that are all alike.
inline std::vector<std::byte> randomBlocks(Storage storage, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  StorageInfo info = storageInfo(storage);
  std::vector<std::byte> bytes(size_t(count * info.blockBytes));
  auto put = [](std::byte *p, auto value) { std::memcpy(p, &value, sizeof value); };
  auto half = [&] { return uint16_t((random() & 0x83ff) | (9 + random() % 3) << 10); };
  constexpr uint16_t edges[] = {0, 0x8000, 1, 0x83ff, 0x7bff, 0xfbff};
  std::normal_distribution<float> normal;
  for (std::byte *p = bytes.data(); p != bytes.data() + bytes.size(); p += info.blockBytes) {
    bool edge = !info.isFloat() && random() % 8 == 0;
    std::byte fill = random() % 2 ? std::byte(0xff) : std::byte(0);
    bool alike = edge && random() % 2;
    for (int64_t i = 0; i < info.blockBytes; ++i)
      p[i] = alike ? fill : std::byte(random());
    HalfPlaces halves = halvesOf(storage);
    if (halves.scale >= 0)
      put(p + halves.scale, edge ? edges[random() % 6] : half());
    if (halves.minimum >= 0)
      put(p + halves.minimum, edge ? edges[random() % 6] : half());
    if (storage == Storage::F32)
      put(p, normal(random));
    else if (storage == Storage::BF16)
      put(p, uint16_t((random() & 0x807f) | 0x3d80));
    else if (storage == Storage::Q8_K)
      put(p, edge ? (random() % 2 ? 0.0f : 1e36f) : normal(random));
    else if (storage == Storage::MXFP4)
      p[0] = std::byte(edge ? std::vector<int>{0, 1, 2, 246}[random() % 4] : 120 + random() % 8);
  }
  return bytes;
}

} // namespace llmc::kernels::test

#endif // LLMC_UNITTESTS_KERNELS_RANDOMBLOCKS_H
