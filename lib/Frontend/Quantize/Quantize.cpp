//===- Quantize.cpp - float weights as blocks ------------------------------===//
#include "llmc/Frontend/Quantize.h"

#include "BlockWriters.h"
#include "llmc/Support/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace llmc::frontend {

static BlockWriter writerOf(const StorageFormat &format) {
  BlockWriter writer = smallBlockWriter(format.name);
  return writer ? writer : superBlockWriter(format.name);
}

bool canQuantize(const StorageFormat &format) { return writerOf(format) != nullptr; }

std::string quantizableNames() {
  std::string names;
  for (const StorageFormat &format : storageFormats())
    if (canQuantize(format))
      (names += names.empty() ? "" : ", ") += format.name;
  return names;
}

/// The largest f16. No scale and no minimum of values up to it is larger.
static constexpr float largestHalf = 65504;

void quantize(const StorageFormat &format, std::span<const float> values,
              std::span<std::byte> bytes, const std::string &where) {
  BlockWriter write = writerOf(format);
  if (!write)
    throw InputError(where + ": llmc cannot quantize to " + std::string(format.name) +
                     "; possible are " + quantizableNames());
  auto size = storageBytes(format, values.size());
  if (!size || *size != bytes.size())
    throw InternalError("quantize: " + std::to_string(values.size()) + " values for " +
                        std::to_string(bytes.size()) + " bytes of " + std::string(format.name));
  std::fill(bytes.begin(), bytes.end(), std::byte(0));
  for (size_t at = 0, block = 0; at < values.size();
       at += format.blockSize, block += format.blockBytes) {
    const float *x = values.data() + at;
    for (unsigned j = 0; j < format.blockSize; ++j)
      if (!(std::fabs(x[j]) <= largestHalf))
        throw InputError(where + ": element " + std::to_string(at + j) + " is " +
                         std::to_string(x[j]) + ", " + std::string(format.name) +
                         " holds values up to 65504; leave this weight as it is");
    write(x, bytes.data() + block);
  }
}

std::vector<std::byte> encodeValues(const StorageFormat &format, std::span<const float> values,
                                    const std::string &where) {
  auto size = storageBytes(format, values.size());
  if (!size)
    throw InputError(where + ": " + std::to_string(values.size()) +
                     " elements are not whole blocks of " + std::string(format.name));
  std::vector<std::byte> bytes(*size);
  auto each = [&](auto convert) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto stored = convert(values[i]);
      std::memcpy(bytes.data() + i * sizeof stored, &stored, sizeof stored);
    }
  };
  if (format.name == "f32")
    each([](float value) { return value; });
  else if (format.name == "bf16")
    each(floatToBfloat16);
  else if (format.name == "f16")
    each(floatToHalf);
  else
    quantize(format, values, bytes, where);
  return bytes;
}

void StorageError::add(std::span<const float> values, std::span<const float> stored) {
  for (size_t i = 0; i < values.size(); ++i)
    add(double(values[i]), double(stored[i]));
}

void StorageError::add(double value, double stored) {
  double error = stored - value;
  ++elements;
  squaredErrors += error * error;
  squaredValues += value * value;
  largestError = std::max(largestError, std::fabs(error));
  largestValue = std::max(largestValue, std::fabs(value));
}

void StorageError::add(const StorageError &other) {
  elements += other.elements;
  squaredErrors += other.squaredErrors;
  squaredValues += other.squaredValues;
  largestError = std::max(largestError, other.largestError);
  largestValue = std::max(largestValue, other.largestValue);
}

double StorageError::rms() const { return elements ? std::sqrt(squaredErrors / elements) : 0; }
double StorageError::relativeRms() const {
  return squaredValues > 0 ? std::sqrt(squaredErrors / squaredValues) : 0;
}
double StorageError::relativeMax() const {
  return largestValue > 0 ? largestError / largestValue : 0;
}

} // namespace llmc::frontend
