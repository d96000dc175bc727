//===- WholeNumbers.cpp - tables of integers as floats --------------------===//
#include "llmc/Frontend/WholeNumbers.h"

#include "llmc/Support/Error.h"

#include <cstdint>
#include <cstring>

namespace llmc::frontend {

bool isWholeNumbers(const StorageFormat &format) {
  return format.name == "i32" || format.name == "i64";
}

template <typename Integer>
static std::vector<float> readNumbers(std::span<const std::byte> bytes, const std::string &tensor) {
  std::vector<float> values(bytes.size() / sizeof(Integer));
  for (size_t i = 0; i < values.size(); ++i) {
    Integer number;
    std::memcpy(&number, bytes.data() + i * sizeof(Integer), sizeof(Integer));
    constexpr Integer most = Integer(1) << 24;
    if (number < -most || number > most)
      throw InputError("element " + std::to_string(i) + " of the checkpoint's tensor '" + tensor +
                       "' is " + std::to_string(number) +
                       ", whole numbers can be read up to 16777216");
    values[i] = float(number);
  }
  return values;
}

std::vector<float> wholeNumbers(const StorageFormat &format, std::span<const std::byte> bytes,
                                const std::string &tensor) {
  if (!isWholeNumbers(format))
    throw InternalError("tensor '" + tensor + "' of " + std::string(format.name) +
                        " was read as whole numbers");
  return format.name == "i64" ? readNumbers<int64_t>(bytes, tensor)
                              : readNumbers<int32_t>(bytes, tensor);
}

} // namespace llmc::frontend
