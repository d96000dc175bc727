//===- ManifestJson.cpp - fields of a JSON object, all accounted ----------===//

#include "ManifestJson.h"

#include "llmc/Support/JsonError.h"

#include <cmath>

#include <algorithm>
#include <set>

using nlohmann::json;

namespace llmc::rt::detail {

static constexpr int deepest = 32;

json parseStrictJson(std::string_view text, std::string_view file) {
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int depth, json::parse_event_t event, json &parsed) {
    if (depth > deepest)
      throw InputError(std::string(file) + ": nested deeper than " + std::to_string(deepest) +
                       " levels");
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      auto key = parsed.get<std::string>();
      if (!keys.back().insert(key).second)
        throw InputError(printable(std::string(file) + ": the key '" + key +
                                       "' stands twice in one object",
                                   /*line=*/true));
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception &error) {
    throw InputError(std::string(file) + ": is cut off or altered, it is no JSON (" + jsonErrorText(error) +
                     "); copy the artifact again, or compile it again");
  }
}

static const char *kindOf(const json &value) {
  if (value.is_number_float())
    return "a number with a fraction";
  if (value.is_number())
    return "a number";
  return value.is_null()      ? "null"
         : value.is_object()  ? "an object"
         : value.is_array()   ? "an array"
         : value.is_string()  ? "a string"
         : value.is_boolean() ? "a truth value"
                              : "something else";
}

int64_t integerOf(const json &value, std::string_view file, const std::string &path,
                  int64_t least) {
  if (!value.is_number_integer())
    failAt(file, path, std::string("is ") + kindOf(value) + " instead of a whole number");
  bool large = value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(largestInteger);
  if (large || value.get<int64_t>() > largestInteger)
    failAt(file, path, "is " + value.dump() + ", more than 2^53");
  if (value.get<int64_t>() < least)
    failAt(file, path, "is " + value.dump() + ", less than " + std::to_string(least));
  return value.get<int64_t>();
}

Object::Object(const json &value, std::string_view file, std::string path)
    : value(&value), file(file), where(std::move(path)) {
  if (!value.is_object())
    failAt(file, where.empty() ? "the whole" : where,
           std::string("is ") + kindOf(value) + " instead of an object");
}

std::string Object::at(std::string_view key) const {
  return where.empty() ? std::string(key) : where + "." + std::string(key);
}

void Object::fail(std::string_view key, const std::string &text) const {
  failAt(file, at(key), text);
}

bool Object::has(std::string_view key) const { return value->contains(key); }

const json &Object::get(std::string_view key) {
  auto found = value->find(key);
  if (found == value->end())
    fail(key, "is missing");
  used.emplace_back(key);
  return *found;
}

std::string Object::string(std::string_view key) {
  const json &text = get(key);
  if (!text.is_string())
    fail(key, std::string("is ") + kindOf(text) + " instead of a string");
  auto result = text.get<std::string>();
  if (result.find('\0') != std::string::npos)
    fail(key, "holds a zero byte");
  return result;
}

std::string Object::string(std::string_view key, std::string fallback) {
  return has(key) ? string(key) : fallback;
}

int64_t Object::integer(std::string_view key, int64_t least) {
  return integerOf(get(key), file, at(key), least);
}

int64_t Object::integer(std::string_view key, int64_t least, int64_t fallback) {
  return has(key) ? integer(key, least) : fallback;
}

bool Object::boolean(std::string_view key, bool fallback) {
  if (!has(key))
    return fallback;
  const json &truth = get(key);
  if (!truth.is_boolean())
    fail(key, std::string("is ") + kindOf(truth) + " instead of true or false");
  return truth.get<bool>();
}

std::vector<float> Object::floats(std::string_view key) {
  std::vector<float> numbers;
  if (!has(key))
    return numbers;
  list(key, [&](const json &number, const std::string &path) {
    if (!number.is_number() || !std::isfinite(float(number.get<double>())))
      failAt(file, path, std::string("is ") + number.dump() + " instead of a finite f32");
    numbers.push_back(float(number.get<double>()));
  });
  return numbers;
}

Object Object::object(std::string_view key) { return Object(get(key), file, at(key)); }

size_t Object::oneOf(std::string_view key, std::initializer_list<const char *> names) {
  std::string text = string(key);
  size_t index = 0;
  std::string all;
  for (const char *name : names) {
    if (text == name)
      return index;
    all += (index++ ? ", " : "") + std::string(name);
  }
  fail(key, "is '" + text + "', wanted one of " + all);
}

void Object::list(std::string_view key,
                  const std::function<void(const json &, const std::string &)> &visit) {
  const json &items = get(key);
  if (!items.is_array())
    fail(key, std::string("is ") + kindOf(items) + " instead of a list");
  size_t index = 0;
  for (const json &item : items)
    visit(item, at(key) + "[" + std::to_string(index++) + "]");
}

void Object::objects(std::string_view key, const std::function<void(Object &)> &visit) {
  list(key, [&](const json &item, const std::string &path) {
    Object object(item, file, path);
    visit(object);
    object.finish();
  });
}

void Object::finish() const {
  for (auto &[key, ignored] : value->items())
    if (std::find(used.begin(), used.end(), key) == used.end())
      fail(key, "is not a field of this schema version; it could change a result, so it is not "
                "ignored. Use the llmc that wrote the artifact, or compile the model again");
}

bool isSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

} // namespace llmc::rt::detail
