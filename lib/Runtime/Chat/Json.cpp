//===- Json.cpp - the tojson filter ---------------------------------------===//
#include "Text.h"
#include "Value.h"

#include <cmath>
#include <list>

namespace llmc::rt::chat {
namespace {

class Writer {
public:
  explicit Writer(const JsonStyle &style) : style(style) {}

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
      out += jsonQuoted(value.text(), style.ensureAscii);
    else if (value.isList(ListKind::List) || value.isTuple())
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
    if (!style.multiline)
      return;
    out += '\n';
    for (size_t i = 0; i < level; ++i)
      out += style.indent;
  }

  void writeList(const List &list, size_t level) {
    out += '[';
    for (size_t i = 0; i < list.size(); ++i) {
      if (i)
        out += style.item;
      newline(level + 1);
      write(list[i], level + 1);
    }
    if (!list.empty())
      newline(level);
    out += ']';
  }

  void writeDict(const Dict &dict, size_t level) {
    std::list<const std::pair<Value, Value> *> entries;
    for (const auto &entry : dict)
      entries.push_back(&entry);
    if (style.sortKeys)
      entries.sort([](const auto *a, const auto *b) { // safe with NaN, too
        return Value::less(a->first, b->first);
      });
    out += '{';
    for (const auto *entry : entries) {
      if (entry != entries.front())
        out += style.item;
      newline(level + 1);
      const Value &name = entry->first;
      // Keys that are no strings become what they look like in JSON.
      if (!name.isString() && !name.isNumber() && !name.isNone())
        throw TemplateError(std::string(name.typeName()) + " cannot be a key of JSON");
      if (name.isString()) {
        out += jsonQuoted(name.text(), style.ensureAscii);
      } else {
        out += '"';
        write(name, level + 1);
        out += '"';
      }
      out += style.key;
      write(entry->second, level + 1);
    }
    if (!dict.empty())
      newline(level);
    out += '}';
  }

  const JsonStyle &style;
};

} // namespace

std::string toJson(const Value &value, const JsonStyle &style) {
  Writer writer(style);
  writer.write(value, 0);
  return std::move(writer.out);
}

} // namespace llmc::rt::chat
