//===- Packing.cpp - from checkpoint rows to panels -----------------------===//
#include "llmc/Kernels/CPU/Packing.h"
#include "llmc/Support/Error.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <thread>

namespace llmc::kernels {
namespace {

constexpr uint32_t lowNibbles = 0x0f0f0f0f;
constexpr uint32_t highNibbles = 0xf0f0f0f0;
/// Quants of value zero where the scale is zero too: they give +0, not -0.
constexpr uint32_t q4Zero = 0x88888888;
constexpr uint32_t q8Zero = 0x80808080;

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

bool isQ4(Storage storage) { return storage == Storage::Q4_0 || storage == Storage::Q4_1; }

/// A block holds k = 0..15 in the low nibbles and 16..31 in the high ones; a
/// panel's word j holds 8j..8j+3 low and 8j+4..8j+7 high.
void packNibbles(const std::byte *quants, std::byte *lane) {
  uint32_t a = read<uint32_t>(quants), b = read<uint32_t>(quants + 4);
  uint32_t c = read<uint32_t>(quants + 8), d = read<uint32_t>(quants + 12);
  write(lane, (a & lowNibbles) | (b & lowNibbles) << 4);
  write(lane + 64, (c & lowNibbles) | (d & lowNibbles) << 4);
  write(lane + 128, (a >> 4 & lowNibbles) | (b & highNibbles));
  write(lane + 192, (c >> 4 & lowNibbles) | (d & highNibbles));
}

void unpackNibbles(const std::byte *lane, std::byte *quants) {
  uint32_t w0 = read<uint32_t>(lane), w1 = read<uint32_t>(lane + 64);
  uint32_t w2 = read<uint32_t>(lane + 128), w3 = read<uint32_t>(lane + 192);
  write(quants, (w0 & lowNibbles) | (w2 & lowNibbles) << 4);
  write(quants + 4, (w0 >> 4 & lowNibbles) | (w2 & highNibbles));
  write(quants + 8, (w1 & lowNibbles) | (w3 & lowNibbles) << 4);
  write(quants + 12, (w1 >> 4 & lowNibbles) | (w3 & highNibbles));
}

/// One block into lane f of a record.
void packBlock(Storage storage, const std::byte *block, std::byte *record, int64_t f) {
  StorageInfo info = storageInfo(storage);
  if (info.isFloat()) {
    std::memcpy(record + f * info.blockBytes, block, size_t(info.blockBytes));
    return;
  }
  std::memcpy(record + 2 * f, block, 2);
  if (storage == Storage::Q4_1)
    std::memcpy(record + 32 + 2 * f, block + 2, 2);
  std::byte *lane = record + info.quantOffset + 4 * f;
  const std::byte *quants = block + (storage == Storage::Q4_1 ? 4 : 2);
  if (isQ4(storage))
    return packNibbles(quants, lane);
  for (int64_t j = 0; j < 8; ++j)
    write(lane + 64 * j, read<uint32_t>(quants + 4 * j) ^ q8Zero);
}

void packZero(Storage storage, std::byte *record, int64_t f) {
  StorageInfo info = storageInfo(storage);
  if (info.isFloat()) {
    std::memset(record + f * info.blockBytes, 0, size_t(info.blockBytes));
    return;
  }
  std::memset(record + 2 * f, 0, 2);
  if (storage == Storage::Q4_1)
    std::memset(record + 32 + 2 * f, 0, 2);
  uint32_t zero = storage == Storage::Q8_0 ? q8Zero : storage == Storage::Q4_0 ? q4Zero : 0;
  for (int64_t at = info.quantOffset; at < info.recordBytes; at += 64)
    write(record + at + 4 * f, zero);
}

void unpackBlock(Storage storage, const std::byte *record, int64_t f, std::byte *block) {
  StorageInfo info = storageInfo(storage);
  if (info.isFloat()) {
    std::memcpy(block, record + f * info.blockBytes, size_t(info.blockBytes));
    return;
  }
  std::memcpy(block, record + 2 * f, 2);
  if (storage == Storage::Q4_1)
    std::memcpy(block + 2, record + 32 + 2 * f, 2);
  const std::byte *lane = record + info.quantOffset + 4 * f;
  std::byte *quants = block + (storage == Storage::Q4_1 ? 4 : 2);
  if (isQ4(storage))
    return unpackNibbles(lane, quants);
  for (int64_t j = 0; j < 8; ++j)
    write(quants + 4 * j, read<uint32_t>(lane + 64 * j) ^ q8Zero);
}

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

void check(const PackSpec &spec, std::span<const PackSource> sources, size_t outBytes) {
  StorageInfo info = storageInfo(spec.storage);
  if (spec.cols <= 0 || spec.cols % info.group)
    throw UsageError("a " + std::string(info.name) + " row of " + std::to_string(spec.cols) +
                     " elements is not a whole number of blocks of " +
                     std::to_string(info.group));
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
  return cols / info.group * info.blockBytes;
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
  int64_t groups = spec.cols / info.group;
  int64_t stride = info.recordBytes * spec.tile;
  std::vector<const std::byte *> rows = rowAddresses(spec, sources, items * features);
  parallelFor(items, threads, [&](int64_t item) {
    std::byte *begin = out.data() + item * groups * stride;
    for (int64_t feature = 0; feature < features; ++feature) {
      const std::byte *source = rows[size_t(item * features + feature)];
      std::byte *record = begin + feature / panelFeatures * info.recordBytes;
      for (int64_t g = 0; g < groups; ++g, record += stride) {
        if (source)
          packBlock(spec.storage, source + g * info.blockBytes, record, feature % panelFeatures);
        else
          packZero(spec.storage, record, feature % panelFeatures);
      }
    }
  });
  size_t filled = size_t(items * groups * stride);
  std::fill(out.begin() + ptrdiff_t(filled), out.end(), std::byte(0));
}

std::vector<std::byte> unpackRow(const PackSpec &spec, std::span<const std::byte> packed,
                                 int64_t row) {
  StorageInfo info = storageInfo(spec.storage);
  int64_t features = panelFeatures * spec.tile;
  int64_t groups = spec.cols / info.group;
  int64_t stride = info.recordBytes * spec.tile;
  int64_t item = row / features, feature = row % features;
  if (row < 0 || (item + 1) * groups * stride > int64_t(packed.size()))
    throw UsageError("packed row " + std::to_string(row) + " is past the end of " +
                     std::to_string(packed.size()) + " bytes");
  const std::byte *record = packed.data() + item * groups * stride +
                            feature / panelFeatures * info.recordBytes;
  std::vector<std::byte> result(size_t(sourceRowBytes(spec.storage, spec.cols)));
  for (int64_t g = 0; g < groups; ++g)
    unpackBlock(spec.storage, record + g * stride, feature % panelFeatures,
                result.data() + g * info.blockBytes);
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
