//===- BlockValues.h - values of stored blocks, one format at a time ------===//
#ifndef LLMC_LIB_FRONTEND_SAFETENSORS_BLOCKVALUES_H
#define LLMC_LIB_FRONTEND_SAFETENSORS_BLOCKVALUES_H

#include "llmc/Frontend/StorageFormat.h"

#include <bit>
#include <cstring>

namespace llmc::frontend {

/// Reads `blocks` blocks from `in` into `out`.
using BlockReader = void (*)(const std::byte *in, uint64_t blocks, float *out);

/// Null for a name that is not of the group.
BlockReader plainReader(std::string_view name);
BlockReader smallBlockReader(std::string_view name);
BlockReader superBlockReader(std::string_view name);

// Files are little-endian, and so is every machine llmc runs on.
static_assert(std::endian::native == std::endian::little);

template <typename T>
T loadAs(const std::byte *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

inline int byteAt(const std::byte *at, unsigned index) { return std::to_integer<int>(at[index]); }

inline float halfAt(const std::byte *at) { return halfToFloat(loadAs<uint16_t>(at)); }

/// Applies a reader of one block, of `size` elements and `bytes` bytes, to each.
template <auto readBlock, unsigned size, unsigned bytes>
void eachBlock(const std::byte *in, uint64_t blocks, float *out) {
  for (uint64_t i = 0; i < blocks; ++i)
    readBlock(in + i * bytes, out + i * size);
}

struct NamedReader {
  std::string_view name;
  BlockReader reader;
};

/// The reader of that name, or null.
template <size_t count>
BlockReader findReader(const NamedReader (&rows)[count], std::string_view name) {
  for (const NamedReader &row : rows)
    if (row.name == name)
      return row.reader;
  return nullptr;
}

/// The 16 values that IQ4_NL and IQ4_XS choose from.
inline constexpr int8_t nonLinear4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                          1,    13,   25,  38,  53,  69,  89,  113};

} // namespace llmc::frontend

#endif // LLMC_LIB_FRONTEND_SAFETENSORS_BLOCKVALUES_H
