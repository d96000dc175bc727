//===- ReferenceData.h - ids and texts of published libraries ---*- C++ -*-===//
//
// The files of utils/make_tokenizer_references.py, which says what they have in them.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_UNITTESTS_RUNTIME_TOKENIZER_REFERENCEDATA_H
#define LLMC_UNITTESTS_RUNTIME_TOKENIZER_REFERENCEDATA_H

#include "llmc/Runtime/Tokenizer.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace llmc::rt::test {

inline std::string readTestFile(const std::filesystem::path &path) {
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

struct TestString {
  bool utf8;
  std::string text;
};

inline std::vector<TestString> readTestStrings(const std::filesystem::path &folder) {
  std::string bytes = readTestFile(folder / "strings.bin");
  std::vector<TestString> strings;
  for (size_t at = 0; at + 3 <= bytes.size();) {
    size_t size = uint8_t(bytes[at + 1]) | size_t(uint8_t(bytes[at + 2])) << 8;
    strings.push_back({bytes[at] != 0, bytes.substr(at + 3, size)});
    at += 3 + size;
  }
  return strings;
}

/// CRC-32 of zlib.
inline uint32_t crc32(std::string_view text) {
  uint32_t crc = ~uint32_t(0);
  for (char c : text) {
    crc ^= uint8_t(c);
    for (int i = 0; i < 8; ++i)
      crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

inline uint32_t crc32(const std::vector<int32_t> &ids) {
  return crc32({reinterpret_cast<const char *>(ids.data()), ids.size() * sizeof(int32_t)});
}

struct Expected {
  bool listed = false;
  std::vector<int32_t> ids; ///< where they are listed
  uint32_t idsCrc = 0;
  uint32_t textCrc = 0; ///< of the decoded text
};

inline std::vector<Expected> readExpected(const std::filesystem::path &folder,
                                          const std::string &name, const std::string &base) {
  std::vector<Expected> others, result;
  if (!base.empty())
    others = readExpected(folder, base, "");
  std::string bytes = readTestFile(folder / (name + ".ids"));
  size_t at = 0;
  auto byte = [&] { return uint8_t(bytes.at(at++)); };
  auto varint = [&] {
    uint32_t value = 0;
    for (int shift = 0;; shift += 7) {
      uint8_t next = byte();
      value |= uint32_t(next & 0x7F) << shift;
      if (next < 0x80)
        return value;
    }
  };
  auto fixed = [&] {
    uint32_t value = 0;
    for (int shift = 0; shift < 32; shift += 8)
      value |= uint32_t(byte()) << shift;
    return value;
  };
  while (at < bytes.size()) {
    uint32_t form = varint();
    if (form == 0) {
      result.push_back(others.at(result.size()));
      continue;
    }
    Expected &expected = result.emplace_back();
    expected.listed = form > 1;
    for (; form > 2; --form)
      expected.ids.push_back(static_cast<int32_t>(varint()));
    expected.idsCrc = expected.listed ? crc32(expected.ids) : fixed();
    expected.textCrc = fixed();
  }
  return result;
}

/// Well-formed and complete.
inline bool isUtf8(std::string_view text) {
  try {
    (void)nlohmann::json(std::string(text)).dump();
    return true;
  } catch (const nlohmann::json::exception &) {
    return false;
  }
}

/// One case of cases.json against a tokenizer.
struct Comparison {
  Comparison(const std::filesystem::path &folder, const nlohmann::json &test)
      : strings(readTestStrings(folder)), bytes(test.at("bytes")),
        expected(readExpected(folder, test.at("name"), test.at("base"))) {}

  void run(const Tokenizer &tokenizer, EncodeOptions options,
           const std::function<bool(std::string_view)> &wanted = [](std::string_view) {
             return true;
           }) {
    size_t index = 0, wrong = 0;
    for (const TestString &string : strings) {
      if (!string.utf8 && !bytes)
        continue;
      const Expected &want = expected.at(index++);
      if (!wanted(string.text))
        continue;
      ++compared;
      std::vector<int32_t> ids = tokenizer.encode(string.text, options);
      bool sameIds = crc32(ids) == want.idsCrc;
      // Ids that are not listed are known where they are the same.
      std::string text = tokenizer.decode(want.listed ? want.ids : ids, /*skipSpecial=*/true);
      bool sameText = crc32(text) == want.textCrc;
      if (sameIds && sameText)
        continue;
      // Some are enough to see what is wrong.
      if (++wrong > 10)
        continue;
      auto show = [&](const std::vector<int32_t> &list) {
        std::string out;
        for (int32_t id : list)
          out += std::to_string(id) + testing::PrintToString(tokenizer.tokenText(id)) + " ";
        return out;
      };
      ADD_FAILURE() << testing::PrintToString(string.text) << (sameIds ? "" : "\n  other ids: ")
                    << (sameIds ? "" : show(ids))
                    << (want.listed ? "\n  wanted: " + show(want.ids) : "")
                    << (sameText ? "" : "\n  decoded as: " + testing::PrintToString(text));
    }
    EXPECT_EQ(index, expected.size());
    EXPECT_EQ(wrong, 0u) << "of " << compared << " strings";
  }

  std::vector<TestString> strings;
  bool bytes;
  std::vector<Expected> expected;
  size_t compared = 0;
};

} // namespace llmc::rt::test

#endif // LLMC_UNITTESTS_RUNTIME_TOKENIZER_REFERENCEDATA_H
