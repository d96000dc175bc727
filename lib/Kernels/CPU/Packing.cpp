//===- Packing.cpp - from checkpoint rows to panels -----------------------===//
#include "llmc/Kernels/CPU/Packing.h"
#include "SourceBlocks.h"
#include "llmc/Support/Error.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>

namespace llmc::kernels {
namespace {

template <typename T>
T read(const std::byte *p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
template <typename T>
void write(std::byte *p, T value) {
  std::memcpy(p, &value, sizeof value);
}

/// The quants of one group into a feature's lane of `bits` words, 64 bytes apart.
template <int64_t bits>
void packLane(const uint8_t *codes, std::byte *lane) {
  uint32_t words[bits] = {};
  uint32_t topmost = 0;
  for (int64_t k = 0; k < 32; ++k) {
    QuantPlace place = quantPlace(bits, k);
    (place.word < 0 ? topmost : words[place.word]) |= uint32_t(codes[k]) << place.shift;
  }
  for (int64_t j = 0; j < bits; ++j)
    write(lane + 64 * j, words[j] | (topmost >> 2 * j & 3) << 30);
}

template <int64_t bits>
void unpackLane(const std::byte *lane, uint8_t *codes) {
  uint32_t words[bits];
  uint32_t topmost = 0;
  for (int64_t j = 0; j < bits; ++j) {
    words[j] = read<uint32_t>(lane + 64 * j);
    topmost |= words[j] >> 30 << 2 * j;
  }
  for (int64_t k = 0; k < 32; ++k) {
    QuantPlace place = quantPlace(bits, k);
    uint32_t word = place.word < 0 ? topmost : words[place.word];
    codes[k] = uint8_t(word >> place.shift & ((1 << bits) - 1));
  }
}

/// Calls `call` with the bits as a constant.
template <typename Call>
void withBits(int64_t bits, Call call) {
  switch (bits) {
  case 2:
    return call(std::integral_constant<int64_t, 2>());
  case 3:
    return call(std::integral_constant<int64_t, 3>());
  case 4:
    return call(std::integral_constant<int64_t, 4>());
  case 5:
    return call(std::integral_constant<int64_t, 5>());
  case 6:
    return call(std::integral_constant<int64_t, 6>());
  default:
    return call(std::integral_constant<int64_t, 8>());
  }
}

/// Where the parts of one block of one panel lie.
struct PanelPlace {
  std::byte *header, *record;
  /// From the record of one group to that of the next.
  int64_t stride;
};

/// Calls visit(bytes of the packed panel, bytes of the block's parts, how many) for the
/// scales of feature f, in whichever direction the caller copies.
template <typename Visit>
void forScales(const StorageInfo &info, PanelPlace place, int64_t f, BlockParts &parts,
               Visit visit) {
  auto put = [&](std::byte *packed, auto &part) {
    visit(packed, reinterpret_cast<std::byte *>(&part), sizeof part);
  };
  int64_t groups = info.block / info.group, perGroup = info.group / info.subGroup;
  auto subScales = [&](uint8_t *values, int64_t offset) {
    for (int64_t g = 0; g < groups; ++g)
      for (int64_t j = 0; j < perGroup; ++j)
        put(place.record + g * place.stride + offset + 16 * j + f, values[g * perGroup + j]);
  };
  switch (info.scale) {
  case ScaleForm::None:
    return;
  case ScaleForm::HalfMin:
    put(place.record + 32 + 2 * f, parts.m);
    [[fallthrough]];
  case ScaleForm::Half:
    return put(place.record + 2 * f, parts.d);
  case ScaleForm::E8M0:
    return put(place.record + f, parts.s[0]);
  case ScaleForm::Float:
    return put(place.header + 4 * f, parts.wide);
  case ScaleForm::SubMin:
    subScales(parts.t, 16 * perGroup);
    [[fallthrough]];
  case ScaleForm::SubPair:
    put(place.header + 32 + 2 * f, parts.m);
    [[fallthrough]];
  case ScaleForm::Sub:
    put(place.header + 2 * f, parts.d);
    return subScales(parts.s, 0);
  }
}

/// One block, or zero weights where `block` is null, into lane f of a panel.
void packBlock(Storage storage, const std::byte *block, PanelPlace place, int64_t f) {
  StorageInfo info = storageInfo(storage);
  if (info.isFloat()) {
    std::byte *element = place.record + f * info.blockBytes;
    block ? std::memcpy(element, block, size_t(info.blockBytes))
          : std::memset(element, 0, size_t(info.blockBytes));
    return;
  }
  BlockParts parts;
  // Quants of value zero where the scale is zero too: they give +0, not -0.
  if (block)
    readBlock(storage, block, parts);
  else
    std::fill(std::begin(parts.codes), std::end(parts.codes), uint8_t(info.zero));
  if (info.scale == ScaleForm::SubPair) // One byte for both.
    for (int i = 0; i < 16; ++i)
      parts.s[i] |= uint8_t(parts.t[i] << 4);
  forScales(info, place, f, parts, [](std::byte *packed, std::byte *part, size_t bytes) {
    std::memcpy(packed, part, bytes);
  });
  withBits(info.bits, [&](auto bits) {
    for (int64_t g = 0; g < info.block / info.group; ++g)
      packLane<bits>(parts.codes + g * info.group,
                     place.record + g * place.stride + info.quantOffset + 4 * f);
  });
}

void unpackBlock(Storage storage, PanelPlace place, int64_t f, std::byte *block) {
  StorageInfo info = storageInfo(storage);
  if (info.isFloat()) {
    std::memcpy(block, place.record + f * info.blockBytes, size_t(info.blockBytes));
    return;
  }
  BlockParts parts;
  forScales(info, place, f, parts, [](std::byte *packed, std::byte *part, size_t bytes) {
    std::memcpy(part, packed, bytes);
  });
  if (info.scale == ScaleForm::SubPair)
    for (int i = 0; i < 16; ++i) {
      parts.t[i] = parts.s[i] >> 4;
      parts.s[i] &= 15;
    }
  withBits(info.bits, [&](auto bits) {
    for (int64_t g = 0; g < info.block / info.group; ++g)
      unpackLane<bits>(place.record + g * place.stride + info.quantOffset + 4 * f,
                       parts.codes + g * info.group);
  });
  writeBlock(storage, parts, block);
}

/// Block `block` of panel `panel` of an item.
PanelPlace placeOf(const StorageInfo &info, std::byte *item, int64_t tile, int64_t block,
                   int64_t panel) {
  std::byte *start = item + block * info.panelBytes() * tile;
  return {start + panel * info.headerBytes,
          start + tile * info.headerBytes + panel * info.recordBytes, tile * info.recordBytes};
}

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

void check(const PackSpec &spec, std::span<const PackSource> sources, size_t outBytes) {
  StorageInfo info = storageInfo(spec.storage);
  if (spec.cols <= 0 || spec.cols % info.block)
    throw UsageError("a " + std::string(info.name) + " row of " + std::to_string(spec.cols) +
                     " elements is not a whole number of blocks of " +
                     std::to_string(info.block));
  if (spec.tile <= 0 || spec.interleave < 0)
    throw UsageError("a packed weight needs a positive tile and a run length of 0 or more, not " +
                     std::to_string(spec.tile) + " and " + std::to_string(spec.interleave));
  int64_t rowBytes = sourceRowBytes(spec.storage, spec.cols);
  for (const PackSource &source : sources) {
    if (source.rows < 0 || (spec.interleave && source.rows != sources.front().rows))
      throw UsageError("sources that alternate must have equally many rows, not " +
                       std::to_string(sources.front().rows) + " and " +
                       std::to_string(source.rows));
    if (!source.bytes.empty() && int64_t(source.bytes.size()) != source.rows * rowBytes)
      throw InputError("a source of " + std::to_string(source.rows) + " rows of " +
                       std::to_string(spec.cols) + " " + std::string(info.name) +
                       " elements has " + std::to_string(source.bytes.size()) +
                       " bytes where " + std::to_string(source.rows * rowBytes) +
                       " are needed");
  }
  int64_t need = packedBytes(spec.storage, packedRows(spec, sources), spec.cols, spec.tile);
  if (int64_t(outBytes) != need)
    throw UsageError("the packed weight takes " + std::to_string(need) + " bytes, not " +
                     std::to_string(outBytes));
}

/// The source bytes of each packed feature; null for a zero row.
std::vector<const std::byte *> rowAddresses(const PackSpec &spec,
                                            std::span<const PackSource> sources,
                                            int64_t padded) {
  std::vector<const std::byte *> rows;
  rows.reserve(size_t(padded));
  int64_t rowBytes = sourceRowBytes(spec.storage, spec.cols);
  auto push = [&](const PackSource &source, int64_t row) {
    bool present = !source.bytes.empty() && row < source.rows;
    rows.push_back(present ? source.bytes.data() + row * rowBytes : nullptr);
  };
  if (!spec.interleave) {
    for (const PackSource &source : sources)
      for (int64_t row = 0; row < source.rows; ++row)
        push(source, row);
  } else if (!sources.empty()) {
    for (int64_t run = 0; run < sources.front().rows; run += spec.interleave)
      for (const PackSource &source : sources)
        for (int64_t row = run; row < run + spec.interleave; ++row)
          push(source, row);
  }
  rows.resize(size_t(padded), nullptr);
  return rows;
}

/// Calls body(i) for 0 <= i < count on up to `threads` threads.
template <typename Body>
void parallelFor(int64_t count, unsigned threads, Body body) {
  if (!threads)
    threads = std::max(1u, std::thread::hardware_concurrency());
  threads = unsigned(std::min<int64_t>(threads, count));
  std::atomic<int64_t> next = 0;
  auto work = [&] {
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;)
      body(i);
  };
  std::vector<std::jthread> team;
  for (unsigned t = 1; t < threads; ++t)
    team.emplace_back(work);
  work();
}

} // namespace

int64_t sourceRowBytes(Storage storage, int64_t cols) {
  StorageInfo info = storageInfo(storage);
  return cols / info.block * info.blockBytes;
}

int64_t packedRows(const PackSpec &spec, std::span<const PackSource> sources) {
  int64_t rows = 0;
  for (const PackSource &source : sources)
    rows += spec.interleave ? roundUp(source.rows, spec.interleave) : source.rows;
  return rows;
}

void packPanels(const PackSpec &spec, std::span<const PackSource> sources,
                std::span<std::byte> out, unsigned threads) {
  check(spec, sources, out.size());
  StorageInfo info = storageInfo(spec.storage);
  int64_t items = panelItems(packedRows(spec, sources), spec.tile);
  int64_t features = panelFeatures * spec.tile;
  int64_t blocks = spec.cols / info.block;
  int64_t size = itemBytes(spec.storage, spec.cols, spec.tile);
  std::vector<const std::byte *> rows = rowAddresses(spec, sources, items * features);
  parallelFor(items, threads, [&](int64_t item) {
    std::byte *begin = out.data() + item * size;
    for (int64_t feature = 0; feature < features; ++feature) {
      const std::byte *source = rows[size_t(item * features + feature)];
      for (int64_t b = 0; b < blocks; ++b)
        packBlock(spec.storage, source ? source + b * info.blockBytes : nullptr,
                  placeOf(info, begin, spec.tile, b, feature / panelFeatures),
                  feature % panelFeatures);
    }
  });
  std::fill(out.begin() + items * size, out.end(), std::byte(0));
}

std::vector<std::byte> unpackRow(const PackSpec &spec, std::span<const std::byte> packed,
                                 int64_t row) {
  StorageInfo info = storageInfo(spec.storage);
  int64_t features = panelFeatures * spec.tile;
  int64_t size = itemBytes(spec.storage, spec.cols, spec.tile);
  int64_t item = row / features, feature = row % features;
  if (row < 0 || (item + 1) * size > int64_t(packed.size()))
    throw UsageError("packed row " + std::to_string(row) + " is past the end of " +
                     std::to_string(packed.size()) + " bytes");
  // Only read through; places serve both directions.
  auto *begin = const_cast<std::byte *>(packed.data()) + item * size;
  std::vector<std::byte> result(size_t(sourceRowBytes(spec.storage, spec.cols)));
  for (int64_t b = 0; b < spec.cols / info.block; ++b)
    unpackBlock(spec.storage, placeOf(info, begin, spec.tile, b, feature / panelFeatures),
                feature % panelFeatures, result.data() + b * info.blockBytes);
  return result;
}

/// The f32 of the same value.
static float widenHalf(uint16_t half) {
  uint32_t sign = uint32_t(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0) // Zero or subnormal: mantissa * 2^-24, exact.
    return std::bit_cast<float>(std::bit_cast<uint32_t>(float(mantissa) * 0x1p-24f) | sign);
  exponent = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | exponent << 23 | mantissa << 13);
}

void rowsToF32(Storage storage, std::span<const std::byte> bytes, std::span<float> out) {
  StorageInfo info = storageInfo(storage);
  if (!info.isFloat())
    throw UsageError("rows of " + std::string(info.name) + " blocks have no plain layout");
  if (bytes.size() != out.size() * size_t(info.blockBytes))
    throw InputError(std::to_string(out.size()) + " elements of " + std::string(info.name) +
                     " do not have " + std::to_string(bytes.size()) + " bytes");
  for (size_t i = 0; i < out.size(); ++i) {
    const std::byte *p = bytes.data() + i * size_t(info.blockBytes);
    if (storage == Storage::F32)
      out[i] = read<float>(p);
    else if (storage == Storage::F16)
      out[i] = widenHalf(read<uint16_t>(p));
    else
      out[i] = std::bit_cast<float>(uint32_t(read<uint16_t>(p)) << 16);
  }
}

} // namespace llmc::kernels
