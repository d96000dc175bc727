//===- ManifestJson.h - fields of a JSON object, all accounted --*- C++ -*-===//
//
// Internal to the manifest reader. An Object hands out each field once and
// refuses what nobody asked for.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_RUNTIME_CORE_MANIFESTJSON_H
#define LLMC_RUNTIME_CORE_MANIFESTJSON_H

#include "llmc/Support/Error.h"
#include "llmc/Support/Printable.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::rt::detail {

/// Sizes and counts of a manifest stay below it, so that sums of a few do not
/// overflow before they are looked at.
inline constexpr int64_t largestInteger = int64_t(1) << 53;

[[noreturn]] inline void failAt(std::string_view file, const std::string &path,
                                const std::string &text) {
  throw InputError(printable(std::string(file) + ": " + path + ": " + text, /*line=*/true));
}

/// Parses with what general readers let pass refused: duplicate keys, deep
/// nesting, text behind the value.
nlohmann::json parseStrictJson(std::string_view text, std::string_view file);

class Object {
public:
  Object(const nlohmann::json &value, std::string_view file, std::string path);

  const std::string &path() const { return where; }
  std::string at(std::string_view key) const;
  [[noreturn]] void fail(std::string_view key, const std::string &text) const;

  bool has(std::string_view key) const;
  const nlohmann::json &get(std::string_view key);
  std::string string(std::string_view key);
  std::string string(std::string_view key, std::string fallback);
  int64_t integer(std::string_view key, int64_t least = 0);
  int64_t integer(std::string_view key, int64_t least, int64_t fallback);
  bool boolean(std::string_view key, bool fallback);
  /// Finite numbers rounded to f32; none where the field is absent.
  std::vector<float> floats(std::string_view key);
  Object object(std::string_view key);
  /// The place of the text in \p names.
  size_t oneOf(std::string_view key, std::initializer_list<const char *> names);
  /// Calls \p visit with every item and its path.
  void list(std::string_view key,
            const std::function<void(const nlohmann::json &, const std::string &)> &visit);
  void objects(std::string_view key, const std::function<void(Object &)> &visit);
  /// Refuses fields that were not asked for.
  void finish() const;

  std::string_view fileName() const { return file; }

private:
  const nlohmann::json *value;
  std::string_view file;
  std::string where;
  std::vector<std::string> used;
};

/// 64 lower-case hexadecimal digits.
bool isSha256(std::string_view text);

/// A whole number of at least \p least.
int64_t integerOf(const nlohmann::json &value, std::string_view file, const std::string &path,
                  int64_t least);

} // namespace llmc::rt::detail

#endif // LLMC_RUNTIME_CORE_MANIFESTJSON_H
