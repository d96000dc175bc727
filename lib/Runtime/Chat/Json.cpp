//===- Json.cpp - the tojson filter ---------------------------------------===//
#include "Text.h"
#include "Value.h"

#include <algorithm>
#include <cmath>

namespace llmc::rt::chat {
namespace {

class Writer {
public:
  Writer(int64_t indent, const std::string &item, const std::string &key, bool sortKeys)
      : indent(indent), item(item), key(key), sortKeys(sortKeys) {}

  void write(const Value &value, size_t level) {
    if (value.isNone())
      out += "null";
    else if (value.isBool())
      out += value.truthy() ? "true" : "false";
    else if (value.isInteger())
      out += std::to_string(value.integer());
    else if (value.isFloat())
      out += floatJson(value.number());
    else if (value.isString())
      out += jsonQuoted(value.text());
    else if (value.isList())
      writeList(value.list(), level);
    else if (value.isDict())
      writeDict(value.dict(), level);
    else
      throw TemplateError(std::string(value.typeName()) + " cannot be written as JSON");
  }

  std::string out;

private:
  static std::string floatJson(double number) {
    if (std::isnan(number))
      return "NaN";
    if (std::isinf(number))
      return number < 0 ? "-Infinity" : "Infinity";
    return floatText(number);
  }

  void newline(size_t level) {
    if (indent < 0)
      return;
    out += '\n';
    out.append(level * static_cast<size_t>(indent), ' ');
  }

  void writeList(const List &list, size_t level) {
    out += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i)
        out += item;
      newline(level + 1);
      write(list[i], level + 1);
    }
    if (!list.empty())
      newline(level);
    out += ']';
  }

  void writeDict(const Dict &dict, size_t level) {
    std::vector<const std::pair<Value, Value> *> entries;
    for (const auto &entry : dict)
      entries.push_back(&entry);
    if (sortKeys)
      std::sort(entries.begin(), entries.end(), [](const auto *a, const auto *b) {
        return Value::less(a->first, b->first);
      });
    out += '{';
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i)
        out += item;
      newline(level + 1);
      const Value &name = entries[i]->first;
      // Keys that are no strings become what they look like in JSON.
      if (name.isString()) {
        out += jsonQuoted(name.text());
      } else {
        out += '"';
        write(name, level + 1);
        out += '"';
      }
      out += key;
      write(entries[i]->second, level + 1);
    }
    if (!dict.empty())
      newline(level);
    out += '}';
  }

  int64_t indent;
  const std::string &item, &key;
  bool sortKeys;
};

} // namespace

std::string toJson(const Value &value, int64_t indent, const std::string &itemSeparator,
                   const std::string &keySeparator, bool sortKeys) {
  Writer writer(indent, itemSeparator, keySeparator, sortKeys);
  writer.write(value, 0);
  return std::move(writer.out);
}

} // namespace llmc::rt::chat
