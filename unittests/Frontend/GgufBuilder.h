//===- GgufBuilder.h - GGUF files that the tests write ----------*- C++ -*-===//
#ifndef LLMC_UNITTESTS_FRONTEND_GGUFBUILDER_H
#define LLMC_UNITTESTS_FRONTEND_GGUFBUILDER_H

#include "TestFiles.h"

#include <optional>

namespace llmc::test {

inline std::string text(const std::string &value) {
  return bytesOf<uint64_t>(value.size()) + value;
}

/// Builds a file piece by piece.
struct GgufBuilder {
  uint32_t version = 3;
  uint64_t alignment = 32;
  std::vector<std::string> pairs, infos;
  std::string data;
  std::optional<uint64_t> tensorCount, pairCount;

  GgufBuilder() { add("general.architecture", 8, text("llama")); }
  void add(const std::string &key, uint32_t type, const std::string &value) {
    pairs.push_back(text(key) + bytesOf(type) + value);
  }
  void addTensor(const std::string &name, std::vector<uint64_t> dims, uint32_t type,
                 uint64_t offset) {
    std::string info = text(name) + bytesOf<uint32_t>(uint32_t(dims.size()));
    for (uint64_t dim : dims)
      info += bytesOf(dim);
    infos.push_back(info + bytesOf(type) + bytesOf(offset));
  }
  std::string bytes() const {
    std::string out = "GGUF" + bytesOf(version) +
                      bytesOf<uint64_t>(tensorCount.value_or(infos.size())) +
                      bytesOf<uint64_t>(pairCount.value_or(pairs.size()));
    for (const std::string &pair : pairs)
      out += pair;
    for (const std::string &info : infos)
      out += info;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data;
  }
};

} // namespace llmc::test

#endif // LLMC_UNITTESTS_FRONTEND_GGUFBUILDER_H
