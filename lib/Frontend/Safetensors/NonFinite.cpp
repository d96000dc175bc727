//===- NonFinite.cpp - NaN and infinities in stored weights ---------------===//
#include "llmc/Frontend/NonFinite.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llmc::frontend {

/// Whether one of the 16-bit words has all bits of its exponent set. No branches, so that the
/// loop takes many words at a time.
static bool anyWithExponent(const std::byte *bytes, size_t count, uint16_t exponent) {
  unsigned found = 0;
  for (size_t i = 0; i < count; ++i) {
    uint16_t word;
    std::memcpy(&word, bytes + 2 * i, 2);
    found |= (word & exponent) == exponent;
  }
  return found != 0;
}

std::optional<NonFinite> findNonFinite(const StorageFormat &format,
                                       std::span<const std::byte> bytes) {
  constexpr size_t elements = 4096; // a multiple of every block
  float values[elements];
  size_t blocks = bytes.size() / format.blockBytes, step = elements / format.blockSize;
  uint16_t exponent = format.name == "f16" ? 0x7c00 : format.name == "bf16" ? 0x7f80 : 0;
  for (size_t block = 0; block < blocks; block += step) {
    size_t count = std::min(step, blocks - block);
    std::span<const std::byte> part =
        bytes.subspan(block * format.blockBytes, count * format.blockBytes);
    if (exponent && !anyWithExponent(part.data(), count, exponent))
      continue;
    std::span<float> out(values, count * format.blockSize);
    dequantize(format, part, out);
    for (size_t i = 0; i < out.size(); ++i)
      if (!std::isfinite(out[i]))
        return NonFinite{uint64_t(block) * format.blockSize + i, out[i]};
  }
  return std::nullopt;
}

std::string describeNonFinite(const CheckpointTensor &tensor, const NonFinite &found) {
  std::string place;
  uint64_t rest = found.element;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    uint64_t extent = uint64_t(std::max<int64_t>(tensor.shape[d], 1));
    place = std::to_string(rest % extent) + (place.empty() ? "" : ", ") + place;
    rest /= extent;
  }
  const char *what = std::isnan(found.value) ? "NaN" : found.value > 0 ? "infinite" : "-infinite";
  return "tensor '" + tensor.name + "': element [" + place + "] is " + what;
}

} // namespace llmc::frontend
