//===- TestFiles.h - fixtures that the tests write themselves ---*- C++ -*-===//
#ifndef LLMC_UNITTESTS_FRONTEND_TESTFILES_H
#define LLMC_UNITTESTS_FRONTEND_TESTFILES_H

#include "llmc/Support/Error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace llmc::test {

/// A folder that is gone with the test.
class TempFolder {
public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "llmc-test-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("mkdtemp failed");
    root = pattern;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(root, error);
  }
  TempFolder(const TempFolder &) = delete;

  std::string path(const std::string &name = {}) const { return (root / name).string(); }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(root / name, std::ios::binary) << bytes;
    return path(name);
  }

private:
  std::filesystem::path root;
};

/// Little-endian bytes of a value.
template <typename T>
std::string bytesOf(T value) {
  std::string out(sizeof value, '\0');
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

/// A safetensors file: header text, then data.
inline std::string safetensors(const std::string &header, const std::string &data) {
  return bytesOf<uint64_t>(header.size()) + header + data;
}

/// f32 tensors in the order given, all elements zero.
struct ZeroTensor {
  std::string name;
  std::vector<int64_t> shape;
};
inline std::string zeroSafetensors(const std::vector<ZeroTensor> &tensors) {
  std::string header = "{";
  uint64_t offset = 0;
  for (const ZeroTensor &tensor : tensors) {
    uint64_t bytes = 4;
    std::string shape;
    for (int64_t dim : tensor.shape) {
      bytes *= uint64_t(dim);
      shape += (shape.empty() ? "" : ",") + std::to_string(dim);
    }
    if (offset)
      header += ",";
    header += '"';
    header += tensor.name;
    header += "\":{\"dtype\":\"F32\",\"shape\":[" + shape + "],\"data_offsets\":[" +
              std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
    offset += bytes;
  }
  return safetensors(header + "}", std::string(offset, '\0'));
}

/// The message of the InputError that `run` throws; a failure when it throws none.
inline std::string inputError(const std::function<void()> &run) {
  try {
    run();
  } catch (const InputError &error) {
    return error.what();
  }
  ADD_FAILURE() << "no InputError was thrown";
  return {};
}

#define EXPECT_INPUT_ERROR(statement, ...)                                                         \
  EXPECT_THAT(::llmc::test::inputError([&] { statement; }), ::testing::AllOf(__VA_ARGS__))

/// The source tree, for the descriptions that ship.
inline std::string sourceFolder() {
  const char *folder = std::getenv("LLMC_TEST_SOURCE_DIR");
  return folder ? folder : "";
}
/// Reference files outside of the tree, empty when they are not there.
inline std::string sharedFolder() {
  const char *folder = std::getenv("LLMC_TEST_SHARED");
  return folder ? folder : "";
}

} // namespace llmc::test

#endif // LLMC_UNITTESTS_FRONTEND_TESTFILES_H
