//===- Json.h - JSON with comments and source positions ---------*- C++ -*-===//
//
// Configs, checkpoint headers and model descriptions are all read by this one
// reader. It keeps the line and column of every value, because a message about
// a description must point at its text, and it refuses duplicate keys, which
// general readers silently merge.
//
//===----------------------------------------------------------------------===//
#ifndef LLMC_FRONTEND_JSON_H
#define LLMC_FRONTEND_JSON_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace llmc::frontend {

struct JsonMember;

/// One JSON value. Objects keep the order of the file.
struct Json {
  enum class Kind : uint8_t { Null, Bool, Int, Double, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  /// Position of the first character, from 1; 0 where the value was made by code.
  uint32_t line = 0, column = 0;
  /// Which of several merged files it stands in; the merger's numbering.
  uint32_t fileIndex = 0;
  int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<JsonMember> members;

  bool isNull() const { return kind == Kind::Null; }
  bool isBool() const { return kind == Kind::Bool; }
  bool isInt() const { return kind == Kind::Int; }
  bool isNumber() const { return kind == Kind::Int || kind == Kind::Double; }
  bool isString() const { return kind == Kind::String; }
  bool isArray() const { return kind == Kind::Array; }
  bool isObject() const { return kind == Kind::Object; }
  double asDouble() const { return isInt() ? double(integer) : number; }

  /// The member of that name, or null when this is no object or has none.
  const Json *find(std::string_view key) const;
  Json *find(std::string_view key);
  /// Appends or replaces a member.
  void set(std::string key, Json value);

  /// Compact JSON text; long texts are shortened in the middle when `limit` is not 0.
  std::string dump(size_t limit = 0) const;
  /// "object", "integer", ... for messages.
  const char *kindName() const;

  bool operator==(const Json &other) const;

  static Json makeBool(bool value);
  static Json makeInt(int64_t value);
  static Json makeDouble(double value);
  static Json makeString(std::string value);
  static Json makeArray();
  static Json makeObject();
};

/// A name and its value; destructures like a pair.
struct JsonMember {
  std::string first;
  Json second;
};

/// Quotes a text as JSON.
std::string quoteJson(std::string_view text);

/// Parses `text`; `file` only names it in messages. With `comments`, `//` and
/// `/* */` comments and trailing commas are accepted. Throws InputError
/// "file:line:column: ...", also for more than 128 levels or 4 million values.
Json parseJson(std::string_view text, const std::string &file, bool comments = false);
/// Reads and parses a file of at most 1 GiB.
Json readJsonFile(const std::string &path, bool comments = false);

} // namespace llmc::frontend

#endif // LLMC_FRONTEND_JSON_H
